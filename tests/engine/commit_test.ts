import assert from "node:assert/strict";
import { namedStore } from "../../backends/memory/store.ts";
import {
  ConfigError,
  StalePlanError,
  StaleWorkingCopyError,
  UnpinnedStateError,
  VcsError,
} from "../../engine/model/errors.ts";
import { MultiObjectError } from "../../engine/model/multi_object_error.ts";
import { observeSpawns } from "../../engine/io/process.ts";
import { Plan } from "../../engine/plan/plan.ts";
import { tempDataset } from "../helpers/dataset.ts";

Deno.test("[commands 5.9] commit pins what is new, records it and commits exactly the dataset's files", async () => {
  await using t = await tempDataset({ files: { "README": "hello" } });
  await t.addMemory("a/one", "b");
  await t.repo.write("other.txt", "staged by the user");
  await t.repo.git(["add", "other.txt"]);
  const report = await t.with((ds) => ds.commit({ message: "first" }));
  assert.deepEqual(Object.keys(report.pinned).sort(), ["a/one", "b"]);
  const tags = namedStore().find(t.system("b"))?.tags;
  assert.equal(tags?.get(report.pinned["b"] ?? ""), `${t.system("b")}:s0`);
  const files = (await t.repo.git(["show", "--name-only", "--format=", "HEAD"])).split("\n").sort();
  assert.deepEqual(files, [
    ".tether/.gitattributes",
    ".tether/.gitignore",
    ".tether/objects/a/one.toml",
    ".tether/objects/b.toml",
    "tether.toml",
  ]);
  assert.equal(await t.repo.git(["diff", "--cached", "--name-only"]), "other.txt");
  assert.equal(report.vcsCommit, await t.repo.git(["rev-parse", "HEAD"]));
});

Deno.test("[commands 5.9] a second commit with nothing new makes no entry and no commit", async () => {
  await using t = await tempDataset();
  await t.addMemory("a");
  await t.with((ds) => ds.commit({ message: "first" }));
  const before = await t.read(".tether/ops.jsonl");
  const report = await t.with((ds) => ds.commit({ message: "again" }));
  assert.equal(report.vcsCommit, null);
  assert.deepEqual(report.unchanged, ["a"]);
  assert.equal(await t.read(".tether/ops.jsonl"), before);
});

Deno.test("[commands 5.9, Δ35] edits of manifests alone are committed, a removed key by its name too", async () => {
  await using t = await tempDataset();
  await t.addMemory("a", "b");
  await t.with((ds) => ds.commit({ message: "first" }));
  await t.with((ds) => ds.setPolicy(["a"], { file: "versioned" }));
  assert.ok((await t.with((ds) => ds.commit({ message: "policy" }))).vcsCommit);
  await t.with((ds) => ds.remove("b"));
  assert.ok((await t.with((ds) => ds.commit({ message: "removed", keys: ["b"] }))).vcsCommit);
  assert.equal(await t.repo.git(["ls-tree", "-r", "--name-only", "HEAD", ".tether/objects"]), ".tether/objects/a.toml");
});

Deno.test("[formats 6.2] flipping the pin policy records an unchanged object again", async () => {
  await using t = await tempDataset();
  await t.addMemory("a");
  await t.with((ds) => ds.commit({ message: "first" }));
  await t.with((ds) => ds.setPolicy(["a"], { pin: "record" }));
  assert.deepEqual((await t.with((ds) => ds.commit({ message: "record" }))).pinned, { a: null });
  assert.doesNotMatch(await t.read(".tether/objects/a.toml"), /\[pin\]/);
  await t.with((ds) => ds.setPolicy(["a"], { pin: "native" }));
  assert.match((await t.with((ds) => ds.commit({ message: "native" }))).pinned["a"] ?? "", /^tether\./);
});

