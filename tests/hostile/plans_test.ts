import assert from "node:assert/strict";
import { sha256 } from "../../engine/model/hash.ts";
import { type Json, type JsonObject, writeJson } from "../../engine/model/json.ts";
import { type Lab, lab } from "../cli/_tether.ts";
import { assertUnchanged, everything } from "../helpers/evidence.ts";
import { inProcess } from "./_cli.ts";

const BRANCH = "tether.ws.0a1b2c3d.y";

/** A dataset on bookmark `y` whose branch of `code` is committed, and upstream has gone on. */
async function ready(): Promise<Lab> {
  const l = await lab({ init: true });
  await l.ok(["add", "../code", "--kind", "git"]);
  await l.ok(["add", "plate", "../plate", "--kind", "file"]);
  await l.ok(["commit", "-m", "Baseline"]);
  await l.ok(["new", "-b", "y"]);
  await l.ok(["open", "code"]);
  await writeOnBranch(l, "one");
  await l.ok(["commit", "-m", "On the branch"]);
  return l;
}

async function writeOnBranch(l: Lab, message: string): Promise<void> {
  const code = { cwd: l.beside("code") };
  const made = await l.repo.git(["commit-tree", `${BRANCH}^{tree}`, "-p", BRANCH, "-m", message], code);
  await l.repo.git(["update-ref", `refs/heads/${BRANCH}`, made], code);
}

/** A command line that saves a plan, by the command. */
const MAKE: Readonly<Record<string, readonly string[]>> = {
  new: ["new", "-b", "z", "--eager"],
  restore: ["restore", "code", "--from", "main", "--discard"],
  promote: ["promote"],
  repair: ["repair"],
  gc: ["gc"],
  drop: ["drop", "y"],
  "forget-workspace": ["forget-workspace"],
  upgrade: ["upgrade"],
  commit: ["commit", "-m", "x"],
};

/** The digest a plan's file needs, as an attacker computes it. */
function signed(file: JsonObject): JsonObject {
  const { digest: _, ...body } = file;
  return { ...body, digest: sha256(writeJson(body, { sortKeys: true, ascii: true })) };
}

type Spoil = (file: JsonObject, text: string) => string | JsonObject;

const without = (field: string): Spoil => (file) =>
  signed(Object.fromEntries(Object.entries(file).filter(([k]) => k !== field)));

