import assert from "node:assert/strict";
import { TetherError } from "../../engine/model/errors.ts";
import type { Dataset } from "../../engine/dataset.ts";
import { type Call, perform } from "./_call.ts";
import { type Lab, lab, spawnTether } from "../cli/_tether.ts";
import { endOf, type Scene, scene, victim } from "./_scene.ts";

/** What is killed, where, and what comes before. The boundaries are those that a run passes, less some alike. */
interface Case {
  readonly call: Call;
  readonly prepare?: (s: Scene) => Promise<unknown>;
  /** Boundaries of a whole run, in an order that may differ within one step. */
  readonly passes: readonly string[];
  /** Those where the process is killed. @default {all} */
  readonly kills?: readonly string[];
  /** Those where the last line of the journal is torn besides. @default {none} */
  readonly tears?: readonly string[];
  /** How the journal calls it; `undefined` for an edit that is journaled once it is done. */
  readonly entry?: string;
}

const CASES: Readonly<Record<string, Case>> = {
  pull: {
    call: { command: "pull" },
    prepare: (s) => s.write(),
    passes: ["journal", "pin code", "pin feat", "pin img", "manifests", "listings", "vcs-commit", "done"],
    kills: ["listings"],
    entry: "pull",
  },
  add: {
    call: { command: "add", options: { key: "q", kind: "file", locator: { uri: "/nowhere" } } },
    passes: ["manifests", "edit"],
  },
  remove: {
    call: { command: "remove", key: "img" },
    passes: ["workspace", "edit"],
  },
  set: {
    call: { command: "set", policy: { pin: "record" } },
    passes: ["edit"],
  },
  commit: {
    call: { command: "commit", options: { message: "Second" } },
    prepare: async (s) => {
      await s.write();
      // Recorded for the first time, so it gets a listing.
      await s.with((ds) => ds.add({ key: "raw", kind: "file", locator: { uri: `${s.repo.outer}/plate` } }));
    },
    passes: ["journal", "pin code", "pin feat", "pin img", "manifests", "listings", "vcs-commit", "done"],
    tears: ["journal", "pin img"],
    entry: "commit",
  },
  "commit on a bookmark": {
    call: { command: "commit", options: { message: "Third" } },
    prepare: async (s) => {
      await s.with((ds) => ds.new({ bookmark: "x", eager: true }));
      await s.write();
    },
    passes: ["journal", "pin code", "pin feat", "pin img", "manifests", "listings", "vcs-commit", "done"],
    kills: ["manifests", "vcs-commit"],
    entry: "commit",
  },
  "new --eager": {
    call: { command: "new", options: { bookmark: "y", eager: true } },
    prepare: (s) => s.write(),
    passes: ["journal", "vcs", "workspace", "fork code", "fork feat", "fork img", "done"],
    kills: ["journal", "vcs", "workspace", "fork feat", "fork img", "done"],
    entry: "new",
  },
  ...Object.fromEntries(["code", "img", "feat"].map((key): [string, Case] => [`the first writable open of ${key}`, {
    call: { command: "open", key },
    ...key === "code" ? { prepare: (s: Scene) => s.with((ds) => ds.new({ bookmark: "z" })) } : {},
    passes: ["journal", `fork ${key}`, "done"],
    kills: key === "code" ? ["journal", "fork code", "done"] : [`fork ${key}`],
    entry: "fork",
  }])),
};

Deno.test("[L37] killed at any boundary of a writing command, on real stores: nothing is lost, and the same command finishes", async (t) => {
  await using s = await scene();
  for (const [name, c] of Object.entries(CASES)) {
    // Each case begins where the one before began, and goes on from there.
    await c.prepare?.(s);
    await s.remember();
    await t.step(`${name}: the boundaries are the ones this test knows`, async () => {
      const { code, stdout, stderr } = await endOf(victim(s.root, c.call));
      assert.equal(code, 0, stderr);
      assert.deepEqual(stdout.trim().split("\n").sort(), [...c.passes].sort());
    });
    for (const boundary of c.kills ?? c.passes) {
      await t.step(`${name}: killed at "${boundary}"`, async () => {
        await s.rewind();
        await survives(s, c, { boundary, torn: false });
      });
    }
    for (const boundary of c.tears ?? []) {
      await t.step(`${name}: killed at "${boundary}", with the last line of the journal torn`, async () => {
        await s.rewind();
        await survives(s, c, { boundary, torn: true });
      });
    }
    await s.rewind();
  }
});

