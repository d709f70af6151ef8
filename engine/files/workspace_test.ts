import assert from "node:assert/strict";
import fc from "fast-check";
import { join } from "node:path";
import { ConfigError } from "../model/errors.ts";
import type { State } from "../model/manifest.ts";
import { filesBelow, inTempDir, plant, whileReadOnly } from "./_test_dirs.ts";
import { keys } from "./_test_values.ts";
import {
  entryOf,
  formatWorkspace,
  newWorkspace,
  parseWorkspace,
  type SnapshotError,
  WorkspaceFile,
  type WorkspaceState,
} from "./workspace.ts";

const ID = "a618aa85fcb846e6b7c4c0498ad41a25";
const NAME = ".tether/workspace.toml";

function records<T>(values: fc.Arbitrary<T>): fc.Arbitrary<Record<string, T>> {
  return fc.uniqueArray(fc.tuple(keys, values), { maxLength: 4, selector: ([key]) => key }).map(Object.fromEntries);
}

const words = fc.string({ unit: "grapheme", minLength: 1 }).filter((text) => text.trim() !== "");
const states: fc.Arbitrary<State> = records(
  fc.oneof(fc.string(), fc.boolean(), fc.constantFrom<number | bigint>(0, 7052937465134546912n)),
);
const workspaces: fc.Arbitrary<WorkspaceState> = fc.record({
  workspaceId: fc.constant(ID),
  bookmark: fc.option(words),
  lastSnapshotAt: fc.option(fc.constant("2026-11-30T01:45:24.533590+00:00")),
  workingRefs: records(words),
  pendingForks: records(words),
  pendingResets: records(states),
  forkPoints: records(states),
  baseStates: records(states),
  lastSnapshot: records(states),
  lastSnapshotErrors: records(
    fc.record<SnapshotError>({ ref: fc.string(), error: fc.string() }, { noNullPrototype: true }),
  ),
}, { noNullPrototype: true });

Deno.test("[formats 8] a workspace reads back as it was written", () => {
  fc.assert(fc.property(workspaces, (workspace) => {
    assert.deepEqual(parseWorkspace(formatWorkspace(workspace), NAME), workspace);
  }));
});

Deno.test("[formats 8] formatWorkspace() writes the peer's bytes", async () => {
  const peer = await Deno.readTextFile(new URL("../../tests/fixtures/peer/workspace.toml", import.meta.url));
  const workspace = parseWorkspace(peer, NAME);
  assert.equal(formatWorkspace(workspace), peer);
  assert.equal(workspace.bookmark, "feat/x");
  assert.deepEqual(Object.keys(workspace.workingRefs), ["code", "made"]);
});

Deno.test("[formats 8] formatWorkspace() keeps unknown keys and drops empty tables", () => {
  const before =
    `future = 2024-01-01\nworkspace_id = "${ID}"\nbookmark = "x"\n[working_refs]\na = "b"\n[later]\nn = 1.0\n`;
  assert.equal(
    formatWorkspace(newWorkspace(ID), before),
    `workspace_id = "${ID}"\nfuture = 2024-01-01\n\n[later]\nn = 1.0\n`,
  );
});

Deno.test("[formats 8] every field is optional, and a wrong value is an error that names it", async (t) => {
  assert.deepEqual(parseWorkspace("", NAME), newWorkspace(""));
  const cases: [string, RegExp][] = [
    ["workspace_id = 1", /^Cannot use "\.tether\/workspace\.toml": workspace_id: it is not a string$/],
    ['workspace_id = "x"', /workspace_id: it is not 32 lower-case hex digits/],
    ['bookmark = ""', /bookmark: it is blank/],
    ["working_refs = []", /working_refs: it is not a table/],
    ['[working_refs]\n"a/b" = 1', /working_refs\."a\/b": it is not a string/],
    ["[last_snapshot]\na = 1", /last_snapshot\.a: it is not a table/],
    ["[base_states.a]\nx = [2024-01-01]", /base_states\.a\.x: a date/],
    ["[last_snapshot_errors.a]\nerror = 1", /last_snapshot_errors\.a\.error/],
    ["nonsense", /line 1/],
  ];
  for (const [text, message] of cases) {
    await t.step(text, () => {
      assert.throws(() => parseWorkspace(text, NAME), (error) => {
        assert.ok(error instanceof ConfigError);
        assert.match(error.message, message);
        return true;
      });
    });
  }
});