Deno.test("[formats 6.2] two objects that share a pin record the same state, and the pin is made once", async () => {
  await using t = await tempDataset();
  await t.addMemory("a");
  await t.with((ds) => ds.add({ key: "b", kind: "memory", locator: { system: t.system("a") } }));
  const report = await t.with((ds) => ds.commit({ message: "both" }));
  assert.equal(report.pinned["a"], report.pinned["b"]);
  const pinned = await Deno.readTextFile(`${t.root}/.git/tether-pinned.jsonl`);
  assert.equal(pinned.trim().split("\n").length, 1);
});

Deno.test("[L43, L37] when one of three pins fails, the new ones are released, a shared one stays, nothing else changed", async () => {
  await using t = await tempDataset();
  await t.addMemory("a", "b", "c");
  await t.with((ds) => ds.commit({ message: "first", keys: ["c"] }));
  const shared = namedStore().find(t.system("c"))?.tags.size;
  // The manifest forgets what the store still has: the pin is found, not made.
  const manifest = await t.read(".tether/objects/c.toml");
  await Deno.writeTextFile(`${t.root}/.tether/objects/c.toml`, manifest.replace(/\n\[state\][^]*/, "\n"));
  const before = await Promise.all(["a", "b", "c"].map((k) => t.read(`.tether/objects/${k}.toml`)));
  const plan = await t.with((ds) => ds.plan.commit({ message: "second" }));
  const target = plan.actions.find((a) => a.key === "b")?.target ?? "";
  const system = namedStore().find(t.system("b"));
  system?.tags.set(target, system.append({ parents: [], payload: {}, message: "other", when: new Date() }).id);
  await assert.rejects(
    t.with((ds) => ds.commit({ message: "second" })),
    (e) => e instanceof MultiObjectError && e.errors.has("b"),
  );
  assert.equal(namedStore().find(t.system("a"))?.tags.size, 0);
  assert.equal(namedStore().find(t.system("c"))?.tags.size, shared);
  assert.deepEqual(await Promise.all(["a", "b", "c"].map((k) => t.read(`.tether/objects/${k}.toml`))), before);
  const [last] = (await t.with((ds) => ds.ops())).ops;
  assert.equal(last?.status, "done");
  assert.equal(last?.result["rolled_back"], true);
});

Deno.test("[commands 5.9, L43] a hook that refuses leaves pins released, manifests as they were and nothing staged", async () => {
  await using t = await tempDataset({ files: { "x": "x" } });
  await t.addMemory("a");
  await t.repo.write(".git/hooks/pre-commit", "#!/bin/sh\necho no >&2\nexit 1\n");
  await Deno.chmod(`${t.repo.path}/.git/hooks/pre-commit`, 0o755);
  const before = await t.read(".tether/objects/a.toml");
  await assert.rejects(
    t.with((ds) => ds.commit({ message: "first" })),
    (e) => e instanceof VcsError && /no/.test(e.message),
  );
  assert.equal(await t.read(".tether/objects/a.toml"), before);
  assert.equal(namedStore().find(t.system("a"))?.tags.size, 0);
  assert.equal(await t.repo.git(["diff", "--cached", "--name-only"]), "");
});

Deno.test("[commands 5.9] a dataset that git ignores is refused, with nothing pinned and nothing staged", async () => {
  await using t = await tempDataset({ files: { "x": "x" } });
  await t.addMemory("a");
  await t.repo.write(".git/info/exclude", "*.toml\n");
  await assert.rejects(t.with((ds) => ds.commit({ message: "first" })), VcsError);
  assert.equal(namedStore().find(t.system("a"))?.tags.size, 0);
  assert.equal(await t.repo.git(["diff", "--cached", "--name-only"]), "");
  assert.equal((await t.with((ds) => ds.ops())).ops[0]?.result["rolled_back"], true);
});

