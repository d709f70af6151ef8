import assert from "node:assert/strict";
import fc from "fast-check";
import { join } from "node:path";
import { type Json, type JsonObject, parseJson } from "../model/json.ts";
import { inTempDir, plant, whileReadOnly } from "./_test_dirs.ts";
import { foldEntries, inFlightPinIds, Journal, type OpEntry, seedPins } from "./journal.ts";

const PEER = new URL("../../tests/fixtures/peer/ops.jsonl", import.meta.url);
const NOW = new Date("2026-11-30T01:45:23.987Z");

function journalIn(folder: string): { journal: Journal; path: string; text: () => Promise<string> } {
  const path = join(folder, "ops.jsonl");
  let count = 0;
  const newId = () => (++count).toString(16).padStart(12, "0");
  return { journal: new Journal(path, { now: () => NOW, newId }), path, text: () => Deno.readTextFile(path) };
}

Deno.test("[formats 11] lines are written as the contract shows them", async () => {
  await inTempDir(async (folder) => {
    const { journal, text } = journalIn(folder);
    const op = await journal.start({ command: "fork", pre: { workspace: 'workspace_id = "é😀"\n' } });
    await op.progress({ action: "fork", key: "code", ref: "r", n: 7052937465134546912n });
    await op.done({ key: "code" }, { heads: {} });
    await journal.record({ command: "add", plan: { actions: [] }, result: { key: "\u007f" }, parent: op.id });
    assert.equal(
      await text(),
      `{"id": "000000000001", "at": "2026-11-30T01:45:23+00:00", "command": "fork", "plan": null, "result": {}, ` +
        `"pre": {"workspace": "workspace_id = \\"\\u00e9\\ud83d\\ude00\\"\\n"}, "undoes": null, "undone_by": null, ` +
        `"status": "started", "parent": null, "progress": []}\n` +
        `{"progress": "000000000001", "action": "fork", "key": "code", "ref": "r", "n": 7052937465134546912}\n` +
        `{"done": "000000000001", "result": {"key": "code"}, "pre": {"heads": {}}}\n` +
        `{"id": "000000000002", "at": "2026-11-30T01:45:23+00:00", "command": "add", "plan": {"actions": []}, ` +
        `"result": {"key": "\\u007f"}, "pre": {}, "undoes": null, "undone_by": null, "status": "done", ` +
        `"parent": "000000000001", "progress": []}\n`,
    );
  });
});

Deno.test("[formats 11] an entry folds its progress, completion and undo", async () => {
  await inTempDir(async (folder) => {
    const { journal } = journalIn(folder);
    const op = await journal.start({ command: "commit", plan: { digest: "d" }, pre: { vcs: null, workspace: "a" } });
    await op.progress({ action: "pin", key: "k" });
    await op.progress({ action: "manifests", keys: ["k"] });
    const started: OpEntry = {
      id: op.id,
      at: "2026-11-30T01:45:23+00:00",
      command: "commit",
      plan: { digest: "d" },
      result: {},
      pre: { vcs: null, workspace: "a" },
      undoes: null,
      undoneBy: null,
      status: "started",
      parent: null,
      progress: [{ action: "pin", key: "k" }, { action: "manifests", keys: ["k"] }],
    };
    assert.deepEqual(await journal.read(), [started]);
    await op.done({ vcs_commit: "c" }, { workspace: "b", heads: {} });
    const done = {
      ...started,
      status: "done",
      result: { vcs_commit: "c" },
      pre: { vcs: null, workspace: "b", heads: {} },
    };
    assert.deepEqual(await journal.read(), [done]);

    const failed = await journal.start({ command: "undo", undoes: op.id });
    await failed.done({ failed: { k: "no" } });
    assert.equal((await journal.read())[0]?.undoneBy, null, "an undo that failed undid nothing");
    const undo = await journal.start({ command: "undo", undoes: op.id });
    assert.equal((await journal.read())[0]?.undoneBy, null, "an undo that runs undid nothing yet");
    await undo.done({ summary: "s" });
    assert.deepEqual((await journal.read()).map((e) => [e.undoes, e.undoneBy, e.status]), [
      [null, undo.id, "done"],
      [op.id, null, "done"],
      [op.id, null, "done"],
    ]);
  });
});

