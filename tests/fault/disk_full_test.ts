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

/** A hook that lets neither tether nor its git write another byte, as when somebody else fills the disk meanwhile. */
const FULL_FROM_HERE = `#!/bin/sh
read -r _ _ _ tether _ < /proc/$PPID/stat
prlimit --pid $tether --fsize=0:0
prlimit --pid $PPID --fsize=0:0
`;

Deno.test("[L37, L43] a disk that fills up at the git commit and stays full: files and index as before, and status says so", async (t) => {
  for (const own of [true, false]) {
    await t.step(own ? "the index is not to be written any more" : "the hook refuses besides", async () => {
      await using l = await ready();
      await l.ok(["new", "main"]);
      await l.ok(["add", "more", "../plate", "--kind", "file"]);
      await l.advance("second");
      await l.ok(["status", "--snapshot"]);
      const status = async () => (await l.ok(["status"])).replace(/as read \d+s ago/, "as read");
      const shown = await status();
      assert.match(shown, /modified +code /);
      const paths = ["more", "code"].map((key) => `${l.repo.path}/.tether/objects/${key}.toml`);
      const texts = async () => await Promise.all(paths.map((path) => Deno.readTextFile(path)));
      const [before, staged] = [await texts(), await l.repo.git(["diff", "--cached", "--raw"])];
      const hook = await l.repo.write(".git/hooks/pre-commit", FULL_FROM_HERE + (own ? "" : "exit 1\n"));
      await Deno.chmod(hook, 0o755);
      const { code, stdout, stderr } = await l.tether(["commit", "-m", "Full"], { through: filesUpTo(1024 * 1024) });
      assert.deepEqual([code, stdout], [1, ""], stderr);
      assert.match(stderr, /^error: Cannot commit the dataset: /);
      assert.doesNotMatch(stderr, /Unexpected failure/);
      await Deno.remove(hook);
      assert.deepEqual(await texts(), before);
      assert.equal(await l.repo.git(["diff", "--cached", "--raw"]), staged);
      assert.equal(await status(), shown);
      assert.match(await l.ok(["commit", "-m", "Whole"]), /^ {2}pinned code -> .*\n(.*\n)*committed /);
      await l.ok(["verify"]);
    });
  }
});

Deno.test("[L37] a status inside a hook of the commit sees what is recorded as recorded", async () => {
  await using l = await ready();
  await l.ok(["new", "main"]);
  await l.advance("second");
  await l.ok(["status", "--snapshot"]);
  const run = [Deno.execPath(), "run", "-A", "--quiet", new URL("../../main.ts", import.meta.url).pathname, "status"];
  for (const name of ["pre-commit", "post-commit"]) {
    const hook = await l.repo.write(`.git/hooks/${name}`, `#!/bin/sh\n${run.join(" ")} > '${l.beside(name)}'\n`);
    await Deno.chmod(hook, 0o755);
  }
  await l.ok(["commit", "-m", "Second"]);
  for (const name of ["pre-commit", "post-commit"]) {
    const text = await Deno.readTextFile(l.beside(name));
    assert.match(text, /^ *clean +code /m, name);
    assert.doesNotMatch(text, /modified|recorded .* now/);
  }
});