Deno.test("[Δ2, Δ3, L18] no bookmark, a left bookmark and a detached HEAD refuse before any store is touched", async (test) => {
  await using t = await tempDataset({ files: { "x": "x" } });
  await t.addMemory("a");
  await t.with((ds) => ds.commit({ message: "first" }));
  t.write("a");
  const refusals = async (name: string): Promise<void> => {
    await test.step(name, async () => {
      const tags = namedStore().find(t.system("a"))?.tags.size;
      await assert.rejects(t.with((ds) => ds.commit({ message: "no" })), StaleWorkingCopyError);
      await assert.rejects(t.with((ds) => ds.open("a")), StaleWorkingCopyError);
      assert.equal(namedStore().find(t.system("a"))?.tags.size, tags);
      assert.ok(await t.with((ds) => ds.open("a", { readOnly: true })));
      assert.ok(await t.with((ds) => ds.status()));
    });
  };
  await t.repo.git(["switch", "-q", "-c", "elsewhere"]);
  await refusals("another branch");
  await t.repo.git(["switch", "-q", "--detach"]);
  await refusals("detached HEAD");
  await t.repo.git(["switch", "-q", "main"]);
  await t.inside((ctx) => ctx.workspaceFile.write({ ...ctx.workspace, bookmark: null }));
  await refusals("no bookmark");
});

Deno.test("[Δ1, L18] a stale object refuses commit and writable open until new", async () => {
  await using t = await tempDataset();
  await t.addMemory("a");
  await t.with((ds) => ds.commit({ message: "first" }));
  await t.with((ds) => ds.new({ bookmark: "feat", eager: true }));
  const second = t.write("a");
  // Another clone's commit arrives: the manifest records what this checkout's branch does not stand for.
  const manifest = await t.read(".tether/objects/a.toml");
  await Deno.writeTextFile(`${t.root}/.tether/objects/a.toml`, manifest.replaceAll(`${t.system("a")}:s0`, second.id));
  assert.deepEqual(await t.with((ds) => ds.staleKeys()), ["a"]);
  await assert.rejects(t.with((ds) => ds.commit({ message: "no" })), StaleWorkingCopyError);
  await assert.rejects(t.with((ds) => ds.open("a")), StaleWorkingCopyError);
  assert.equal((await t.with((ds) => ds.status())).stale, true);
});

Deno.test("[commands 1.5] a selection that splits a branch is refused, naming the rest", async () => {
  await using t = await tempDataset();
  await t.addMemory("a", "z");
  await t.with((ds) => ds.add({ key: "b", kind: "memory", locator: { system: t.system("a") } }));
  await assert.rejects(
    t.with((ds) => ds.commit({ message: "part", keys: ["a"] })),
    (e) => e instanceof ConfigError && e.hints.some((h) => h.includes("-- a b")),
  );
  await assert.rejects(t.with((ds) => ds.commit({ message: "part", keys: ["nosuch", "none/"] })), /nosuch.*none/);
});

Deno.test("[formats 18] a selective first commit brings what a clone needs to open the dataset", async () => {
  await using t = await tempDataset();
  await t.addMemory("a", "b");
  await t.with((ds) => ds.commit({ message: "a alone", keys: ["a"] }));
  const files = (await t.repo.git(["ls-tree", "-r", "--name-only", "HEAD"])).split("\n");
  assert.deepEqual(files, [".tether/.gitattributes", ".tether/.gitignore", ".tether/objects/a.toml", "tether.toml"]);
});

Deno.test("[commands 5.9] --strict refuses an Observed object", async () => {
  await using t = await tempDataset();
  const data = await t.repo.write("../data/file", "x");
  await t.with((ds) => ds.add({ key: "raw", kind: "file", locator: { uri: data } }));
  await assert.rejects(t.with((ds) => ds.commit({ message: "x", strict: true })), UnpinnedStateError);
});

