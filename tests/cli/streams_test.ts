import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { lab, spawnTether } from "./_tether.ts";

Deno.test("[commands 1.2] --json: one document on success, nothing on a refusal, in every command", async () => {
  await using l = await lab({ init: true });
  await l.ok(["add", "../code", "--kind", "git"]);
  const good: [args: string[], check: (json: unknown) => void][] = [
    [["add", "raw", "../plate", "--kind", "file"], (j) => assert.equal((j as { key: string }).key, "raw")],
    [
      ["status"],
      (j) => assert.deepEqual((j as { objects: { key: string }[] }).objects.map((o) => o.key), ["code", "raw"]),
    ],
    [["snapshot"], (j) => assert.deepEqual(Object.keys(j as object), ["code", "raw"])],
    [
      ["commit", "-m", "x"],
      (j) =>
        assert.deepEqual(Object.keys(j as object).slice(0, 4), ["vcs_commit", "pinned", "unrecoverable", "unchanged"]),
    ],
    [
      ["set", "raw", "--file", "versioned"],
      (j) => assert.deepEqual(j, { changed: { raw: { file: { from: "immutable", to: "versioned" } } }, unchanged: [] }),
    ],
    [["verify"], (j) => assert.equal((j as { code: { status: string } }).code.status, "ok")],
    [["diff"], (j) => assert.deepEqual((j as { change: string }[]).map((e) => e.change), ["unchanged", "changed"])],
    [["log", "code"], (j) => assert.equal((j as unknown[]).length, 1)],
    [
      ["ops"],
      (j) => assert.deepEqual((j as { command: string }[]).map((o) => o.command), ["set", "commit", "add", "add"]),
    ],
    [["new", "-b", "y"], (j) => assert.equal((j as { bookmark: string }).bookmark, "y")],
    [["open", "code"], (j) => assert.equal((j as { type: string }).type, "GitHandle")],
    [["backends"], (j) => assert.ok((j as { kind: string }[]).some((k) => k.kind === "git"))],
    [["permissions"], (j) => assert.deepEqual((j as { ambient: string[] }).ambient, ["code"])],
    [["remove", "raw"], (j) => assert.deepEqual(j, { removed: "raw" })],
    [["root"], (j) => assert.deepEqual(j, { root: l.repo.path })],
  ];
  for (const [args, check] of good) check(await l.json(args));
  const bad = [
    ["init"],
    ["add", "code", "../code", "--kind", "git"],
    ["remove", "nope"],
    ["set", "nope", "--pin", "record"],
    ["status", "nope"],
    ["snapshot", "nope/"],
    ["commit", "nope", "-m", "x"],
    ["new", "nope"],
    ["open", "nope"],
    ["verify", "-r", "nope"],
    ["diff", "nope"],
    ["log", "nope"],
    ["permissions", "nope"],
  ];
  for (const args of bad) {
    const { code, stdout, stderr } = await l.tether([...args, "--json"]);
    assert.deepEqual([code, stdout], [1, ""], args.join(" "));
    assert.match(stderr, /^error: Cannot [^\n]*[^.\n]\n/);
  }
});

Deno.test("[L36] a reader that goes away ends the output, not the work", async () => {
  await using l = await lab({ init: true });
  await l.ok(["add", "../code", "--kind", "git"]);
  const child = spawnTether(["commit", "-m", "Baseline"], { cwd: l.repo.path });
  await child.stdout.cancel();
  const stderr = new Response(child.stderr).text();
  assert.equal((await child.status).code, 0);
  assert.equal(await stderr, "");
  const [last] = await l.json(["ops"]) as { command: string; status: string }[];
  assert.deepEqual([last?.command, last?.status], ["commit", "done"]);
  assert.equal(await l.repo.git(["log", "-1", "--format=%s"]), "Baseline");
});

Deno.test("[L36, commands 1.3] output that cannot be written is said so, and what a command did is told on standard error", async () => {
  await using l = await lab({ init: true });
  await l.ok(["add", "../code", "--kind", "git"]);
  const full = async (args: readonly string[]) =>
    await l.tether(args, { through: ["sh", "-c", 'exec "$@" > /dev/full', "sh"] });
  for (const json of [[], ["--json"]]) {
    await l.advance("more");
    const { code, stderr } = await full(["commit", "-m", "Landed", ...json]);
    assert.equal(code, 1);
    const id = (await l.repo.git(["rev-parse", "HEAD"])).slice(0, 12);
    assert.match(
      stderr,
      new RegExp(
        `^ {2}pinned code -> .*\\ncommitted ${id}\\n` +
          "error: Cannot write the output: .*; what the command did stands\\nhint: tether ops\\n$",
      ),
    );
  }
  const { code, stderr } = await full(["ops"]);
  assert.equal(code, 1);
  assert.match(stderr, /^error: Cannot write the output: [^\n]*\n$/);
  await l.advance("once more");
  const deaf = ["sh", "-c", 'exec "$@" 2> /dev/full', "sh"];
  assert.match(await l.ok(["commit", "-m", "Heard by nobody"], { through: deaf }), /\ncommitted /);
});

