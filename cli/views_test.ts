import assert from "node:assert/strict";
import type { DiffEntry, ObjectStatus, OpReport, StatusReport, VerifyReport } from "../engine/reports/reading.ts";
import type { NewReport } from "../engine/reports/moving.ts";
import { type Report, withJson } from "../engine/reports/report.ts";
import { addLines, placeOf } from "./add.ts";
import { backendLines } from "./backends.ts";
import { commitLines } from "./commit.ts";
import { diffLines } from "./diff.ts";
import { initLines } from "./init.ts";
import { logLines } from "./log.ts";
import { newLines } from "./new.ts";
import { opsLines } from "./ops.ts";
import { setLines } from "./set.ts";
import { snapshotLines } from "./snapshot.ts";
import { statusLines } from "./status.ts";
import type { Line } from "./ui.ts";
import { verifyLines } from "./verify.ts";

function report<T extends object>(data: T): T & Report {
  return withJson(data, () => null);
}

function texts(lines: readonly Line[], to: "out" | "err" = "out"): string[] {
  return lines.filter((l) => (l.to ?? "out") === to).map((l) => l.text);
}

const CLEAN: ObjectStatus = {
  key: "zarr/imaging",
  kind: "icechunk",
  tier: "forkable",
  state: "clean",
  pinned: true,
  recoverable: true,
  origin: "adopted",
  verify: null,
  error: null,
  seen: "before",
  reason: null,
};

const STATUS: StatusReport = report({
  manifestHash: "aeda87666e4d8c0011",
  stale: false,
  staleKeys: [],
  fresh: false,
  snapshotAt: "2026-11-30T11:55:00.000000+00:00",
  bookmark: "main",
  trunk: true,
  bookmarkDrift: [],
  vcsDrift: [],
  objects: [CLEAN],
  removed: [],
  warnings: [],
});

const NOW = new Date("2026-11-30T12:00:00Z");

Deno.test("[commands 5.6] status: header, age of the snapshot, one line per object", () => {
  const lines = statusLines(STATUS, NOW);
  assert.deepEqual(lines, [
    { text: "dataset aeda87666e4d; on trunk bookmark main" },
    { text: "  states as read 5m ago; --snapshot to refresh", style: "grey" },
    { text: "      clean  zarr/imaging  [icechunk/forkable]" },
  ]);
});

Deno.test("[commands 5.6] status: every mark and every warning has its place", () => {
  const lines = statusLines({
    ...STATUS,
    stale: true,
    staleKeys: ["a", "b"],
    fresh: true,
    bookmark: "x",
    trunk: false,
    bookmarkDrift: ["the working copy left the bookmark"],
    vcsDrift: [{ op: "0123456789ab", commit: "f".repeat(40), referenced: { a: true, b: false } }],
    objects: [
      { ...CLEAN, key: "a", state: "modified", origin: "created", verify: "drifted", reason: "snapshot_id differs" },
      { ...CLEAN, key: "b", kind: "file", tier: "observed", recoverable: false },
      { ...CLEAN, key: "c", kind: "file", tier: "observed", recoverable: false, state: "new" },
      { ...CLEAN, key: "d", kind: "lakefs", tier: null, state: "error", error: "no such kind" },
      { ...CLEAN, key: "e", kind: "", tier: null, state: "conflicted" },
    ],
  }, NOW);
  assert.deepEqual(texts(lines), [
    "dataset aeda87666e4d (STALE: a, b); on bookmark x",
    "   modified  a  [icechunk/forkable] (created) verify=drifted  snapshot_id differs",
    "      clean  b  [file/observed] unrecoverable",
    "        new  c  [file/observed]",
    "      error  d  [lakefs]",
    "  conflicted  e",
  ]);
  assert.deepEqual(texts(lines, "err"), [
    "warning: the working copy left the bookmark",
    "warning: history no longer has commit ffffffffffff of operation 0123456789ab; " +
    "the working tree still names its pins of a; gc will release its pins of b, unless another commit names them; " +
    '"tether ops --ack 0123456789ab" if that was meant',
    "error: d: no such kind",
  ]);
});

Deno.test("[Δ38] status without any snapshot says never, and how to get one", () => {
  const lines = statusLines({ ...STATUS, snapshotAt: null, bookmark: null, trunk: false }, NOW);
  assert.deepEqual(texts(lines).slice(0, 2), [
    'dataset aeda87666e4d; on no bookmark: read-only; "tether new NAME" goes to one, "tether new -b NAME" starts one',
    "  states as committed; read from the stores: never",
  ]);
  assert.deepEqual(texts(lines, "err"), ["hint: tether status --snapshot reads them"]);
});