Deno.test("[commands 3.2, L42] a saved plan is refused once anything it saw changed", async (test) => {
  const cases: Record<string, (plan: Plan, t: Awaited<ReturnType<typeof tempDataset>>) => Promise<Plan>> = {
    "the object moved": (plan, t) => {
      t.write("a");
      return Promise.resolve(plan);
    },
    "a manifest changed": async (plan, t) => {
      await t.with((ds) => ds.setPolicy(["a"], { file: "versioned" }));
      return plan;
    },
    "the bookmark changed": async (plan, t) => {
      await t.with((ds) => ds.new({ bookmark: "other" }));
      return plan;
    },
    "another checkout": async (plan, t) => {
      await t.inside((ctx) => ctx.workspaceFile.write({ ...ctx.workspace, workspaceId: "0".repeat(32) }));
      return plan;
    },
    "a dropped action": (plan) => Promise.resolve(edited(plan, (p) => ({ ...p, actions: [] }))),
    "a dropped precondition": (plan) => Promise.resolve(edited(plan, (p) => ({ ...p, preconditions: [] }))),
    "another command": (plan) => Promise.resolve(edited(plan, (p) => ({ ...p, command: "new" }))),
  };
  for (const [name, change] of Object.entries(cases)) {
    await test.step(name, async () => {
      await using t = await tempDataset();
      await t.addMemory("a");
      const plan = await t.with((ds) => ds.plan.commit({ message: "planned" }));
      const stale = await change(plan, t);
      const tags = namedStore().find(t.system("a"))?.tags.size;
      await assert.rejects(t.with((ds) => ds.apply(stale)), StalePlanError);
      assert.equal(namedStore().find(t.system("a"))?.tags.size, tags);
    });
  }
  for (const [name, change] of Object.entries(LOADING)) {
    await test.step(name, async () => {
      await using t = await tempDataset();
      await t.addMemory("a");
      const plan = await t.with((ds) => ds.plan.commit({ message: "planned" }));
      assert.throws(() => Plan.fromJSON(JSON.stringify({ ...JSON.parse(plan.text()), ...change })), StalePlanError);
    });
  }
});

const LOADING: Readonly<Record<string, object>> = {
  "[formats 13.1] made by the peer": { tether_version: "0.1.0b7" },
  "[formats 13.1] made by an older tether": { tether_version: undefined },
  "[formats 13.1] of another format": { format: 2 },
  "[L42] with an unknown field": { extra: 1 },
};

Deno.test("[Δ36] a saved plan applies as it is, and with a message of its own beside it", async () => {
  await using t = await tempDataset();
  await t.addMemory("a");
  const plan = Plan.fromJSON((await t.with((ds) => ds.plan.commit({ message: "planned" }))).text());
  await t.with((ds) => ds.apply(plan, { message: "said otherwise" }));
  assert.equal(await t.repo.git(["log", "-1", "--format=%s"]), "said otherwise");
});

Deno.test("[L13, L15] the loop works in a SHA-256 repository", async () => {
  await using t = await tempDataset({ objectFormat: "sha256" });
  await t.addMemory("a");
  const report = await t.with((ds) => ds.commit({ message: "first" }));
  assert.equal(report.vcsCommit?.length, 64);
  t.write("a");
  await t.with((ds) => ds.commit({ message: "second" }));
  assert.deepEqual((await t.with((ds) => ds.diff("HEAD~1", "HEAD"))).entries[0]?.why, ["state", "pin"]);
});

Deno.test("[speed] status starts at most 3 children, commit at most 6", async () => {
  await using t = await tempDataset({ files: { "x": "x" } });
  await t.addMemory("a");
  const count = async (fn: () => Promise<unknown>): Promise<number> => {
    const seen: string[] = [];
    const stop = observeSpawns((program, args) => seen.push([program, ...args].join(" ")));
    await fn();
    stop();
    return seen.length;
  };
  await t.with((ds) => ds.status());
  const commits = await count(() => t.with((ds) => ds.commit({ message: "first" })));
  t.write("a");
  const more = await count(() => t.with((ds) => ds.commit({ message: "second" })));
  const status = await count(() => t.with((ds) => ds.status()));
  assert.ok(commits <= 6 && more <= 6, `commit: ${commits}, ${more}`);
  assert.ok(status <= 3, `status: ${status}`);
});

function edited(plan: Plan, change: (p: Record<string, unknown>) => object): Plan {
  return Plan.fromJSON(JSON.stringify(change(JSON.parse(plan.text()))));
}
