import assert from "node:assert/strict";
import type { Dataset } from "../../engine/dataset.ts";
import { TetherError } from "../../engine/model/errors.ts";
import { type TempDataset, tempDataset } from "../helpers/dataset.ts";
import { inProcess } from "./_cli.ts";

/** Command lines that say two things at once, with what the refusal names. */
const LINES: readonly (readonly [line: string, names: RegExp])[] = [
  ["new --keep --discard", /--keep.*--discard/],
  ["new --keep --eager", /--keep.*--eager/],
  ["new --keep -b x", /--keep.*--bookmark/],
  ["new --adopt --keep", /--keep.*--adopt/],
  ["new --adopt --discard -b x", /--adopt.*--discard/],
  ["new --eager --lazy -b x", /--eager.*--lazy/],
  ["new --eager --defer-record -b x", /--eager.*--defer-record/],
  ["add q /data/q --kind file --at 1 --pick", /--at.*--pick/],
  ["add q /data/q --kind file --create --at 1", /--create.*--at/],
  ["add q /data/q --kind git --at 1 --set at=2", /position.*one too/],
  ["add q /data/q --kind git --branch x --set branch=y", /--set branch.*own option/],
  ["open a --read-only --writable", /--read-only.*--writable/],
  ["open a --rev main --writable", /writing at revision/],
  ["verify --rev main --all-history", /--all-history.*--rev/],
  ["restore a --from main --at x", /--from.*--at/],
  ["set a --all --pin record", /--all.*keys/],
  ["log a --branch x", /--branch.*--kind/],
  ["repair --close 1f0c9a3b77de --all-history", /--close.*--all-history/],
  ["repair --close 1f0c9a3b77de --dry-run", /--close.*--dry-run/],
  ["repair a --close 1f0c9a3b77de", /--close/],
  ["gc --force-prune", /--force-prune.*--prune-bookmarks/],
  ["gc --no-dry-run --plan p.json", /--no-dry-run.*--plan/],
  ["drop x --no-dry-run --plan p.json", /--no-dry-run.*--plan/],
  ["gc --dry-run --from-plan p.json", /--dry-run.*--from-plan/],
  ["drop --dry-run --from-plan p.json", /--dry-run.*--from-plan/],
  ...["commit", "new", "restore", "promote", "repair", "upgrade", "forget-workspace"].flatMap(
    (command): [string, RegExp][] => [[`${command} --dry-run --from-plan p.json`, /--from-plan.*--dry-run/]],
  ),
  ...["commit", "new", "restore", "promote", "repair", "upgrade", "forget-workspace", "gc", "drop"].flatMap(
    (command): [string, RegExp][] => [[`${command} --plan q.json --from-plan p.json`, /--from-plan.*--plan/]],
  ),
  ["commit --from-plan p.json --no-vcs", /--from-plan.*--no-vcs/],
  ["commit --from-plan p.json --strict", /--from-plan.*--strict/],
  ["new main --from-plan p.json", /--from-plan/],
  ["new --from-plan p.json --discard", /--from-plan.*--discard/],
  ["restore a --from-plan p.json --discard", /--from-plan.*--discard/],
  ["promote --from-plan p.json --rev main", /--from-plan.*--rev/],
  ["gc --from-plan p.json --release-foreign", /--from-plan.*--release-foreign/],
  ["drop --from-plan p.json --to main", /--from-plan.*--to/],
];

/** The same, of the library. */
const CALLS: readonly (readonly [name: string, call: (ds: Dataset) => PromiseLike<unknown>])[] = [
  ["new keep discard", (ds) => ds.new({ keep: true, discard: true })],
  ["new keep eager", (ds) => ds.new({ keep: true, eager: true })],
  ["new keep bookmark", (ds) => ds.new({ keep: true, bookmark: "x" })],
  ["new adopt keep", (ds) => ds.new({ adopt: true, keep: true })],
  ["plan.new adopt discard", (ds) => ds.plan.new({ bookmark: "x", adopt: true, discard: true })],
  ["new eager deferRecord", (ds) => ds.new({ bookmark: "x", eager: true, deferRecord: true })],
  ["add at, at", (ds) => ds.add({ key: "q", kind: "memory", locator: { system: "q", at: "1" }, at: "2" })],
  ["open rev for writing", (ds) => ds.open("a", { rev: "main", readOnly: false })],
  ["verify rev allHistory", (ds) => ds.verify({ rev: "main", allHistory: true })],
  ["restore from at", (ds) => ds.restore(["a"], { from: "main", at: "x" })],
  ["plan.restore from at", (ds) => ds.plan.restore({ keys: ["a"], from: "main", at: "x" })],
  ["gc forcePrune alone", (ds) => ds.gc({ forcePrune: true })],
];

/** Everything a refusal must leave alone. */
async function standing(t: TempDataset): Promise<readonly string[]> {
  const names = ["tether.toml", ".tether/ops.jsonl", ".tether/workspace.toml", ".git/HEAD"];
  return await Promise.all(names.map((name) => t.read(name)));
}

Deno.test("[L42, commands 1.3] options that contradict each other are refused, and nothing is done", async (test) => {
  await using t = await tempDataset();
  await t.addMemory("a");
  await t.with((ds) => ds.commit({ message: "first" }));
  const before = await standing(t);
  for (const [line, names] of LINES) {
    await test.step(line, async () => {
      const { code, stdout, stderr } = await inProcess(t.root, line.split(" "));
      assert.deepEqual([code, stdout], [1, ""], stderr);
      assert.match(stderr, names);
      assert.doesNotMatch(stderr, /usage:/);
      assert.deepEqual(await standing(t), before);
    });
  }
  for (const [name, call] of CALLS) {
    await test.step(`library: ${name}`, async () => {
      await assert.rejects(t.with(async (ds) => await call(ds)), (e) => e instanceof TetherError && e.code === "flags");
      assert.deepEqual(await standing(t), before);
    });
  }
});

Deno.test("[commands 5.10] --shared and --adopt may both be given: one is about the bookmark, one about its branches", async () => {
  await using t = await tempDataset({ files: { README: "hello" } });
  await t.addMemory("a");
  await t.with((ds) => ds.commit({ message: "first" }));
  assert.equal((await t.with((ds) => ds.new({ bookmark: "x", shared: true, adopt: true }))).bookmark, "x");
});