async function survives(s: Scene, c: Case, kill: { readonly boundary: string; readonly torn: boolean }): Promise<void> {
  const opsBefore = await s.with((ds) => ds.ops());
  const { signal } = await endOf(victim(s.root, c.call, kill.boundary));
  assert.equal(signal, "SIGKILL");
  const journal = `${s.root}/.tether/ops.jsonl`;
  if (kill.torn) await Deno.truncate(journal, (await Deno.stat(journal)).size - 20);
  // Torn right after it was begun, an entry says nothing; but then nothing had been done either.
  const journaled = c.entry !== undefined && !(kill.torn && kill.boundary === "journal");
  const refs = await s.refs();
  await s.with(async (ds) => {
    const status = await ds.status();
    assert.deepEqual(status.objects.filter((o) => o.error !== null), []);
    assert.equal(
      status.warnings.filter((w) => /was interrupted .*: "tether .*" finishes it$/.test(w)).length,
      +journaled,
    );
    const { ops } = await ds.ops();
    const [newest] = ops;
    assert.equal(ops.length, opsBefore.ops.length + (journaled ? 1 : 0));
    if (journaled) {
      assert.deepEqual([newest?.command, newest?.status], [c.entry, "started"]);
      await assert.rejects(ds.undo(), TetherError, "undo takes back what never finished");
    }
    await ds.gc({ dryRun: false });
  });
  assert.deepEqual(await s.refs(), refs, "gc released what an unfinished operation holds");
  await s.with(async (ds) => {
    await again(ds, c.call);
    const { entries } = await ds.verify({ allHistory: true, deep: true });
    assert.deepEqual(entries.filter((e) => e.status !== "ok"), []);
    const here = await ds.verify({ keys: [...ds.objects.keys()].filter((k) => ds.objects.get(k)?.kind !== "file") });
    assert.deepEqual(here.entries.filter((e) => e.status !== "ok"), []);
    for (const key of ["code", "img", "feat"]) {
      if (ds.objects.has(key)) await (await ds.open(key))[Symbol.asyncDispose]();
    }
    const repaired = await ds.repair();
    assert.deepEqual([repaired.repinned, repaired.reforked, repaired.failed], [{}, {}, {}]);
    const left = (await ds.ops({ limit: 100 })).ops.filter((op) => op.status !== "done");
    assert.deepEqual(left, [], "the same command again left an entry open");
  });
  assert.deepEqual((await s.with((ds) => ds.status())).warnings, []);
  const after = new Set(await s.refs());
  assert.deepEqual(refs.filter((r) => !after.has(r)), [], "a ref was lost");
}

/** Makes the call again. A step that had been taken already may be refused as such, with the command that goes on. */
async function again(ds: Dataset, call: Call): Promise<void> {
  try {
    await perform(ds, call);
  } catch (error) {
    assert.ok(error instanceof TetherError);
    assert.ok(error.hints.length > 0, error.message);
    assert.ok(["exists", "no-object"].includes(error.code), error.message);
  }
}

Deno.test("[L37] the process dies while git makes the dataset commit, which lands without it", async (t) => {
  for (const bookmark of ["main", "y"]) {
    await t.step(`on ${bookmark}`, async () => {
      await using l = await lab({ init: true });
      await l.ok(["add", "../code", "--kind", "git"]);
      await l.ok(["commit", "-m", "Baseline"]);
      if (bookmark !== "main") {
        await l.ok(["new", "-b", bookmark]);
        await l.ok(["open", "code"]);
        await l.repo.git(["switch", "--quiet", `tether.ws.0a1b2c3d.${bookmark}`], { cwd: l.beside("code") });
      }
      await l.advance("second");
      const hook = await l.repo.write(
        ".git/hooks/pre-commit",
        "#!/bin/sh\nread -r _ _ _ tether _ < /proc/$PPID/stat\nkill -9 $tether\n",
      );
      await Deno.chmod(hook, 0o755);
      const dying = spawnTether(["commit", "-m", "Landed"], { cwd: l.repo.path });
      assert.equal((await dying.output()).signal, "SIGKILL");
      await Deno.remove(hook);
      await landed(l, "Landed");
      const [entry] = await l.json(["ops"]) as { command: string; status: string }[];
      assert.deepEqual([entry?.command, entry?.status], ["commit", "started"]);
      assert.equal(await l.ok(["commit", "-m", "Again"]), "nothing to commit\n");
      const [complete] = await l.json(["ops"]) as { status: string; result: Record<string, unknown> }[];
      const head = await l.repo.git(["rev-parse", "HEAD"]);
      assert.deepEqual([complete?.status, complete?.result["vcs_commit"]], ["done", head]);
      await l.advance("third");
      assert.match(await l.ok(["commit", "-m", "Third"]), /^ {2}pinned code -> /);
      await l.ok(["verify", "--all-history", "--deep"]);
      await l.ok(["open", "code"]);
    });
  }
});

/** Waits until git, which outlives the process that started it, has made its commit. */
async function landed(l: Lab, subject: string): Promise<void> {
  for (let i = 0; i < 200; i++) {
    if (await l.repo.git(["log", "-1", "--format=%s"]) === subject) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  assert.fail("git did not commit");
}
