import { join } from "node:path";
import { jjPath } from "../../scripts/jj.ts";
import { HAS_JJ, type TempJjRepo, tempJjRepo } from "../helpers/jj_repo.ts";
import { detectVcs } from "../../vcs/detect.ts";
import { adapterSuite, type SuiteRepo } from "./adapter_suite.ts";

for (const place of ["colocated", "not colocated", "secondary workspace"] as const) {
  adapterSuite({
    kind: "jj",
    name: `jj, ${place}:`,
    ignore: !HAS_JJ,
    formats: ["sha1"],
    async repo({ files }): Promise<SuiteRepo> {
      const repo = await tempJjRepo({ colocated: place !== "not colocated", ...(files ? { files } : {}) });
      return suiteRepo(place === "secondary workspace" ? await secondary(repo, files !== undefined) : repo);
    },
    open: (folder) => detectVcs(folder, { programs: { jj: jjPath() } }),
  });
}

function suiteRepo(repo: TempJjRepo): SuiteRepo {
  return {
    ...repo,
    worktree: (bookmark) => repo.workspace(bookmark),
    async filesOf(commit) {
      const names = (await repo.git(["ls-tree", "-r", "-z", "--name-only", commit])).split("\0");
      const texts = await Promise.all(
        names.map((name) => name && repo.git(["cat-file", "blob", `${commit}:${name}`], { trim: false })),
      );
      return Object.fromEntries(names.flatMap((name, i) => name === "" ? [] : [[name, texts[i] ?? ""]]));
    },
  };
}

/** The same repository from a second workspace; the first one is forgotten, so that the suite sees one checkout. */
async function secondary(repo: TempJjRepo, files: boolean): Promise<TempJjRepo> {
  const path = join(repo.outer, "second");
  await repo.jj(["workspace", "add", path]);
  const there = repo.at(path);
  if (!files) await there.jj(["bookmark", "set", "main", "-r", "@", "--allow-backwards"]);
  await there.jj(["workspace", "forget", "default"]);
  return there;
}