Deno.test("entryOf() finds no key on the prototype", () => {
  const { workingRefs } = parseWorkspace('[working_refs]\na = "b"', NAME);
  assert.deepEqual([entryOf(workingRefs, "a"), entryOf(workingRefs, "constructor")], ["b", undefined]);
});

Deno.test("[formats 8] of many that claim a checkout one wins, and all agree", async () => {
  await inTempDir(async (root) => {
    await plant(root, { ".tether/.gitignore": "" });
    const files = Array.from({ length: 20 }, () => new WorkspaceFile(root));
    const ids = new Set((await Promise.all(files.map((file) => file.read()))).map((state) => state.workspaceId));
    assert.equal(ids.size, 1);
    assert.ok(files.every((file) => file.persistent));
    assert.deepEqual(await filesBelow(root), [".tether/.gitignore", NAME]);
    assert.match(await Deno.readTextFile(join(root, NAME)), /^workspace_id = "[0-9a-f]{32}"\n$/);
  });
});

Deno.test("[formats 8] a claim works where the file system has no hard links", async () => {
  await inTempDir(async (root) => {
    await plant(root, { ".tether/.gitignore": "" });
    const link = Deno.link;
    Deno.link = () => Promise.reject(new Error("Operation not permitted (os error 1)"));
    try {
      const files = Array.from({ length: 5 }, () => new WorkspaceFile(root));
      for (const file of files) await file.read();
      assert.equal(new Set(await Promise.all(files.map((file) => file.text()))).size, 1);
      assert.ok(files.every((file) => file.persistent));
    } finally {
      Deno.link = link;
    }
  });
});

Deno.test("[L26] [formats 8] a checkout that cannot be written has one id, in memory", async () => {
  await inTempDir(async (root) => {
    await plant(root, { ".tether/.gitignore": "" });
    const file = new WorkspaceFile(root);
    await whileReadOnly(root, async () => {
      const { workspaceId } = await file.read();
      assert.match(workspaceId, /^[0-9a-f]{32}$/);
      assert.equal((await file.read()).workspaceId, workspaceId);
      assert.equal(file.persistent, false);
      assert.equal(await file.text(), null);
    });
    const { workspaceId } = await file.read();
    assert.ok(file.persistent);
    await whileReadOnly(root, async () => {
      assert.equal((await new WorkspaceFile(root).read()).workspaceId, workspaceId);
    });
  });
});

Deno.test("[formats 8] a file without an id gets one with the next write, and keeps the rest", async () => {
  await inTempDir(async (root) => {
    await plant(root, { [NAME]: 'bookmark = "x"\n' });
    const file = new WorkspaceFile(root, () => ID);
    const state = await file.read();
    assert.deepEqual([state.workspaceId, state.bookmark, file.persistent], [ID, "x", false]);
    await file.write(state);
    assert.deepEqual([await file.text(), file.persistent], [`workspace_id = "${ID}"\nbookmark = "x"\n`, true]);
  });
});

Deno.test("[formats 8] write() does not touch a file that says so already, nor overwrite one that does not parse", async () => {
  await inTempDir(async (root) => {
    await plant(root, { [NAME]: `workspace_id = "${ID}"\n` });
    const file = new WorkspaceFile(root);
    const before = (await Deno.stat(join(root, NAME))).ino;
    await file.write(await file.read());
    assert.equal((await Deno.stat(join(root, NAME))).ino, before);
    await plant(root, { [NAME]: "<<<<<<< a\n>>>>>>> b\n" });
    await assert.rejects(file.write(newWorkspace(ID)), { code: "conflicted" });
  });
});
