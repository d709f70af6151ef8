import assert from "node:assert/strict";
import { Dataset } from "../../engine/dataset.ts";
import { TetherError } from "../../engine/model/errors.ts";
import { tempDataset } from "../helpers/dataset.ts";

/** The calls of a dataset as JavaScript sees them: by name, with whatever arguments. */
type Call = (...args: readonly unknown[]) => Promise<unknown>;

function called(ds: Dataset, name: string): Call {
  const [first = "", second] = name.split(".");
  const owner: object = second === undefined ? ds : ds.plan;
  const call: unknown = Reflect.get(owner, second ?? first);
  assert.ok(typeof call === "function", name);
  return (...args) => Promise.resolve(Reflect.apply(call, owner, args));
}

/** Arguments that TypeScript refuses and JavaScript lets through, by call. */
const WRONG: Readonly<Record<string, readonly (readonly unknown[])[]>> = {
  status: [["c"], [null], [{ keys: [] }], [{ keys: "c" }], [{ snapshot: "no" }]],
  snapshot: [[{ keys: [] }], [{ keys: [5] }], [["c"]]],
  verify: [[{ keys: [] }], [{ keys: "c" }], [{ deep: 1 }], [{ rev: 5 }], ["HEAD"]],
  diff: [[{ a: "HEAD" }], ["HEAD", 5], [undefined, undefined, { keys: [] }], [undefined, undefined, "c"]],
  log: [[["c"]], [undefined, 3], ["c", { limit: -1 }], ["c", { limit: 1.5 }], ["c", 3]],
  logOf: [[], ["memory"], ["memory", { system: undefined }], [5, { system: "m" }]],
  ops: [[{ limit: -1 }], [{ limit: 0 }], [{ limit: "5" }], [5]],
  add: [
    [],
    [{}],
    [{ key: "x", kind: "memory" }],
    [{ key: ["x"], kind: "memory", locator: { system: "x" } }],
    [{ key: "x", kind: 5, locator: { system: "x" } }],
    [{ key: "x", kind: "memory", locator: "x" }],
    [{ key: "x", kind: "memory", locator: { system: undefined } }],
    [{ key: "x", kind: "memory", locator: { system: null } }],
    [{ key: "x", kind: "memory", locator: { system: () => "x" } }],
    [{ key: "x", kind: "memory", locator: { system: "x", deep: [{ n: NaN }] } }],
    [{ key: "x", kind: "memory", locator: { system: "x" }, at: 1.5 }],
    [{ key: "x", kind: "memory", locator: { system: "x" }, policy: "record" }],
  ],
  acknowledge: [[], ["x"], [[]], [[5]], [["x"], 5]],
  create: [[], [null]],
  remove: [[], [5], [["c"]]],
  setPolicy: [[], [[], { pin: "record" }], ["c", { pin: "record" }], [["c"], "record"]],
  commit: [
    [],
    ["message"],
    [{}],
    [{ message: 5 }],
    [{ message: "a\0b" }],
    [{ message: "m", keys: [] }],
    [{ message: "m", keys: "c" }],
    [{ message: "m", vcs: "no" }],
    [{ message: "m", signal: "now" }],
    [{ message: "m", onProgress: true }],
    [{ message: "m", dryrun: true }],
    [{ message: "m", dryRun: true }],
  ],
  new: [["x"], [{ bookmark: 5 }], [{ bookmark: "a\0b" }], [{ rev: ["main"] }], [{ discard: "no" }]],
  pull: [[{ keys: [] }], [{ keys: "c" }], [{ bookmark: 5 }], ["c"]],
  restore: [[], [[], { from: "HEAD" }], ["c", { from: "HEAD" }], [["c"], { at: 3 }], [["c"], { from: 5 }]],
  undo: [[5], ["abc123"], [{ op: 5 }], [{ discard: "no" }], [new AbortController().signal]],
  repair: [[{ keys: [] }], [{ allHistory: "yes" }], ["c"], [{ all_history: true }]],
  recover: [[{ keys: [] }], ["c"]],
  upgrade: [["x"], [{ ignoreImmutable: 1 }]],
  forgetWorkspace: [[5], [null], [undefined, 5]],
  closeOperation: [[5], ["x", 5]],
  promote: [["x"], [{ keys: [] }], [{ rev: 5 }], [{ message: 5 }]],
  abandon: [[], ["HEAD"], [[]], [[5]], [["HEAD"], "x"]],
  drop: [[], [5], ["x", "y"], ["x", { to: 5 }], ["x", { dryRun: "no" }]],
  gc: [["x"], [{ dryRun: "no" }], [{ dryRun: 0 }], [{ keepBookmarks: "x" }], [{ pruneBookmarks: "no" }]],
  open: [[], [5], ["c", "HEAD"], ["c", { readOnly: "no" }], ["c", { rev: 5 }]],
  materializeFork: [[], [5]],
  apply: [[], [{}], ["{}"]],
  permissions: [[{ keys: [] }], [{ keys: "c" }]],
  "plan.commit": [[], [{ message: 5 }], [{ message: "m", keys: [] }]],
  "plan.new": [["x"], [{ bookmark: 5 }]],
  "plan.restore": [[], [{ keys: [], from: "HEAD" }]],
  "plan.gc": [["x"], [{ forcePrune: "yes" }]],
  "plan.repair": [[{ keys: [] }]],
  "plan.promote": [[{ keys: [] }]],
  "plan.drop": [[], [{ bookmark: 5 }]],
  "plan.forgetWorkspace": [[5]],
  "plan.upgrade": [["x"]],
};

