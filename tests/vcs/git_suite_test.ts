import { tempRepo } from "../helpers/repo.ts";
import { detectVcs } from "../../vcs/detect.ts";
import { adapterSuite, type SuiteRepo } from "./adapter_suite.ts";

adapterSuite({
  kind: "git",
  formats: ["sha1", "sha256"],
  async repo({ files, sha256 }): Promise<SuiteRepo> {
    const repo = await tempRepo({ objectFormat: sha256 ? "sha256" : "sha1", ...(files ? { files } : {}) });
    return {
      ...repo,
      async filesOf(commit) {
        const names = (await repo.git(["ls-tree", "-r", "-z", "--name-only", commit])).split("\0");
        const texts = await Promise.all(
          names.map((name) => name && repo.git(["cat-file", "blob", `${commit}:${name}`], { trim: false })),
        );
        return Object.fromEntries(names.flatMap((name, i) => name === "" ? [] : [[name, texts[i] ?? ""]]));
      },
    };
  },
  open: (folder) => detectVcs(folder),
});