Deno.test("[commands 5.9] commit: pins, records, the commit, and never silence", () => {
  const nothing = {
    vcsCommit: null,
    pinned: {},
    unrecoverable: [],
    unchanged: ["a"],
    removed: [],
    notRead: [],
    hints: [],
    warnings: [],
  };
  assert.deepEqual(texts(commitLines(report(nothing))), ["nothing to commit"]);
  const idle = commitLines(report({ ...nothing, notRead: ["raw", "tab"], hints: ["tether pull"] }));
  assert.deepEqual(texts(idle), ["nothing to commit"]);
  assert.deepEqual(texts(idle, "err"), [
    "note: not read, since this checkout does not move them: raw, tab",
    "hint: tether pull",
  ]);
  const some = { ...nothing, pinned: { code: "tether.a.b", delta: null, raw: null }, unrecoverable: ["raw"] };
  const expected = [
    "  pinned code -> tether.a.b",
    "  recorded delta (at its own address, no pin)",
    "  recorded raw (not recoverable)",
  ];
  assert.deepEqual(texts(commitLines(report({ ...some, vcsCommit: "0123456789abcdef" }))), [
    ...expected,
    "committed 0123456789ab",
  ]);
  assert.deepEqual(texts(commitLines(report(some))), [...expected, "manifests written, not committed"]);
});

Deno.test("[commands 5.10] new: which branch each object writes, and why", () => {
  const on: NewReport = report({
    bookmark: "x",
    trunk: false,
    kept: false,
    workingRefs: { a: "tether.ws.d.x", gone: "tether.ws.d.x", taken: "tether.ws.d.x.2" },
    pendingForks: { b: "tether.ws.d.x" },
    forkPoints: {},
    adopted: { taken: "tether.ws.d.x.2" },
    absent: ["gone"],
    warnings: [],
  });
  assert.deepEqual(texts(newLines(on)), [
    "on bookmark x; working refs set up",
    "  a -> tether.ws.d.x",
    "  gone -> tether.ws.d.x  (not at this revision)",
    "  taken -> tether.ws.d.x.2  (taken as it is)",
    "  b -> tether.ws.d.x  (made by the first writable open)",
  ]);
  assert.equal(texts(newLines({ ...on, trunk: true, kept: true }))[0], "on trunk bookmark x; kept working refs");
  assert.deepEqual(texts(newLines({ ...on, bookmark: null })), ["on no bookmark; read-only"]);
});

Deno.test("[Δ14] verify: green and red lines, and a summary that names the way out", () => {
  const verdict = (label: string, status: VerifyReport["entries"][number]["status"], message = "") => ({
    label,
    status,
    message,
  });
  const run: VerifyReport = report({
    entries: [
      verdict("a", "ok"),
      verdict("0123456789ab:b", "missing", "tag is gone"),
      verdict("c", "unknown", "no pin"),
    ],
    deep: false,
    ok: false,
    warnings: [],
  });
  assert.deepEqual(verifyLines(run), [
    { text: "        ok  a", style: "green" },
    { text: "   missing  0123456789ab:b  tag is gone", style: "red" },
    { text: "   unknown  c  no pin", style: "red" },
    {
      text:
        "1 ok, 1 missing, 1 unknown (pins only; --deep opens the states, tether repair --all-history makes missing pins again, --allow-unknown lets unknown pass)",
    },
  ]);
  const here = verifyLines({ ...run, entries: [verdict("b", "missing")] });
  assert.match(texts(here)[1] ?? "", /^1 missing \(.*, tether repair makes missing pins again\)$/);
  const deep = verifyLines({ ...run, entries: [verdict("a", "ok")], deep: true, ok: true });
  assert.deepEqual(texts(deep), ["        ok  a", "1 ok (states were opened)"]);
  assert.deepEqual(texts(verifyLines({ ...run, entries: [], ok: true })), ["nothing to verify"]);
});

Deno.test("[commands 5.13] diff: unchanged objects are left out, entries are limited, counts are not", () => {
  const entry = (key: string, more: Partial<DiffEntry>): DiffEntry => ({
    key,
    change: "changed",
    a: null,
    b: null,
    detail: null,
    detailError: null,
    why: ["state"],
    ...more,
  });
  const detail = {
    summary: "+2 -0 ~2500 files",
    added: 2,
    removed: 0,
    modified: 2500,
    entries: [
      { path: "a", change: "added" },
      { path: "b", change: "modified", detail: "3 -> 4 bytes" },
      { path: "c", change: "removed" },
    ],
  };
  const entries = [
    entry("new", { change: "added" }),
    entry("policy", { why: ["policy"] }),
    entry("same", { change: "unchanged", why: [] }),
    entry("broken", { detailError: "store is gone" }),
    entry("files", { detail }),
  ];
  assert.deepEqual(texts(diffLines(report({ entries, warnings: [] }), 2)), [
    "      added  new",
    "    changed  policy  [policy changed; same state]",
    "    changed  broken  [diff failed: store is gone]",
    "    changed  files  [+2 -0 ~2500 files]",
    "             + a",
    "             ~ b  3 -> 4 bytes",
    "             … 2500 more (use --limit)",
  ]);
  assert.deepEqual(texts(diffLines(report({ entries: [], warnings: [] }), 2)), ["no differences"]);
});