Deno.test("[commands 1.3, L37] an interrupt ends a command that waits, with 130 and nothing written", async () => {
  await using l = await lab({ init: true });
  await l.ok(["add", "../code", "--kind", "git"]);
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    using lock = await Deno.open(`${l.repo.path}/.tether/lock`, { read: true, write: true, create: true });
    await lock.lock(true);
    const child = spawnTether(["commit", "-m", "never"], { cwd: l.repo.path });
    await untilListening(child.pid);
    child.kill(signal);
    const { code, signal: killed, stdout, stderr } = await child.output();
    assert.deepEqual([code, killed, new TextDecoder().decode(stdout)], [130, null, ""]);
    assert.match(new TextDecoder().decode(stderr), /^error: [^\n]*\n(hint: [^\n]*\n)*$/);
  }
  const ops = await l.json(["ops"]) as { command: string }[];
  assert.deepEqual(ops.map((o) => o.command), ["add"]);
});

/**
 * Waits until a process has started a child, its object reader: by then it handles SIGINT and SIGTERM itself. That the
 * runtime catches a signal says less, since it may do so before the program asks for it.
 */
async function untilListening(pid: number): Promise<void> {
  for (;;) {
    for await (const task of Deno.readDir(`/proc/${pid}/task`)) {
      const children = await Deno.readTextFile(`/proc/${pid}/task/${task.name}/children`).catch(() => "");
      if (children.trim() !== "") return;
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

Deno.test("[commands 1.2] colour goes where it is asked for, and only there", async () => {
  await using l = await lab();
  const red = "\x1b[31merror: ";
  const plain = await l.tether(["status"]);
  assert.ok(plain.stderr.startsWith("error: "));
  assert.ok((await l.tether(["status", "--color", "always"])).stderr.startsWith(red));
  assert.ok((await l.tether(["status"], { env: { CLICOLOR_FORCE: "1" } })).stderr.startsWith(red));
  const both = await l.tether(["status"], { env: { CLICOLOR_FORCE: "1", NO_COLOR: "1" } });
  assert.equal(both.stderr, plain.stderr);
});

Deno.test("[L38] without permissions nothing is asked, and the flag that is missing is named", async () => {
  await using l = await lab({ init: true });
  for (const [flags, hint] of [[[], /--allow-read=/], [["--allow-read"], /--allow-run|--allow-env/]] as const) {
    const { code, stdout, stderr } = await l.tether(["status"], { flags });
    assert.deepEqual([code, stdout], [1, ""]);
    assert.match(stderr, /^error: Cannot /);
    assert.match(stderr, hint);
  }
});

Deno.test("[commands 1.3] a stack trace appears with TETHER_DEBUG=1 only", async () => {
  await using l = await lab();
  assert.doesNotMatch((await l.tether(["status"])).stderr, /\n\s+at /);
  assert.match((await l.tether(["status"], { env: { TETHER_DEBUG: "1" } })).stderr, /\n\s+at .*context\.ts/);
});

Deno.test("[Δ8] what a library logs goes to standard error, and a stray failure is one line", async () => {
  const script = `
    import { runProcess } from "${new URL("../../cli/process.ts", import.meta.url)}";
    import { streamOf } from "${new URL("../../cli/stream.ts", import.meta.url)}";
    const code = await runProcess(["completions", "bash", "--json"], streamOf(Deno.stdout));
    console.log("noise");
    console.table([1]);
    if (code === 0) Promise.reject(new TypeError("stray\\nfailure"));
  `;
  const file = await Deno.makeTempFile({ suffix: ".ts" });
  try {
    await Deno.writeTextFile(file, script);
    const output = await new Deno.Command(Deno.execPath(), {
      args: ["run", "--quiet", "-A", "--config", fileURLToPath(new URL("../../deno.json", import.meta.url)), file],
    }).output();
    const [stdout, stderr] = [output.stdout, output.stderr].map((b) => new TextDecoder().decode(b));
    assert.equal(output.code, 1);
    assert.equal(JSON.parse(stdout ?? "").shell, "bash");
    assert.match(stderr ?? "", /^noise\n/);
    assert.match(stderr ?? "", /\nerror: Unexpected failure: stray\nhint: TETHER_DEBUG=1 shows where it happened\n$/);
  } finally {
    await Deno.remove(file);
  }
});
