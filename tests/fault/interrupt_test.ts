import assert from "node:assert/strict";
import { Dataset } from "../../engine/dataset.ts";
import { REAL_ENV } from "../../engine/env.ts";
import { assertUnchanged, everything } from "../helpers/evidence.ts";
import { IN_A_GROUP } from "../helpers/powers.ts";
import { type Lab, lab, spawnTether } from "../cli/_tether.ts";
import { type Scene, scene } from "./_scene.ts";

/** One interrupted call: what it is, and whether an interrupt at a boundary may still end it with everything taken back. */
interface Case {
  readonly run: (ds: Dataset, signal: AbortSignal) => Promise<unknown>;
  /** Boundaries before which everything is taken back; from the others on the call ends as if nobody had interrupted it. */
  readonly undone: readonly string[];
  readonly finished: readonly string[];
}

const CASES: Readonly<Record<string, Case>> = {
  commit: {
    run: (ds, signal) => ds.commit({ message: "Interrupted", signal }),
    undone: ["journal", "pin code", "manifests", "listings"],
    finished: ["vcs-commit", "done"],
  },
  "new --eager": {
    run: (ds, signal) => ds.new({ bookmark: "y", eager: true, signal }),
    undone: [],
    finished: ["journal", "vcs", "workspace", "fork code", "done"],
  },
};

async function interrupted(s: Scene, run: Case["run"], at: string): Promise<{ readonly aborted: boolean }> {
  const controller = new AbortController();
  const boundary = (step: string): void => {
    if (step === at) controller.abort();
  };
  await using ds = await Dataset.open(s.root, { env: { ...REAL_ENV, boundary } });
  try {
    await run(ds, controller.signal);
    return { aborted: false };
  } catch (error) {
    assert.ok(error instanceof DOMException && error.name === "AbortError", String(error));
    return { aborted: true };
  } finally {
    assert.ok(controller.signal.aborted, `no boundary "${at}" was passed`);
  }
}

Deno.test("[L37] an interrupt between two writes takes a commit back or lets it finish, and is journaled either way", async (t) => {
  await using s = await scene(["code", "plate"]);
  await s.with((ds) => ds.add({ key: "raw", kind: "file", locator: { uri: `${s.repo.outer}/plate` } }));
  await s.write();
  await s.remember();
  for (const [name, c] of Object.entries(CASES)) {
    for (const at of [...c.undone, ...c.finished]) {
      await t.step(`${name}, at "${at}"`, async () => {
        await s.rewind();
        const before = await everything(s.repo.outer);
        const { aborted } = await interrupted(s, c.run, at);
        const [entry] = (await s.with((ds) => ds.ops())).ops;
        assert.equal(entry?.status, "done");
        if (c.undone.includes(at)) {
          assert.ok(aborted);
          const journal = `${s.root}/.tether/ops.jsonl`;
          const index = `${s.root}/.git/tether-pinned.jsonl`;
          const same = new Map(before);
          for (const path of [journal, index]) same.set(path, await Deno.readTextFile(path));
          await assertUnchanged(s.repo.outer, same, `${name} at ${at}`);
        }
        await s.with((ds) => ds.commit({ message: "After" }));
        const { entries } = await s.with(async (ds) => await ds.verify({ allHistory: true, deep: true }));
        assert.deepEqual(entries.filter((e) => e.status !== "ok"), []);
        assert.deepEqual((await s.with((ds) => ds.gc({ releaseForeign: true }))).actions, []);
      });
    }
  }
});

/** Prepares a commit of something new that a hook holds up. Returns the hook's path. */
async function hold(l: Lab, script: string): Promise<string> {
  await l.ok(["add", "../code", "--kind", "git"]);
  await l.ok(["commit", "-m", "Baseline"]);
  await l.advance("second");
  const hook = await l.repo.write(".git/hooks/pre-commit", `#!/bin/sh\n${script}\n`);
  await Deno.chmod(hook, 0o755);
  return hook;
}

Deno.test("[L37, commands 1.3] Ctrl-C while git runs a hook: exit 130, the commit taken back, the hook ended", async () => {
  await using l = await lab({ init: true });
  const hook = await hold(l, `echo $$ > '${l.beside("pid")}'\nexec sleep 60`);
  const before = await everything(l.repo.outer);
  const child = spawnTether(["commit", "-m", "Never"], { cwd: l.repo.path, through: IN_A_GROUP });
  const pid = await firstLine(l.beside("pid"));
  // As a terminal does: every process of the group hears of it.
  const group = (await Deno.readTextFile(`/proc/${pid}/stat`)).split(" ")[4];
  await new Deno.Command("kill", { args: ["-INT", "--", `-${group}`] }).output();
  const { code, stdout, stderr } = await child.output();
  assert.deepEqual([code, new TextDecoder().decode(stdout)], [130, ""]);
  assert.match(new TextDecoder().decode(stderr), /^error: /);
  // Ended, though whoever inherited it may not have collected it yet.
  assert.match(await Deno.readTextFile(`/proc/${pid}/stat`).catch(() => "gone"), /^gone$|^\d+ \(sleep\) Z /);
  await Deno.remove(l.beside("pid"));
  const journal = `${l.repo.path}/.tether/ops.jsonl`;
  const index = `${l.repo.path}/.git/tether-pinned.jsonl`;
  const same = new Map(before);
  for (const path of [journal, index]) same.set(path, await Deno.readTextFile(path));
  await assertUnchanged(l.repo.outer, same, "what was begun is taken back");
  await Deno.remove(hook);
  assert.match(await l.ok(["commit", "-m", "Then"]), /^ {2}pinned code -> /);
});