Deno.test("[commands 5.14] log: id, minute, first line, refs", () => {
  const entries = [
    { id: "c0ffee", when: "2026-11-30T04:05:06+00:00", message: "first\n\nbody", refs: ["main", "tether.a.b"] },
    { id: "7", when: null, message: "", refs: [] },
  ];
  assert.deepEqual(texts(logLines(report({ entries }))), [
    "  c0ffee  2026-11-30 04:05  first  [main, tether.a.b]",
    "  7",
  ]);
  assert.deepEqual(texts(logLines(report({ entries: [] }))), ["no history"]);
});

Deno.test("[commands 5.15] ops: flags say what became of an operation", () => {
  const op: OpReport = {
    id: "7b5b7353d43f",
    at: "2026-11-30T03:39:13+00:00",
    command: "commit",
    plan: null,
    result: {},
    pre: {},
    undoes: null,
    undoneBy: null,
    status: "done",
    parent: null,
    progress: [],
    vcsCommitGone: false,
    acknowledged: false,
    summary: "pinned code",
  };
  const ops = [
    op,
    { ...op, command: "new", status: "started" as const, summary: "" },
    { ...op, undoneBy: "aaaaaaaaaaaa", vcsCommitGone: true, parent: "bbbbbbbbbbbb" },
    { ...op, vcsCommitGone: true, acknowledged: true },
  ];
  assert.deepEqual(texts(opsLines(report({ ops }))), [
    "7b5b7353d43f  2026-11-30T03:39:13+00:00  commit    pinned code",
    "7b5b7353d43f  2026-11-30T03:39:13+00:00  new  (INCOMPLETE: interrupted, or still running)",
    "7b5b7353d43f  2026-11-30T03:39:13+00:00  commit    pinned code  (undone by aaaaaaaaaaaa)  (vcs commit gone)  (step of bbbbbbbbbbbb)",
    "7b5b7353d43f  2026-11-30T03:39:13+00:00  commit    pinned code  (vcs commit gone, acknowledged)",
  ]);
  assert.deepEqual(texts(opsLines(report({ ops: [] }))), ["no operations recorded"]);
});

Deno.test("[commands 5.1, 5.2, 5.3, 5.5, 5.7] the remaining views", () => {
  assert.deepEqual(texts(initLines(report({ root: "/lab", datasetId: "0a1b2c3d", trunk: "main", warnings: [] }))), [
    "dataset id 0a1b2c3d, at /lab, trunk bookmark main",
    "its pins are named tether.0a1b2c3d.*, its working branches tether.ws.0a1b2c3d.*",
  ]);
  const added = {
    key: "code",
    kind: "git",
    locator: {},
    policy: { file: "immutable", pin: "native" } as const,
    at: "v1",
    created: false,
    derivedKey: true,
    warnings: [],
    notes: [],
  };
  assert.deepEqual(texts(addLines(report(added))), ["added code (git, key from the locator) at v1"]);
  assert.deepEqual(texts(addLines(report({ ...added, at: null, derivedKey: false, created: true }))), [
    "added code (git, created)",
  ]);
  const kinds = [
    {
      kind: "git",
      installed: true,
      maturity: "stable",
      tier: "forkable" as const,
      capabilities: ["pin", "fork"],
      note: null,
    },
    {
      kind: "lance",
      installed: false,
      maturity: "stable",
      tier: null,
      capabilities: [],
      note: "no addon",
    },
  ];
  assert.deepEqual(texts(backendLines(report({ kinds }))), [
    "git    stable  forkable       pin, fork",
    "lance  stable  not installed  (no addon)",
  ]);
  const changed = { changed: { a: { pin: { from: "native", to: "record" } } }, unchanged: ["b"] };
  const lines = setLines(report(changed));
  assert.deepEqual(texts(lines), ["set a  pin native -> record", "unchanged b"]);
  assert.deepEqual(texts(lines, "err"), ["hint: tether commit -m MESSAGE records the policy"]);
  assert.deepEqual(
    texts(snapshotLines(report({ states: { a: { sha: "0123456789abcdef01", dirty: false } }, warnings: [] }))),
    [
      "  a: sha=0123456789abcdef… dirty=false",
    ],
  );
});

Deno.test("[commands 5.2] add tells key and locator apart", () => {
  const place = (kind: string, args: [string?, string?], fields = {}) => {
    const { key, locator } = placeOf([args[0], args[1]], { kind, fields });
    return [key, locator];
  };
  assert.deepEqual(place("git", ["../code"]), [undefined, { uri: "../code" }]);
  assert.deepEqual(place("git", ["k", "../code"], { branch: "b" }), ["k", { uri: "../code", branch: "b" }]);
  assert.deepEqual(place("neon", ["db"], { project_id: "p" }), ["db", { project_id: "p" }]);
  assert.deepEqual(place("file", ["k"], { path: "/x" }), ["k", { path: "/x" }]);
  assert.deepEqual(place("file", [], { uri: "/x" }), [undefined, { uri: "/x" }]);
  assert.throws(() => place("file", []), /without a key or a locator/);
  assert.throws(() => place("neon", [], { uri: "x" }), /without a key or a locator/);
  assert.throws(() => place("file", ["k", "/x"], { uri: "/y" }), /--set gives another uri/);
});
