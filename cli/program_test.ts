import assert from "node:assert/strict";
import { type CommandEntry, COMMANDS } from "./commands.ts";
import { buildProgram, completeCommand } from "./program.ts";
import { runIn, testContext, testWorld } from "./_test_world.ts";

/** Help texts that depend on the kinds there are; they are tested where the kinds are. */
const LOOKED_UP: ReadonlySet<string> = new Set(["add"]);

/** A text is its own snapshot, so a changed option shows in review. */
const AS_IS = { serializer: (text: string) => text };

Deno.test("[style 6] the help of every command, as it is printed", async (t) => {
  await t.step("overview", async (t) => {
    const { code, stdout, stderr } = await runIn(testWorld(), ["--help"]);
    assert.deepEqual([code, stderr], [0, ""]);
    await t.assertSnapshot(stdout, AS_IS);
  });
  for (const { name, group } of COMMANDS) {
    if (group === undefined) continue;
    await t.step(name, async (t) => {
      const short = await runIn(testWorld(), [name, "-h"]);
      assert.deepEqual([short.code, short.stderr], [0, ""]);
      await t.assertSnapshot(short.stdout, AS_IS);
      const long = await runIn(testWorld(), [name, "--help"]);
      assert.deepEqual([long.code, long.stderr], [0, ""]);
      const stable = LOOKED_UP.has(name) ? long.stdout.replace(/^Kinds: [^]*?\n\n/m, "Kinds: …\n\n") : long.stdout;
      await t.assertSnapshot(stable, AS_IS);
    });
  }
});

Deno.test("[style 6] summaries are imperative, short and without a full stop; no name is taken twice", () => {
  for (const { summary } of COMMANDS) {
    assert.ok(summary.length <= 60, summary);
    assert.match(summary, /^[A-Z].*[^.]$/);
  }
  assert.equal(new Set(COMMANDS.map((c) => c.name)).size, COMMANDS.length);
});

Deno.test("[commands 1.1, 1.3] mistakes in grammar: usage, one error line, a way out, exit 2", async () => {
  const cases: [args: string[], error: RegExp, hint: RegExp][] = [
    [["comit"], /^error: Unknown command "comit"$/m, /^hint: did you mean commit\?$/m],
    [["frobnicate"], /^error: Unknown command "frobnicate"$/m, /^hint: tether --help$/m],
    [["commit", "--bogus"], /^error: Unknown option "--bogus"$/m, /^hint: tether commit --help$/m],
    [["commit", "--mesage", "x"], /^error: Unknown option "--mesage"$/m, /^hint: did you mean --message\?$/m],
    [["commit", "--mess", "x"], /^error: Unknown option "--mess"$/m, /^hint: /m],
    [["commit", "-m"], /^error: Option "-m, --message <text>" argument missing$/m, /^hint: /m],
    [["open"], /^error: Missing required argument "key"$/m, /^hint: tether open --help$/m],
    [["remove", "a", "b"], /^error: Too many arguments for "remove"/m, /^hint: /m],
    [["add", "x"], /^error: Required option "--kind <kind>" not specified$/m, /^hint: /m],
    [["log", "k", "-n", "many"], /^error: Option "-n, --limit <count>" argument "many" is invalid/m, /^hint: /m],
    [["--bogus", "status"], /^error: Unknown option "--bogus"$/m, /^hint: tether --help$/m],
  ];
  for (const [args, error, hint] of cases) {
    const { code, stdout, stderr } = await runIn(testWorld(), args);
    assert.deepEqual([code, stdout], [2, ""], args.join(" "));
    assert.match(stderr, /^usage: tether /);
    assert.match(stderr, error);
    assert.match(stderr, hint);
    assert.equal(stderr.trimEnd().split("\n").length, 3, stderr);
  }
});

Deno.test("[commands 1.1] without a command the overview is on standard error, exit 2", async () => {
  for (const args of [[], ["--color", "never"], ["-C", "x"]]) {
    const { code, stdout, stderr } = await runIn(testWorld(), args);
    assert.deepEqual([code, stdout], [2, ""]);
    assert.match(stderr, /^Version control for datasets/);
  }
});