Deno.test("[L37, commands 1.3] a second interrupt ends git and its hook: nothing lands later, no lock stays, and it is said", async () => {
  await using l = await lab({ init: true });
  const hook = await hold(l, `echo "$$ $PPID" > '${l.beside("pid")}'\nsleep 60`);
  const head = await l.repo.git(["rev-parse", "HEAD"]);
  const child = spawnTether(["commit", "-m", "Never"], { cwd: l.repo.path });
  const pids = (await firstLine(l.beside("pid"))).split(" ");
  // Only tether hears of them; two of one kind could be delivered as one.
  child.kill("SIGINT");
  child.kill("SIGTERM");
  const { code, stdout, stderr } = await child.output();
  assert.deepEqual([code, new TextDecoder().decode(stdout)], [130, ""]);
  assert.match(new TextDecoder().decode(stderr), /^error: /m);
  assert.equal(pids.length, 2);
  for (const pid of pids) {
    assert.match(await Deno.readTextFile(`/proc/${pid}/stat`).catch(() => "gone"), /^gone$|^\d+ \(.*\) Z /);
  }
  await Deno.remove(hook);
  assert.equal(await l.repo.git(["rev-parse", "HEAD"]), head);
  await assert.rejects(Deno.lstat(`${l.repo.path}/.git/index.lock`), Deno.errors.NotFound);
  assert.match(await l.ok(["commit", "-m", "Then"]), /^ {2}pinned code -> /);
  const ops = await l.json(["ops"]) as { status: string }[];
  assert.deepEqual(ops.filter((o) => o.status !== "done"), []);
});

Deno.test("[L27, L16] a tether in a hook of the commit does not wait for what waits for it", async () => {
  await using l = await lab({ init: true });
  await l.ok(["add", "../code", "--kind", "git"]);
  const run = [Deno.execPath(), "run", "-A", "--quiet", new URL("../../main.ts", import.meta.url).pathname];
  const hook = await l.repo.write(
    ".git/hooks/post-commit",
    `#!/bin/sh\n${run.join(" ")} commit -m Inner > '${l.beside("said")}' 2>&1\n`,
  );
  await Deno.chmod(hook, 0o755);
  await l.ok(["commit", "-m", "Outer"]);
  assert.match(
    await Deno.readTextFile(l.beside("said")),
    /^error: Cannot lock ".*": this runs in a hook of the tether that holds it: process \d+ on host .* running "commit"/,
  );
});

/** Waits for a file's first line. */
async function firstLine(path: string): Promise<string> {
  for (let i = 0; i < 400; i++) {
    const text = await Deno.readTextFile(path).catch(() => "");
    if (text.endsWith("\n")) return text.trim();
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`"${path}" never appeared`);
}

Deno.test("[L37, commands 1.3] one interrupt ends every command that still waits to read its plan", async (t) => {
  await using l = await lab({ init: true });
  await l.ok(["add", "../code", "--kind", "git"]);
  await l.ok(["commit", "-m", "Baseline"]);
  const before = await everything(l.repo.outer);
  const pipe = l.beside("pipe");
  const waits: readonly (readonly string[])[] = [
    ["commit", "-m", "x", "--from-plan", pipe],
    ["new", "--from-plan", pipe],
    ["gc", "--no-dry-run", "--from-plan", pipe],
    ["plan", "show", pipe],
  ];
  for (const [index, args] of waits.entries()) {
    const signal = index % 2 === 0 ? "SIGINT" : "SIGTERM";
    await t.step(`${args.slice(0, 2).join(" ")}, ${signal}`, async () => {
      assert.ok((await new Deno.Command("mkfifo", { args: [pipe] }).output()).success);
      const child = spawnTether(args, { cwd: l.repo.path });
      // Opening a pipe waits for who reads it: from here on tether waits for what never comes.
      const writer = await Deno.open(pipe, { write: true });
      child.kill(signal);
      const { code, stdout, stderr } = await child.output();
      assert.deepEqual(
        [code, new TextDecoder().decode(stdout), new TextDecoder().decode(stderr)],
        [130, "", "error: Interrupted\n"],
      );
      writer.close();
      await Deno.remove(pipe);
      await assertUnchanged(l.repo.outer, before, args.join(" "));
    });
  }
});