Deno.test("[L37] an entry that a killed process left can be closed", async () => {
  await inTempDir(async (folder) => {
    const { journal } = journalIn(folder);
    const { id } = await journal.start({ command: "gc" });
    await journal.close(id, { failed: "closed by hand" });
    assert.deepEqual((await journal.read()).map((e) => [e.status, e.result]), [["done", { failed: "closed by hand" }]]);
  });
});

Deno.test("[formats 11] the peer's journal, with a killed commit and a torn line, reads in full", async () => {
  const entries = await new Journal(PEER.pathname).read();
  assert.deepEqual(
    entries.map((entry) => [entry.command, entry.status, entry.undoneBy === null]),
    [
      ...Array.from({ length: 5 }, () => ["add", "done", true]),
      ["commit", "done", true],
      ["new", "done", true],
      ["fork", "done", true],
      ["fork", "done", false],
      ["undo", "done", true],
      ["add", "done", true],
      ["commit", "started", true],
      ["set", "done", true],
    ],
  );
  const killed = entries[11];
  assert.ok(killed);
  assert.deepEqual(killed.progress.map((step) => step["action"]), ["pin", "pin", "manifests"]);
  assert.deepEqual([...inFlightPinIds(entries)].sort(), ["92e3c212.6185578fe610e318", "92e3c212.747b4f5e1af6806a"]);
  const seeded = seedPins(entries);
  const index = (await Deno.readTextFile(new URL("tether-pinned.jsonl", PEER))).trim().split("\n")
    .map((line) => parseJson(line) as JsonObject);
  assert.deepEqual(
    seeded.map((pin) => [pin.pinId, pin.kind, pin.key]),
    index.map((record) => [record["pin_id"], record["kind"], record["key"]]),
  );
});

Deno.test("[L37] a journal torn at any byte loses at most the torn line, and takes the next entry whole", async () => {
  await inTempDir(async (folder) => {
    const { journal, path } = journalIn(folder);
    const op = await journal.start({ command: "commit", pre: { workspace: "é\n" } });
    await op.progress({ action: "pin", key: "😀" });
    await op.done({ ok: true });
    const whole = await Deno.readFile(path);
    const ends = [...whole.keys()].filter((at) => whole[at] === 0x0a);
    for (let length = 0; length <= whole.length; length++) {
      await Deno.writeFile(path, whole.subarray(0, length));
      // A record counts from its last brace on; the newline behind it may be missing.
      const records = ends.filter((end) => end <= length).length;
      const before = await journal.read();
      assert.equal(before.length, Math.min(records, 1));
      assert.deepEqual(
        before.map((e) => [e.progress.length, e.status]),
        [
          [],
          [[0, "started"]],
          [[1, "started"]],
          [[1, "done"]],
        ][records],
      );
      await journal.record({ command: "add", result: {} });
      const after = await journal.read();
      assert.deepEqual(after.slice(0, -1), before);
      assert.equal(after.at(-1)?.command, "add");
    }
  });
});

Deno.test("[formats 11] readers skip what is no record, whatever it is", () => {
  const json = fc.jsonValue().map((value) => parseJson(JSON.stringify(value)));
  const fields = fc.constantFrom(
    "id",
    "command",
    "progress",
    "done",
    "undone",
    "by",
    "pre",
    "result",
    "status",
    "plan",
    "at",
  );
  const lines = fc.array(fc.dictionary(fields, fc.oneof(json, fc.constantFrom<Json>("a", "b"))).map((o) => ({ ...o })));
  fc.assert(fc.property(lines, (records) => {
    const entries = foldEntries(records as JsonObject[]);
    inFlightPinIds(entries);
    seedPins(entries);
    for (const entry of entries) assert.ok(entry.status === "started" || entry.status === "done");
  }));
});