Deno.test("[commands 1.3, L42] what contradicts itself is refused before anything is read, exit 1", async () => {
  const cases: [args: string[], error: string][] = [
    [
      ["commit", "--from-plan", "p", "--plan", "q"],
      `Option "--from-plan <file>" cannot be used with option "--plan <file>"`,
    ],
    [["commit", "--from-plan", "p", "--dry-run"], `Option "--from-plan <file>" cannot be used with option "--dry-run"`],
    [["commit", "--from-plan", "p", "--strict"], `Option "--from-plan <file>" cannot be used with option "--strict"`],
    [["commit", "--from-plan", "p", "--no-vcs"], `Option "--from-plan <file>" cannot be used with option "--no-vcs"`],
    [["new", "--from-plan", "p", "--adopt"], `Option "--from-plan <file>" cannot be used with option "--adopt"`],
    [["new", "--eager", "--lazy"], `Option "--eager" cannot be used with option "--lazy"`],
    [["new", "--eager", "--defer-record"], `Option "--eager" cannot be used with option "--defer-record"`],
    [["new", "--keep", "--discard"], `Option "--keep" cannot be used with option "--discard"`],
    [["new", "--adopt", "--discard"], `Option "--adopt" cannot be used with option "--discard"`],
    [["new", "x", "--from-plan", "p"], "Cannot use a revision together with --from-plan: the plan has its own"],
    [["open", "k", "--read-only", "--writable"], `Option "--read-only" cannot be used with option "--writable"`],
    [["verify", "--all-history", "-r", "x"], `Option "--all-history" cannot be used with option "-r, --rev <rev>"`],
    [["add", "x", "--kind", "git", "--at", "v", "--pick"], `Option "--at <state>" cannot be used with option "--pick"`],
    [["add", "x", "--kind", "git", "--set", "novalue"], `Cannot use "novalue" for --set: it is not NAME=VALUE`],
    [["add", "x", "--kind", "git", "--pin", "nativ"], `Cannot use "nativ" for --pin: it is native or record`],
    [["commit"], "Cannot commit without a message"],
    [["set", "k"], "Cannot set a policy: neither --file nor --pin is given"],
    [["set", "--pin", "record"], "Cannot set a policy: no object is named"],
    [["set", "k", "--all", "--pin", "record"], "Cannot use --all together with keys"],
    [["log", "k", "--branch", "x"], "Cannot use --branch or --set without --kind: the object has its own locator"],
    [["root", "--color", "sometimes"], `Cannot use "sometimes" for --color: it is auto, always or never`],
    [["-C", "/missing", "root"], `Cannot run in "/missing": it is no folder that can be entered`],
  ];
  for (const [args, error] of cases) {
    for (const more of [[], ["--json"]]) {
      const { code, stdout, stderr } = await runIn(testWorld(), [...args, ...more]);
      assert.deepEqual([code, stdout], [1, ""], args.join(" "));
      assert.equal(stderr.split("\n")[0], `error: ${error}`);
    }
  }
});

Deno.test("[commands 1.1] help is a word too: what it prints is what --help prints", async () => {
  const run = (...args: string[]) => runIn(testWorld(), args);
  for (const before of [[], ["-C", "."]]) {
    assert.deepEqual(await run(...before, "help"), await run("--help"));
    assert.deepEqual(await run(...before, "help", "commit"), await run("commit", "--help"));
  }
  const unknown = await run("help", "nosuch");
  assert.deepEqual([unknown.code, unknown.stdout], [2, ""]);
  assert.match(unknown.stderr, /Unknown command "nosuch"/);
});

Deno.test("[L42] an empty or blank value is an error in every command", async () => {
  const cases = [
    ["commit", "-m", ""],
    ["commit", "-m", " ", "--no-vcs"],
    ["commit", "", "-m", "x"],
    ["open", ""],
    ["open", "k", "--rev", ""],
    ["open", "k", "--rev="],
    ["new", ""],
    ["new", "-b", "\t"],
    ["verify", "-r", " "],
    ["diff", "", "x"],
    ["diff", "--key", ""],
    ["log", "k", "--ref", ""],
    ["add", "", "--kind", "git"],
    ["add", "k", "--kind", ""],
    ["add", "k", "--kind", "git", "--at", ""],
    ["init", ""],
    ["-C", "", "root"],
    ["root", "-C", ""],
  ];
  for (const args of cases) {
    const { code, stdout, stderr } = await runIn(testWorld(), args);
    assert.deepEqual([code, stdout], [1, ""], JSON.stringify(args));
    assert.match(stderr, /^error: Cannot use an empty value for /);
  }
});