/** What may have happened to a plan's file, and what the refusal says. */
const SPOILED: Readonly<Record<string, readonly [Spoil, RegExp]>> = {
  "empty": [() => "", /it is not JSON/],
  "cut off": [(_, text) => text.slice(0, text.length >> 1), /it is not JSON/],
  "binary": [() => "\u0000\u0001\ufffd", /it is not JSON/],
  "a list": [() => "[]", /the plan is not an object/],
  "deep": [
    (_, text) => text.replace('"context": {', `"context": {"x": ${"[".repeat(3000)}${"]".repeat(3000)},`),
    /nested/,
  ],
  "deeper": [() => "[".repeat(2_000_000), /it is not JSON/],
  "huge": [(_, text) => text + " ".repeat(30 * 1024 * 1024) + "x", /it is not JSON/],
  "of the peer": [(file) => signed({ ...file, tether_version: "0.1.0b7" }), /tether 0\.1\.0b7 made it/],
  "of no version": [without("tether_version"), /an older tether made it/],
  "of a future version": [(file) => signed({ ...file, tether_version: "deno-99.0.0" }), /tether deno-99\.0\.0 made it/],
  "of a future format": [(file) => signed({ ...file, format: 4 }), /its format is 4/],
  "of no format": [without("format"), /its format is /],
  "with a field more": [(file) => signed({ ...file, run: "evil" }), /unknown field "run"/],
  "without notes": [without("notes"), /lacks the field "notes"/],
  "without a digest": [(file) => ({ ...file, digest: "" }), /it was edited|lacks the field "digest"/],
  "edited": [(file) => ({ ...file, created_at: "2020-01-01T00:00:00+00:00" }), /it was edited/],
  "with another action": [
    (file) => ({
      ...file,
      actions: [...file["actions"] as Json[], {
        op: "unpin",
        key: "code",
        kind: "git",
        target: "x",
        detail: "",
        params: {},
      }],
    }),
    /it was edited/,
  ],
  "with actions that are no list": [(file) => signed({ ...file, actions: {} }), /actions is not a list/],
  "with a number for a key": [
    (file) => signed({ ...file, actions: [{ op: "pin", key: 7, kind: "git", target: "", detail: "", params: {} }] }),
    /actions\.key is not text/,
  ],
  "of a command that has none": [(file) => signed({ ...file, command: "status" }), /it is a plan for "?status/],
  "of another command": [
    (file) => signed({ ...file, command: file["command"] === "gc" ? "commit" : "gc" }),
    /it is a plan for "?(gc|commit)/,
  ],
};

/** What may be done to plans of commands that rest on something. */
const UNSAFE: Readonly<Record<string, readonly [Spoil, RegExp]>> = {
  "without preconditions": [(file) => signed({ ...file, preconditions: [] }), /it lacks the precondition/],
  "of another checkout": [(file) => replaced(file, "workspace_id", "0".repeat(32)), /made in another checkout/],
  "with a precondition nobody knows": [
    (file) =>
      signed({
        ...file,
        preconditions: [
          { kind: "moon", expected: "full", key: null, params: {}, detail: "Cannot apply the plan: there is no moon" },
          ...file["preconditions"] as Json[],
        ],
      }),
    /moon/,
  ],
};

function replaced(file: JsonObject, kind: string, expected: Json): JsonObject {
  const preconditions = (file["preconditions"] as JsonObject[]).map((p) => p["kind"] === kind ? { ...p, expected } : p);
  return signed({ ...file, preconditions });
}

Deno.test("[L42, commands 3.1] a plan that is not as it was made is refused by every command, before any store is read", async (t) => {
  await using l = await ready();
  const plans = l.beside("plans");
  await Deno.mkdir(plans);
  const refused = async (args: readonly string[], message: RegExp, what: string): Promise<void> => {
    const { code, stdout, stderr } = await inProcess(l.repo.path, args);
    assert.deepEqual([code, stdout], [1, ""], `${what}: ${args.join(" ")}: ${stderr}`);
    assert.match(
      stderr,
      /^error: Cannot [^\n]*[^.\n]\n( {2}[^\n]*\n)*(hint: [^\n]+\n)+$/,
      `${what}: ${args.join(" ")}`,
    );
    assert.match(stderr, message, `${what}: ${args.join(" ")}`);
  };
  for (const [command, line] of Object.entries(MAKE)) {
    if (command === "commit") await writeOnBranch(l, "two");
    const saved = await inProcess(l.repo.path, [...line, "--plan", `${plans}/${command}.json`]);
    assert.equal(saved.code, 0, `${command}: ${saved.stderr}`);
  }
  // A store that is read now would be missed.
  await Deno.rename(l.beside("code"), l.beside("away"));
  const before = await everything(l.repo.path);
  for (const command of Object.keys(MAKE)) {
    await t.step(command, async () => {
      const text = await Deno.readTextFile(`${plans}/${command}.json`);
      const file = JSON.parse(text) as JsonObject;
      const bound = (file["preconditions"] as Json[]).length > 0;
      for (const [what, [spoil, message]] of Object.entries({ ...SPOILED, ...(bound ? UNSAFE : {}) })) {
        if (what === "of another checkout" && !text.includes("workspace_id")) continue;
        const bad = spoil(file, text);
        const path = `${plans}/bad.json`;
        await Deno.writeTextFile(path, typeof bad === "string" ? bad : writeJson(bad));
        await refused([command, "--from-plan", path], message, what);
        if (!/command/.test(what)) await refused(["plan", "check", path], message, what);
      }
      await refused([command, "--from-plan", `${plans}/none.json`], /Cannot read the plan ".*none\.json"/, "missing");
      await refused([command, "--from-plan", plans], /Cannot read the plan ".*plans"/, "a folder");
      for (const flags of [["--dry-run"], ["--plan", "x.json"]]) {
        const { code } = await inProcess(l.repo.path, [command, "--from-plan", `${plans}/${command}.json`, ...flags]);
        assert.notEqual(code, 0, `--from-plan with ${flags[0]}`);
      }
    });
  }
  await assertUnchanged(l.repo.path, before, "a refused plan changed something");
  await Deno.rename(l.beside("away"), l.beside("code"));
  assert.equal((await inProcess(l.repo.path, ["commit", "--from-plan", `${plans}/commit.json`])).code, 0);
});

Deno.test("[commands 3.2] a plan is refused in another checkout and in another dataset, and once the world went on", async () => {
  await using l = await ready();
  const file = l.beside("p.json");
  await writeOnBranch(l, "two");
  await l.ok(["commit", "-m", "x", "--plan", file]);
  const worktree = await l.repo.worktree("b");
  const clone = l.beside("clone");
  await l.repo.git(["clone", "--quiet", "--branch", "y", l.repo.path, clone]);
  await using other = await ready();
  for (const cwd of [worktree, clone, other.repo.path]) {
    assert.equal((await inProcess(cwd, ["new", "--keep"])).code, 0);
    const before = await everything(cwd);
    for (const args of [["commit", "--from-plan", file], ["plan", "check", file]]) {
      const { code, stdout, stderr } = await inProcess(cwd, args);
      assert.deepEqual([code, stdout], [1, ""], `${cwd}: ${args.join(" ")}: ${stderr}`);
      assert.match(stderr, /^error: Cannot apply the plan: it was made in another checkout.*\nhint: /, cwd);
    }
    await assertUnchanged(cwd, before, "a foreign plan changed something");
  }
  await writeOnBranch(l, "three");
  const { code, stderr } = await inProcess(l.repo.path, ["commit", "--from-plan", file]);
  assert.deepEqual([code, /^error: Cannot apply the plan: "code" .* moved since it was made\nhint: /.test(stderr)], [
    1,
    true,
  ], stderr);
});
