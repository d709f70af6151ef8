import assert from "node:assert/strict";
import { join } from "node:path";
import { type TempRepo, tempRepo } from "../helpers/repo.ts";
import { detectVcs } from "../../vcs/detect.ts";
import { observeSpawns } from "../../engine/io/process.ts";
import { type HistoricManifest, readHistory } from "../../engine/history/references.ts";
import { datasetRootAt } from "../../engine/history/dataset_at.ts";

const DATASET = "0a1b2c3d";
const OTHER = "99999999";

function config(id = DATASET): string {
  return `[tether]\nversion = 5\n\n[dataset]\nid = "${id}"\n`;
}

/** A pin id that tells by its digits which manifest it came from. */
function pin(n: number, id = DATASET): string {
  return `${id}.${n.toString(16).padStart(16, "0")}`;
}

function manifest(n: number, options: { readonly key?: string; readonly id?: string } = {}): string {
  const id = pin(n, options.id);
  return `key = "${options.key ?? "a"}"\nkind = "memory"\n\n[locator]\nsystem = "s"\n\n[state]\nversion = ${
    2n ** 53n + BigInt(n)
  }\n` +
    `ratio = 1.0\n\n[pin]\nid = "${id}"\nref = "tether.${id}"\n`;
}

/** Reads history as a new process would, and returns it with the children it cost. */
async function walk(
  folder: string,
): Promise<{ items: HistoricManifest[]; children: string[]; digest: string; objectsAsked: number }> {
  await using adapter = await detectVcs(folder);
  const children: string[] = [];
  const stop = observeSpawns((_, args) =>
    children.push(args.find((a) => ["rev-list", "cat-file"].includes(a)) ?? args.join(" "))
  );
  try {
    let objectsAsked = 0;
    const reader = adapter.objects();
    const counting = new Proxy(adapter, {
      get(target, name) {
        if (name === "objects") {
          return () => ({
            blob: (id: string, options?: { maxBytes?: number }) => (objectsAsked++, reader.blob(id, options)),
            tree: (id: string) => reader.tree(id),
          });
        }
        const value = Reflect.get(target, name, target);
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
    const history = await readHistory(counting, { datasetId: DATASET });
    const items = (await Array.fromAsync(history.manifests())).flat();
    return { items, children, digest: history.digest, objectsAsked };
  } finally {
    stop();
  }
}

function pins(items: readonly HistoricManifest[]): string[] {
  return items.flatMap((item) =>
    item.type === "broken" ? item.pinIds : item.type === "manifest" && item.manifest.pin ? [item.manifest.pin.id] : []
  ).toSorted();
}

const M = ".tether/objects/a.toml";

Deno.test("every manifest of every ref is found once, with a commit that holds it [L02, formats 15.4]", async () => {
  await using repo = await tempRepo({ files: { "tether.toml": config(), [M]: manifest(1) } });
  await repo.commit("same again", { u: "1" });
  await repo.git(["switch", "-q", "-c", "side", "HEAD~1"]);
  const side = await repo.commit("side", {
    [M]: manifest(2),
    ".tether/objects/deep/b.toml": manifest(3, { key: "deep/b" }),
  });
  await repo.git(["tag", "keep"]);
  await repo.git(["switch", "-q", "main"]);
  await repo.git(["branch", "-q", "-D", "side"]);
  const main = await repo.commit("main", { [M]: manifest(4) });
  const { items } = await walk(repo.path);
  assert.deepEqual(pins(items), [pin(1), pin(2), pin(3), pin(4)]);
  assert.ok(items.every((item) => item.own && item.type === "manifest"));
  const at = new Map(items.map((item) => [pins([item])[0], [item.commit, item.path]]));
  assert.deepEqual(at.get(pin(4)), [main, M]);
  assert.deepEqual(at.get(pin(3)), [side, ".tether/objects/deep/b.toml"]);
});

Deno.test("a dataset that moved inside its repository keeps its history [formats 19.1]", async () => {
  await using repo = await tempRepo({ files: { "old/place/tether.toml": config(), [`old/place/${M}`]: manifest(1) } });
  const before = await repo.git(["rev-parse", "HEAD"]);
  await repo.git(["mv", "old/place", "new"]);
  const after = await repo.commit("moved", { [`new/${M}`]: manifest(2) });
  const { items } = await walk(join(repo.path, "new"));
  assert.deepEqual(pins(items), [pin(1), pin(2)]);
  assert.ok(items.every((item) => item.own));
  await using adapter = await detectVcs(join(repo.path, "new"));
  assert.equal(await datasetRootAt(adapter, before, DATASET), "old/place");
  assert.equal(await datasetRootAt(adapter, after, DATASET), "new");
  assert.deepEqual([...(await adapter.manifestsAt(before, "old/place")).keys()], [`old/place/${M}`]);
  assert.equal(await datasetRootAt(adapter, before, OTHER), "new", "today's, where there is none");
});

Deno.test("other datasets of the repository are told apart, and folders without an id are not given away [formats 19.1]", async () => {
  await using repo = await tempRepo({
    files: {
      "tether.toml": config(),
      [M]: manifest(1),
      "copy/tether.toml": config(),
      [`copy/${M}`]: manifest(2),
      "other/tether.toml": config(OTHER),
      [`other/${M}`]: manifest(3, { id: OTHER }),
      [`bare/${M}`]: manifest(4),
      "torn/tether.toml": `<<<<<<< a\n${config()}=======\n${config(OTHER)}>>>>>>> b\n`,
      [`torn/${M}`]: manifest(5),
      "theirs/tether.toml": `<<<<<<< a\n${config("11111111")}=======\n${config(OTHER)}>>>>>>> b\n`,
      [`theirs/${M}`]: manifest(6),
      ".tether/objects/note.txt": manifest(7),
      ".tether/listings/x.toml": manifest(8),
    },
  });
  const { items } = await walk(repo.path);
  const own = (wanted: boolean) => items.filter((item) => item.own === wanted).map((item) => item.path).toSorted();
  assert.deepEqual(own(true), [M, `bare/${M}`, `copy/${M}`, `torn/${M}`].toSorted());
  assert.deepEqual(own(false), [`other/${M}`, `theirs/${M}`]);
});

Deno.test("one manifest of two datasets is one's own [formats 19.1]", async () => {
  const text = manifest(1);
  await using repo = await tempRepo({
    files: { "a/tether.toml": config(OTHER), [`a/${M}`]: text, "b/tether.toml": config(), [`b/${M}`]: text },
  });
  const { items } = await walk(join(repo.path, "b"));
  assert.deepEqual(items.map((item) => [item.path, item.own]), [[`b/${M}`, true]]);
});

Deno.test("a manifest that does not parse counts with the pins in its text and names its commit [formats 19.2]", async () => {
  const conflicted = `<<<<<<< ours\n${manifest(1)}=======\n${manifest(2)}>>>>>>> theirs\n`;
  await using repo = await tempRepo({ files: { "tether.toml": config(), [M]: conflicted } });
  const bad = await repo.git(["rev-parse", "HEAD"]);
  await repo.commit("mended", { [M]: manifest(3) });
  for (const run of ["first", "second"]) {
    const { items } = await walk(repo.path);
    assert.deepEqual(pins(items), [pin(1), pin(2), pin(3)], run);
    const broken = items.find((item) => item.type === "broken");
    assert.ok(broken?.type === "broken");
    assert.equal(broken.commit, bad);
    assert.ok(broken.error.message.includes(`${M} at ${bad.slice(0, 12)}`), broken.error.message);
  }
});

Deno.test("what cannot be read is said and never skipped [L03]", async (t) => {
  const lose = async (repo: TempRepo, name: string): Promise<void> => {
    const id = await repo.git(["rev-parse", name]);
    await Deno.remove(join(repo.path, ".git/objects", id.slice(0, 2), id.slice(2)));
  };
  for (const name of [`HEAD~1:${M}`, "HEAD~1:.tether/objects", "HEAD~1:x", "HEAD~1:tether.toml"]) {
    await t.step(name, async () => {
      await using repo = await tempRepo({ files: { "tether.toml": config(), [M]: manifest(1), "x/y": "1" } });
      const first = await repo.git(["rev-parse", "HEAD"]);
      await repo.commit("next", { "tether.toml": config() + "\n", [M]: manifest(2), "x/y": "2" });
      await lose(repo, name);
      const { items } = await walk(repo.path);
      const unreadable = items.filter((item) => item.type === "unreadable");
      assert.deepEqual(unreadable.map((item) => item.commit), [first]);
      assert.ok(pins(items).includes(pin(2)));
    });
  }
  await t.step("a manifest larger than any may be", async () => {
    await using repo = await tempRepo({ files: { "tether.toml": config(), [M]: "#".repeat(5 * 1024 * 1024) } });
    const { items } = await walk(repo.path);
    assert.deepEqual(items.map((item) => item.type), ["unreadable"]);
  });
});

Deno.test("a second run parses new manifests only, with two children in all [architecture: history is parsed once]", async () => {
  await using repo = await tempRepo({ files: { "tether.toml": config() } });
  for (let i = 0; i < 10; i++) {
    await repo.commit(`c${i}`, {
      [M]: manifest(i),
      [`.tether/objects/k${i}.toml`]: manifest(100 + i, { key: `k${i}` }),
    });
  }
  const first = await walk(repo.path);
  assert.equal(first.items.length, 20);
  assert.deepEqual(first.children, ["rev-list", "cat-file"]);
  const second = await walk(repo.path);
  assert.deepEqual(second.children, ["rev-list", "cat-file"]);
  // Left is tether.toml, which says whose dataset it is.
  assert.equal(second.objectsAsked, 1);
  const byBlob = (items: readonly HistoricManifest[]) => items.toSorted((a, b) => a.blob < b.blob ? -1 : 1);
  assert.deepEqual(byBlob(second.items), byBlob(first.items), "numbers and floats survive the cache");
  await repo.commit("new", { [M]: manifest(50) });
  const third = await walk(repo.path);
  assert.equal(third.objectsAsked, 2);
  assert.deepEqual(pins(third.items), [...pins(first.items), pin(50)].toSorted());

  await repo.git(["reset", "-q", "--hard", "HEAD~5"]);
  const fewer = await walk(repo.path);
  assert.equal(fewer.items.length, 12, "what no ref names any more is not a reference, cached or not");
});

const SHAPE = JSON.stringify({
  key: "a",
  kind: "memory",
  locator: { system: "other" },
  policy: { file: "immutable", pin: "native" },
  recoverable: true,
  origin: "adopted",
});

Deno.test("a cache that is torn, foreign or cannot be written changes no answer [L26]", async (t) => {
  await using repo = await tempRepo({ files: { "tether.toml": config(), [M]: manifest(1) } });
  const clean = await walk(repo.path);
  const folder = join(repo.path, ".git/tether-cache");
  const names = (await Array.fromAsync(Deno.readDir(folder))).map((e) => e.name);
  assert.equal(names.length, 2);
  const [item] = clean.items;
  const contents = [
    "",
    "\n\n{",
    `["${item?.blob}"`,
    `["${item?.blob}","no such shape",null,null,null,null]\n["${item?.blob}"]\n`,
    `{"shape":"s","of":{"key":"a"}}\n["${item?.blob}","s",null,null,null,null]\n`,
    `{"shape":"s","of":${SHAPE}}\n["${item?.blob}","s",null,7,null,null]\n["${item?.blob}","s",null,null,null]\n`,
    `{"shape":"s","of":${SHAPE}}\n["${item?.blob}","s",null,null,null\n["0","s",null,null,null,null]]\n`,
    `{"tree":"${await repo.git(["rev-parse", "HEAD^{tree}"])}","datasets":[{"root":1}]}\n`,
    "\xff\xfe",
  ];
  for (const content of contents) {
    await t.step(JSON.stringify(content).slice(0, 40), async () => {
      for (const name of names) await Deno.writeTextFile(join(folder, name), content);
      assert.deepEqual((await walk(repo.path)).items, clean.items);
      assert.deepEqual((await walk(repo.path)).items, clean.items, "after it was added to");
    });
  }
  await t.step("a file where the folder should be", async () => {
    await Deno.remove(folder, { recursive: true });
    await Deno.writeTextFile(folder, "");
    assert.deepEqual((await walk(repo.path)).items, clean.items);
  });
});

Deno.test("nothing a clone brings enters the cache [L40]", async () => {
  await using repo = await tempRepo({ files: { "tether.toml": config(), [M]: manifest(1) } });
  const tree = await repo.git(["rev-parse", "HEAD^{tree}"]);
  for (const folder of [".tether/cache", "tether-cache", ".tether/tether-cache"]) {
    await repo.write(`${folder}/history-trees-3.jsonl`, `{"tree":"${tree}","datasets":[]}\n`);
  }
  assert.deepEqual(pins((await walk(repo.path)).items), [pin(1)]);
});

Deno.test("the digest stands for the set of commits [formats 15.4]", async () => {
  await using repo = await tempRepo({ files: { "tether.toml": config() } });
  const empty = (await walk(repo.path)).digest;
  const other = await repo.worktree("w");
  assert.equal((await walk(repo.path)).digest, empty, "a ref alone changes nothing");
  await repo.git(["commit", "-q", "--allow-empty", "-m", "elsewhere"], { cwd: other });
  const more = (await walk(repo.path)).digest;
  assert.notEqual(more, empty);
  assert.equal((await walk(other)).digest, more, "every checkout sees the same");
  await repo.git(["worktree", "remove", "--force", other]);
  await repo.git(["branch", "-q", "-D", "w"]);
  assert.equal((await walk(repo.path)).digest, empty);
});

Deno.test("SHA-256 repositories and unborn ones have a history too [L13, L18]", async () => {
  await using unborn = await tempRepo();
  assert.deepEqual((await walk(unborn.path)).items, []);
  await using repo = await tempRepo({ objectFormat: "sha256", files: { "tether.toml": config(), [M]: manifest(1) } });
  assert.deepEqual(pins((await walk(repo.path)).items), [pin(1)]);
});