Deno.test("[commands 1.1] global options stand before the command or after it", async () => {
  for (const args of [["-C", "a", "completions", "bash", "-C", "b"], ["-Ca", "completions", "-Cb", "bash"]]) {
    const world = testWorld();
    const { code, stderr } = await runIn(world, args);
    assert.deepEqual([code, stderr], [0, ""]);
    assert.deepEqual(world.entered, ["a", "b"]);
  }
  const world = testWorld({ terminal: true });
  const { stderr } = await runIn(world, ["--color", "never", "set", "k"]);
  assert.match(stderr, /^error: Cannot set/);
  assert.ok((await runIn(testWorld(), ["set", "k", "--color=always"])).stderr.startsWith("\x1b[31merror: "));
});

Deno.test("[commands 1.1] what follows -- or belongs to an option is data", async () => {
  const cases: [args: string[], error: RegExp][] = [
    [["open", "--", "-C", "x"], /Too many arguments for "open"/],
    [["remove", "--", "--json", "--help"], /Too many arguments for "remove"/],
    [["commit", "-m", "--bogus", "--from-plan", "p", "--plan", "--json"], /cannot be used with option "--plan <file>"/],
  ];
  for (const [args, error] of cases) {
    const { stdout, stderr } = await runIn(testWorld(), args);
    assert.equal(stdout, "");
    assert.match(stderr, error);
  }
});

Deno.test("[commands 1.2] --json prints one document and nothing else", async () => {
  const { code, stdout, stderr } = await runIn(testWorld(), ["completions", "fish", "--json"]);
  assert.deepEqual([code, stderr], [0, ""]);
  const document = JSON.parse(stdout);
  assert.equal(document.shell, "fish");
  assert.equal(document.script, (await runIn(testWorld(), ["completions", "fish"])).stdout);
});

Deno.test("[commands 1.1] --version prints name and version, whatever stands beside it", async () => {
  for (const args of [["--version"], ["--version", "status"], ["-C", "x", "--version"]]) {
    const { code, stdout } = await runIn(testWorld(), args);
    assert.equal(code, 0);
    assert.match(stdout, /^tether \d+\.\d+\.\d+\n$/);
  }
});

Deno.test("[commands 1.1] an unknown command is a mistake, also when its help is asked for", async () => {
  for (
    const args of [["statsu"], ["statsu", "--help"], ["--help", "statsu"], ["-h", "statsu"], [
      "-C",
      "x",
      "statsu",
      "-h",
    ]]
  ) {
    const { code, stdout, stderr } = await runIn(testWorld(), args);
    assert.deepEqual([code, stdout], [2, ""], args.join(" "));
    assert.match(stderr, /\nerror: Unknown command "statsu"\nhint: did you mean status\?\n$/);
  }
});

Deno.test("[L42] no command takes an option together with its opposite", async (t) => {
  let pairs = 0;
  for (const entry of COMMANDS) {
    const command = await completed(entry);
    for (const negative of command.options.filter((o) => o.negate)) {
      const positive = command.options.find((o) => !o.negate && o.attributeName() === negative.attributeName());
      if (!positive) continue;
      pairs++;
      await t.step(`${entry.name} ${negative.long}`, async () => {
        for (const flags of [[positive.long, negative.long], [negative.long, positive.long]]) {
          const { code, stdout, stderr } = await runIn(testWorld(), [entry.name, ...flags.map(String)]);
          assert.deepEqual([code, stdout], [1, ""]);
          assert.match(stderr, new RegExp(`^error: Cannot use ${positive.long} together with ${negative.long}\n`));
        }
      });
    }
  }
  assert.ok(pairs >= 3);
});

async function completed(entry: CommandEntry): Promise<Parameters<typeof completeCommand>[0]> {
  const context = testContext();
  const command = buildProgram(context, { long: false }).commands.find((c) => c.name() === entry.name);
  assert.ok(command);
  await completeCommand(command as Parameters<typeof completeCommand>[0], { entry, context, long: false });
  return command as Parameters<typeof completeCommand>[0];
}
