import assert from "node:assert/strict";
import { assertUnchanged, everything } from "../helpers/evidence.ts";
import { filesUpTo } from "../helpers/powers.ts";
import { type Lab, lab } from "../cli/_tether.ts";

const ROOM = /\nhint: Make room on that disk, then run the command again\n$/;

/** Runs a command that finds no room, and expects that nothing has changed and that it says so. */
async function refuses(l: Lab, args: readonly string[], bytes: number): Promise<string> {
  const before = await everything(l.repo.outer);
  const { code, stdout, stderr } = await l.tether(args, { through: filesUpTo(bytes) });
  assert.deepEqual([code, stdout], [1, ""], `${args.join(" ")}: ${stderr}`);
  assert.match(stderr, /^error: Cannot .*\n/);
  assert.doesNotMatch(stderr, /Unexpected failure/);
  const after = await everything(l.repo.outer);
  // What the journal has more of is the failed operation, and a line that it tore.
  const journal = `${l.repo.path}/.tether/ops.jsonl`;
  assert.ok((after.get(journal) ?? "").startsWith(before.get(journal) ?? ""));
  await assertUnchanged(l.repo.outer, new Map([...before, [journal, after.get(journal) ?? ""]]), args.join(" "));
  return stderr;
}

/** Fills the journal up to a size with the steps of an operation of long ago. */
async function fillJournal(l: Lab, bytes: number): Promise<void> {
  const path = `${l.repo.path}/.tether/ops.jsonl`;
  const line = JSON.stringify({ progress: "000000000000", action: "pin", key: "x".repeat(200) }) + "\n";
  const missing = bytes - (await Deno.stat(path)).size;
  await Deno.writeTextFile(path, line.repeat(Math.ceil(missing / line.length)), { append: true });
}

const WRITING: readonly (readonly string[])[] = [
  ["add", "q", "../plate", "--kind", "file"],
  ["remove", "plate"],
  ["set", "--all", "--pin", "record"],
  ["commit", "-m", "Full"],
  ["new", "-b", "z", "--eager"],
  ["open", "code"],
  ["undo"],
  ["drop", "y", "--no-dry-run"],
];

async function ready(): Promise<Lab> {
  const l = await lab({ init: true });
  await l.ok(["add", "../code", "--kind", "git"]);
  await l.ok(["add", "plate", "../plate", "--kind", "file"]);
  await l.ok(["commit", "-m", "Baseline"]);
  await l.ok(["new", "-b", "y"]);
  await l.ok(["set", "plate", "--file", "versioned"]);
  return l;
}

Deno.test("[L37] on a full disk every writing command fails with a way out and leaves everything as it was", async (t) => {
  await using l = await ready();
  for (const args of [...WRITING, ["snapshot"]]) {
    await t.step(args.join(" "), async () => assert.match(await refuses(l, args, 0), ROOM));
  }
  await t.step("status --snapshot only does not remember", async () => {
    const { code, stderr } = await l.tether(["status", "--snapshot"], { through: filesUpTo(0) });
    assert.equal(code, 0);
    assert.match(stderr, /^warning: The states read are not remembered: Cannot write ".*workspace\.toml"/);
  });
  await t.step("with room again all of them work", async () => {
    for (const args of WRITING) await l.ok(args);
  });
});

Deno.test("[L37] a journal that can grow no further stops an operation before its first write, and takes an edit back", async (t) => {
  await using l = await ready();
  await fillJournal(l, 64 * 1024);
  for (const args of WRITING) {
    await t.step(args.join(" "), async () => assert.match(await refuses(l, args, 64 * 1024), ROOM));
  }
  await t.step("the torn line is survived", async () => {
    for (const args of WRITING) await l.ok(args);
    const commands = (await l.json(["ops"]) as { command: string }[]).map((o) => o.command);
    const missing = ["drop", "undo", "new", "commit", "set", "remove", "add"].filter((c) => !commands.includes(c));
    assert.deepEqual(missing, []);
  });
});

/** What a commit writes last is longer than there is room for. */
const LONG: Readonly<Record<string, (l: Lab) => Promise<void>>> = {
  "the index of pins": async (l) => {
    const other = JSON.stringify({ dataset_id: "ffffffff", pin_id: "x".repeat(200) }) + "\n";
    await Deno.writeTextFile(`${l.repo.path}/.git/tether-pinned.jsonl`, other.repeat(300), { append: true });
  },
  "a listing": async (l) => {
    await Deno.mkdir(l.beside("many"));
    for (let i = 0; i < 500; i++) await Deno.writeTextFile(l.beside(`many/${"n".repeat(100)}${i}`), "");
    await l.ok(["add", "many", "../many", "--kind", "file"]);
  },
  "git's own index": async (l) => {
    for (let i = 0; i < 400; i++) await l.repo.write(`${"n".repeat(150)}${i}`, "");
    await l.repo.git(["add", "--all", "."]);
  },
};

Deno.test("[L37, L43] a commit that finds no room half-way takes its pins and manifests back, and works once there is room", async (t) => {
  for (const [what, lengthen] of Object.entries(LONG)) {
    await t.step(what, async () => {
      await using l = await ready();
      await l.ok(["new", "main"]);
      await lengthen(l);
      await l.advance("second");
      const tags = () => l.repo.git(["tag", "--list"], { cwd: l.beside("code") });
      const before = await tags();
      await refuses(l, ["commit", "-m", "Half"], 48 * 1024);
      assert.equal(await tags(), before);
      const [failed] = await l.json(["ops"]) as { status: string; result: Record<string, unknown> }[];
      assert.deepEqual([failed?.status, failed?.result["rolled_back"]], ["done", true]);
      assert.match(await l.ok(["commit", "-m", "Whole"]), /^ {2}pinned code -> .*\n(.*\n)*committed /);
      assert.notEqual(await tags(), before);
      await l.ok(["verify"]);
    });
  }
});