Deno.test("[L42] an argument of the wrong type is refused by every call, and nothing is done", async (test) => {
  await using t = await tempDataset();
  await t.addMemory("b", "c");
  await t.with((ds) => ds.commit({ message: "first" }));
  await t.with((ds) => ds.new({ bookmark: "x" }));
  t.write("c");
  const ds = await t.open();
  const trace = async (): Promise<unknown> => [
    (await ds.ops()).ops.map((o) => [o.id, o.undoneBy]),
    await t.repo.git(["rev-parse", "HEAD"]),
    await t.repo.git(["status", "--porcelain"]),
    await t.repo.git(["for-each-ref"]),
  ];
  const before = await trace();
  for (const [name, calls] of Object.entries(WRONG)) {
    await test.step(name, async () => {
      for (const args of calls) {
        await assert.rejects(async () => await called(ds, name)(...args), (error) => {
          assert.ok(error instanceof TetherError, `${Deno.inspect(args)}: ${error}`);
          assert.equal(error.code, "argument", `${Deno.inspect(args)}: ${error.message}`);
          assert.match(error.message, /^Cannot .*: (.* must be |there is no option ")/);
          return true;
        }, Deno.inspect(args));
      }
    });
  }
  assert.deepEqual(await trace(), before);
});

Deno.test("[L42] every call of the library is among those that refuse wrong arguments", () => {
  // These take no options, or say themselves what they take.
  const free = [
    "constructor",
    "refresh",
    "commits",
    "checkPlan",
    "selectKeys",
    "createdStores",
    "touchedStores",
    "staleKeys",
    "bookmarkDrift",
    "vcsDrift",
    "bookmarkHolders",
    "liveBookmarks",
  ];
  const names = Object.entries(Object.getOwnPropertyDescriptors(Dataset.prototype))
    .filter(([name, { value }]) => typeof value === "function" && !free.includes(name)).map(([name]) => name);
  assert.deepEqual(names.filter((name) => !(name in WRONG)), []);
});

Deno.test("[formats 6.3] a position that is a number, 0 included, is a state", async () => {
  await using t = await tempDataset();
  const locator = { system: t.system("m") };
  for (const [key, at] of [["zero", 0], ["text", "0"]] as const) {
    assert.equal((await t.with((ds) => ds.add({ key, kind: "memory", locator, at }))).at, "0");
  }
});