Deno.test("[formats 11] an older undo mark is still read", () => {
  const entry = { id: "a", command: "add", status: "done" };
  assert.equal(foldEntries([entry, { undone: "a", by: "b" }, { undone: "zz", by: "b" }])[0]?.undoneBy, "b");
});

Deno.test("[formats 11] inFlightPinIds() counts plans and progress of started entries only", () => {
  const actions = [
    { op: "pin", params: { pin_id: "0a1b2c3d.1111111111111111" } },
    { op: "repin", params: { pin_id: "0a1b2c3d.2222222222222222" } },
    { op: "unpin", params: { pin_id: "0a1b2c3d.3333333333333333" } },
  ];
  const entry = { id: "a", command: "commit", status: "started", plan: { actions } };
  const steps = [
    { progress: "a", action: "pin", ref: "tether.0a1b2c3d.4444444444444444.2" },
    { progress: "a", action: "repin", target: "tether.0a1b2c3d.5555555555555555", created: false },
    { progress: "a", action: "unpin", target: "tether.0a1b2c3d.6666666666666666" },
    { progress: "a", action: "fork", ref: "tether.ws.0a1b2c3d.x" },
  ];
  const ids = [1, 2, 4, 5].map((digit) => `0a1b2c3d.${String(digit).repeat(16)}`);
  assert.deepEqual([...inFlightPinIds(foldEntries([entry, ...steps]))].sort(), ids);
  assert.deepEqual([...inFlightPinIds(foldEntries([entry, ...steps, { done: "a", result: {} }]))], []);
});

Deno.test("[formats 11] seedPins() follows pins through release, roll back and several checkouts", () => {
  const id = (digit: number) => `0a1b2c3d.${String(digit).repeat(16)}`;
  const step = (progress: string, action: string, digit: number, more = {}) => (
    { progress, action, [action === "pin" ? "ref" : "target"]: `tether.${id(digit)}`, ...more }
  );
  const plan = { actions: [{ op: "pin", key: "k", kind: "git", params: { pin_id: id(1) } }] };
  const here = foldEntries([
    { id: "a", at: "2026-01-01T00:00:00+00:00", command: "commit", status: "started", plan },
    step("a", "pin", 1, { key: "k" }),
    step("a", "pin", 2, { key: "l" }),
    { id: "c", at: "2026-01-03T00:00:00+00:00", command: "repair", status: "started" },
    step("c", "repin", 3, { key: "m", created: true }),
    step("c", "repin", 4, { key: "n", created: false }),
    { id: "d", at: "2026-01-04T00:00:00+00:00", command: "commit", status: "started" },
    step("d", "pin", 5),
    { done: "d", result: { rolled_back: true } },
  ]);
  const there = foldEntries([
    { id: "b", at: "2026-01-02T00:00:00+00:00", command: "gc", status: "started" },
    step("b", "unpin", 2),
    step("b", "unpin", 3),
  ]);
  assert.deepEqual(seedPins([...there, ...here]), [
    { pinId: id(1), kind: "git", key: "k" },
    { pinId: id(3), kind: "", key: "m" },
  ]);
});

Deno.test("[L26] a journal that is absent is empty, and one that cannot be written is read", async () => {
  await inTempDir(async (folder) => {
    const { journal, path } = journalIn(folder);
    assert.deepEqual(await journal.read(), []);
    await plant(folder, { "ops.jsonl": '{"id": "a", "command": "add", "status": "done"}' });
    await whileReadOnly(folder, async () => {
      assert.equal((await new Journal(path).read()).length, 1);
      await assert.rejects(journal.start({ command: "gc" }), { code: "read-only" });
    });
  });
});
