import assert from "node:assert/strict";
import { join } from "node:path";
import type { Json } from "../../engine/model/json.ts";
import { tempRepo } from "../helpers/repo.ts";
import { ManifestStore } from "../../engine/files/manifests.ts";
import { DIRECTIONS, listOf, objectOf, OPTIONS, OURS, PEER } from "./_peer.ts";

/** Names that sort, escape or look differently in the two languages. */
const NAMES = [
  "a",
  "B",
  "a b",
  "a.b",
  "ab/c",
  "é",
  "e\u0301",
  "\uffee",
  "😀",
  "é😀/\u{1f9ea}.txt",
  "日本語",
  ".hidden",
  'q"uo\\te',
  "tab\tnew\nline",
  "del\x7f",
  "sub/.tether-owner",
  "\u2028",
  "-x",
  "[ab]*?",
];

/** Makes a folder with files, links of every kind, and what does not count. */
async function makeTree(folder: string): Promise<void> {
  for (const name of NAMES) {
    await Deno.mkdir(join(folder, name, ".."), { recursive: true });
    await Deno.writeTextFile(join(folder, name), name);
  }
  await Deno.writeFile(join(folder, "big.bin"), new Uint8Array(3 * 2 ** 20 + 1).fill(7));
  await Deno.writeTextFile(join(folder, "empty.txt"), "");
  await Deno.writeTextFile(join(folder, ".tether-owner"), "0badcafe\n");
  await Deno.mkdir(join(folder, "empty folder"));
  const links: Readonly<Record<string, string>> = {
    "to a file": "a",
    "to a folder": "sub",
    "to nothing": "nowhere/é😀",
    "to outside": "../beside.txt",
    up: "..",
    "sub/to root": folder,
  };
  await Deno.writeTextFile(join(folder, "..", "beside.txt"), "beside");
  for (const [name, target] of Object.entries(links)) await Deno.symlink(target, join(folder, name));
  assert.ok((await new Deno.Command("mkfifo", { args: [join(folder, "pipe")] }).output()).success);
}

Deno.test(
  "[formats 20] [backends 8] [formats 7] a folder has one state and one listing, to the byte",
  OPTIONS,
  async () => {
    await using repo = await tempRepo();
    const folder = join(repo.outer, "plate é😀");
    await Deno.mkdir(folder);
    await makeTree(folder);
    const made: { state: Json; listings: Record<string, string> }[] = [];
    for (const side of [OURS, PEER]) {
      const root = join(repo.outer, side.name);
      await repo.git(["init", "--quiet", root]);
      await side.ok(["init"], root);
      await side.ok(["add", "plate", folder, "--kind", "file"], root);
      await side.ok(["commit", "-m", "one"], root);
      const listings: Record<string, string> = {};
      for await (const { name } of Deno.readDir(join(root, ".tether", "listings"))) {
        listings[name] = await Deno.readTextFile(join(root, ".tether", "listings", name));
      }
      made.push({ state: (await new ManifestStore(root).read()).objects.get("plate")?.state ?? null, listings });
    }
    const [ours, peers] = made;
    assert.deepEqual(ours, peers);
    const [text] = Object.values(ours?.listings ?? {});
    // Every name, two more files, and six links.
    assert.equal(text?.trimEnd().split("\n").length, NAMES.length + 2 + 6);
    assert.match(text ?? "", /"p":"\\u00e9\\ud83d\\ude00\/\\ud83e\\uddea\.txt"/);
  },
);

for (const [maker, other] of DIRECTIONS) {
  Deno.test(`[formats 7] ${other.name} compares folders by the listings of ${maker.name}`, OPTIONS, async () => {
    await using repo = await tempRepo();
    const folder = join(repo.outer, "plate");
    await Deno.mkdir(join(folder, "é"), { recursive: true });
    for (const [name, text] of [["é/a.txt", "a"], ["b.txt", "b"], ["c.txt", "c"]] as const) {
      await Deno.writeTextFile(join(folder, name), text);
    }
    await maker.ok(["init"], repo.path);
    await maker.ok(["add", "plate", folder, "--kind", "file", "--file", "versioned"], repo.path);
    await maker.ok(["commit", "-m", "one"], repo.path);
    await maker.ok(["new"], repo.path);
    await Deno.writeTextFile(join(folder, "é/a.txt"), "longer");
    await Deno.remove(join(folder, "b.txt"));
    await Deno.writeTextFile(join(folder, "😀"), "d");
    await other.ok(["pull"], repo.path);
    assert.equal((await repo.git(["ls-files", ".tether/listings"])).split("\n").length, 2);
    const facts = async (side: typeof other) => {
      const args = ["diff", "HEAD~1", "HEAD", "--content", "--json"];
      const [entry] = listOf(JSON.parse(await side.ok(args, repo.path)) as Json);
      const detail = objectOf(entry?.["detail"]);
      return listOf(detail["entries"]).map((e) => [e["path"], e["change"]]).sort();
    };
    assert.deepEqual(await facts(other), [["b.txt", "removed"], ["é/a.txt", "modified"], ["😀", "added"]]);
    assert.deepEqual(await facts(maker), await facts(other));
  });
}
