import assert from "node:assert/strict";
import { basename, join } from "node:path";
import { filesInIndex } from "../../vcs/_git_index.ts";
import { detectVcs } from "../../vcs/detect.ts";
import { observeSpawns } from "../../engine/io/process.ts";
import { type TempRepo, tempRepo } from "../helpers/repo.ts";

const FILES: Readonly<Record<string, string>> = {
  "a.toml": "1",
  "a.tomlx": "2",
  "a/b.toml": "3",
  "data.csv": "4",
  "é/日本 x.toml": "5",
  [`${"d".repeat(200)}/${"n".repeat(90)}.toml`]: "6",
  ...Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`pad/${"p".repeat(i)}.toml`, String(i)])),
};

/** What git says an index has. */
async function listed(repo: TempRepo): Promise<string[]> {
  const text = await repo.git(["ls-files", "-z", "--stage"]);
  return text.split("\0").flatMap((record) => {
    const [, blob, path] = /^100\d{3} ([0-9a-f]+) \d\t(.*\.toml)$/s.exec(record) ?? [];
    return blob === undefined ? [] : [`${blob} ${path}`];
  });
}

async function read(repo: TempRepo, idBytes: 20 | 32): Promise<string[] | undefined> {
  const bytes = await Deno.readFile(join(repo.path, ".git", "index"));
  return filesInIndex(bytes, { idBytes, ending: ".toml" })?.map(({ blob, path }) => `${blob} ${path}`);
}

/** Ways to change an index, and whether it can be read by itself afterwards. */
const FORMS: readonly (readonly [name: string, plain: boolean, (repo: TempRepo) => Promise<unknown>])[] = [
  ["as git writes it", true, (repo) => repo.git(["update-index", "--index-version=2"])],
  ["with more flags", true, (repo) => repo.git(["update-index", "--skip-worktree", "a.toml", "a/b.toml"])],
  ["with the untracked cache", true, (repo) => repo.git(["update-index", "--untracked-cache"])],
  ["with names longer than their flags can say", true, async (repo) => {
    const blob = await repo.git(["rev-parse", "HEAD:a.toml"]);
    for (const length of [4094, 4095, 4096, 5000]) {
      const path = `${"l/".repeat((length - 5) / 2)}${length % 2 === 0 ? "l" : ""}.toml`;
      await repo.git(["update-index", "--add", "--cacheinfo", `100755,${blob},${path}`]);
    }
  }],
  ["with links and submodules", true, async (repo) => {
    await Deno.symlink("a.toml", join(repo.path, "link.toml"));
    const head = await repo.git(["rev-parse", "HEAD"]);
    await repo.git(["update-index", "--add", "--cacheinfo", `160000,${head},module.toml`]);
    await repo.git(["add", "link.toml"]);
  }],
  ["with a conflict", true, async (repo) => {
    await repo.git(["switch", "-q", "-c", "theirs"]);
    await repo.commit("theirs", { "a.toml": "theirs" });
    await repo.git(["switch", "-q", "main"]);
    await repo.commit("ours", { "a.toml": "ours" });
    await repo.git(["merge", "-q", "theirs"], { mayFail: true });
  }],
  ["with compressed names", false, (repo) => repo.git(["update-index", "--index-version=4"])],
  ["split", false, (repo) => repo.git(["update-index", "--split-index"])],
  ["sparse", false, (repo) => repo.git(["sparse-checkout", "set", "--cone", "--sparse-index", "a"])],
];

for (const objectFormat of ["sha1", "sha256"] as const) {
  Deno.test(`an index of ${objectFormat} ids is read as git reads it, or left to git [L01, L13]`, async (t) => {
    for (const [name, plain, change] of FORMS) {
      await t.step(name, async () => {
        await using repo = await tempRepo({ files: FILES, objectFormat });
        await change(repo);
        const found = await read(repo, objectFormat === "sha1" ? 20 : 32);
        assert.deepEqual(found, plain ? await listed(repo) : undefined);
      });
    }
  });
}

Deno.test("an index that was cut amid its entries or extensions is left to git", async () => {
  await using repo = await tempRepo({ files: { "a.toml": "1", "b.toml": "2" } });
  const bytes = await Deno.readFile(join(repo.path, ".git", "index"));
  const parse = (length: number): number | undefined =>
    filesInIndex(bytes.subarray(0, length), { idBytes: 20, ending: ".toml" })?.length;
  const lengths = Array.from({ length: bytes.length + 1 }, (_, length) => length);
  // Between two extensions nothing but the hash at the end, which git does not check either, would tell.
  assert.deepEqual(new Set(lengths.map(parse)), new Set([undefined, 2]));
  assert.equal(lengths.filter((length) => parse(length) !== undefined).length, 2);
});

Deno.test("staged() costs a child only where git alone can read the index [L01, architecture: the VCS is asked little]", async (t) => {
  const path = ".tether/objects/x/a.toml";
  await using repo = await tempRepo({
    files: { [path]: "a", "b.toml": "b", ".tether/objects.toml": "c", "x.tether/objects/d.toml": "d" },
  });
  const staged = async (): Promise<{ children: string[]; paths: string[] }> => {
    await using adapter = await detectVcs(repo.path);
    const children: string[] = [];
    const stop = observeSpawns((_, args) => children.push(args.includes("ls-files") ? "ls-files" : "other"));
    try {
      const found = await adapter.staged();
      return { children: children.filter((child) => child === "ls-files"), paths: found.map((s) => s.path) };
    } finally {
      stop();
    }
  };
  await t.step("plain", async () => assert.deepEqual(await staged(), { children: [], paths: [path] }));
  await t.step("compressed", async () => {
    await repo.git(["update-index", "--index-version=4"]);
    assert.deepEqual(await staged(), { children: ["ls-files"], paths: [path] });
  });
  await t.step("none", async () => {
    await Deno.remove(join(repo.path, ".git", "index"));
    assert.deepEqual(await staged(), { children: [], paths: [] });
  });
});

Deno.test("staged() reads the index of every worktree without a child, asked from any of them [L01, L12]", async (t) => {
  await using repo = await tempRepo({ files: { "tether.toml": "" } });
  const [one, two] = [await repo.worktree("one"), await repo.worktree("two")];
  const roots = [repo.path, one, two];
  for (const root of roots) {
    await Deno.mkdir(join(root, ".tether/objects"), { recursive: true });
    await Deno.writeTextFile(join(root, ".tether/objects", `${basename(root)}.toml`), root);
    await repo.git(["add", ".tether"], { cwd: root });
  }
  for (const root of roots) {
    await t.step(basename(root), async () => {
      await using adapter = await detectVcs(root);
      const children: string[] = [];
      const stop = observeSpawns((_, args) => children.push(args.join(" ")));
      try {
        const staged = await adapter.staged();
        assert.deepEqual(
          staged.map(({ checkout, path }) => [checkout, path]).toSorted(),
          roots.map((r) => [r, `.tether/objects/${basename(r)}.toml`]).toSorted(),
        );
      } finally {
        stop();
      }
      assert.deepEqual(children.filter((args) => args.includes("ls-files")), []);
    });
  }
});
