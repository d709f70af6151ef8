import assert from "node:assert/strict";
import fc from "fast-check";
import { BackendError } from "../engine/model/backend_errors.ts";
import { ConfigError } from "../engine/model/errors.ts";
import { MultiObjectError } from "../engine/model/multi_object_error.ts";
import { redactJson, registerSecret } from "../engine/model/redact.ts";
import { Float, type Json, parseJson } from "../engine/model/json.ts";
import { testWorld } from "./_test_world.ts";
import { parseConfig } from "../engine/files/config.ts";
import { errorLines } from "./errors.ts";
import { streamOf } from "./stream.ts";
import { printable, Ui, wantsColor } from "./ui.ts";

Deno.test("printable() leaves no character that moves the cursor, breaks the line or turns the text around", () => {
  assert.equal(printable("a\x1b[31mb\r\n\tc\u202ed"), "a\\x1b[31mb\\x0d\\x0a\\x09c\\u202ed");
  fc.assert(fc.property(fc.string({ unit: "binary" }), (text) => {
    assert.doesNotMatch(printable(text), /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/u);
  }));
});

Deno.test("[commands 1.2] wantsColor(): --color beats NO_COLOR beats CLICOLOR_FORCE beats the terminal", () => {
  const env = (vars: Record<string, string>) => (name: string) => vars[name];
  const cases: [
    choice: "auto" | "always" | "never",
    vars: Record<string, string>,
    terminal: boolean,
    color: boolean,
  ][] = [
    ["always", { NO_COLOR: "1" }, false, true],
    ["never", { CLICOLOR_FORCE: "1" }, true, false],
    ["auto", { NO_COLOR: "1", CLICOLOR_FORCE: "1" }, true, false],
    ["auto", { NO_COLOR: "", CLICOLOR_FORCE: "1" }, false, true],
    ["auto", { CLICOLOR_FORCE: "0" }, false, false],
    ["auto", {}, true, true],
    ["auto", {}, false, false],
    ["auto", { TERM: "dumb" }, true, false],
  ];
  for (const [choice, vars, terminal, color] of cases) {
    assert.equal(wantsColor(choice, { env: env(vars), terminal }), color, JSON.stringify([choice, vars, terminal]));
  }
});

Deno.test("[commands 1.3] errorLines() leaves the lines of what is to be pasted as they are", () => {
  assert.throws(() => parseConfig("[tether]\nversion = 5", "tether.toml"), (error) => {
    const texts = errorLines(error).map((l) => l.text);
    assert.match(texts.at(-3) ?? "", /^hint: .*tether\.toml:$/);
    const pasted = texts.slice(-2).map((text) => text.trim()).join("\n");
    assert.match(pasted, /^\[dataset\]\nid = "[0-9a-f]{8}"$/);
    return true;
  });
});

Deno.test("errorLines() prints one sentence and its hints, and a stack only when asked", () => {
  const refusal = new ConfigError('Cannot use "x"', { hints: ["tether status"] });
  assert.deepEqual(errorLines(refusal).map((l) => l.text), ['error: Cannot use "x"', "hint: tether status"]);
  assert.deepEqual(errorLines(new TypeError("x is not a function\n  at y")).map((l) => l.text), [
    "error: Unexpected failure: x is not a function",
    "hint: TETHER_DEBUG=1 shows where it happened",
  ]);
  const debug = errorLines(new ConfigError("Cannot", { cause: new Error("deep") }), { debug: true }).map((l) => l.text);
  assert.equal(debug[0], "error: Cannot");
  assert.ok(debug.some((l) => l.startsWith("ConfigError: Cannot")));
  assert.ok(debug.some((l) => l === "Error: deep"));
});

Deno.test("[L38] a permission that was not granted is named, with the flag that grants it", () => {
  const denied = (text: string) => errorLines(new Deno.errors.NotCapable(text)).map((l) => l.text);
  assert.deepEqual(denied('Requires read access to "/data/x y", run again with the --allow-read flag'), [
    'error: Cannot go on: read access to "/data/x y" was not granted',
    "hint: Run it with '--allow-read=/data/x y'",
  ]);
  assert.deepEqual(denied('Requires run access to "git", run again with the --allow-run flag'), [
    'error: Cannot go on: run access to "git" was not granted',
    "hint: Run it with --allow-run=git",
  ]);
  assert.deepEqual(denied("Requires env access, run again with the --allow-env flag"), [
    "error: Cannot go on: env access was not granted",
    "hint: Run it with --allow-env",
  ]);
  assert.deepEqual(denied("No"), ["error: Cannot go on: No"]);
});

Deno.test("errorLines() lists several failures once, in the order of their keys, with all their hints", () => {
  const failed = (key: string) => new BackendError("gone", { kind: "git", key, hints: [`tether log ${key}`] });
  const error = new MultiObjectError("Cannot read states", new Map([["b", failed("b")], ["a", failed("a")]]));
  assert.deepEqual(errorLines(error).map((l) => l.text), [
    "error: Cannot read states: (a: gone; b: gone)",
    "hint: tether log a",
    "hint: tether log b",
  ]);
});

Deno.test("[L39] everything that is printed passes the redactor, and JSON stays JSON", () => {
  registerSecret("hunter2hunter2");
  const world = testWorld();
  const ui = new Ui(world);
  ui.print([{ text: "at postgres://u:topsecret@h/db" }]);
  ui.warning("token=abcdef said hunter2hunter2");
  ui.error(new ConfigError("Cannot reach https://u:topsecret@h/x", { hints: ["curl https://u:topsecret@h/x"] }));
  assert.equal(world.stdout.text, "at postgres://u:***@h/db\n");
  assert.doesNotMatch(world.stderr.text, /topsecret|hunter2|abcdef/);

  const json: Json = { token: 5, url: "https://u:topsecret@h/x", id: 9007199254740993n, f: new Float(1), n: null };
  ui.json(json);
  const printed = world.stdout.text.slice(world.stdout.text.indexOf("{"));
  assert.deepEqual(parseJson(printed), { ...json, url: "https://u:***@h/x" });
  assert.match(printed, /"id": 9007199254740993,\n {2}"f": 1\.0/);
});

Deno.test("redactJson() changes texts only", () => {
  fc.assert(fc.property(fc.jsonValue(), (value) => {
    const exact = parseJson(JSON.stringify(value));
    assert.deepEqual(redactJson(exact), exact);
  }));
});

Deno.test("Ui colours whole lines on a terminal, and says the same words everywhere", () => {
  const [plain, colored] = [testWorld(), testWorld({ terminal: true })];
  for (const world of [plain, colored]) {
    const ui = new Ui(world);
    ui.print([{ text: "fine", style: "green" }, { text: "as it is" }]);
    ui.warning("careful");
    ui.warning("careful");
  }
  assert.equal(colored.stdout.text, "\x1b[32mfine\x1b[0m\nas it is\n");
  assert.equal(colored.stderr.text, "\x1b[33mwarning: careful\x1b[0m\n");
  // deno-lint-ignore no-control-regex
  assert.equal(colored.stdout.text.replaceAll(/\x1b\[\d*m/g, ""), plain.stdout.text);
  assert.equal(plain.stderr.text, "warning: careful\n");
});

Deno.test("[commands 1.2] no progress without a terminal, in CI, or with TETHER_PROGRESS=0", () => {
  for (const [terminal, env] of [[false, {}], [true, { CI: "true" }], [true, { TETHER_PROGRESS: "0" }]] as const) {
    const world = testWorld({ terminal, env });
    const ui = new Ui(world);
    ui.enableProgress();
    // A progress line that existed would leave its timer behind, which the test runner reports.
    ui.progress({ verb: "reading", done: 1, total: 2 });
    assert.equal(world.stderr.text, "");
  }
});

Deno.test("[L36] a stream goes silent when its reader has gone, and reports any other failure once", () => {
  const written: string[] = [];
  let failure: Error | undefined;
  const sink = {
    isTerminal: () => false,
    writeSync(bytes: Uint8Array) {
      if (failure) throw failure;
      // Short writes happen; the rest follows.
      const part = bytes.subarray(0, 3);
      written.push(new TextDecoder().decode(part));
      return part.length;
    },
  };
  const stream = streamOf(sink);
  stream.write("abcdefg");
  assert.deepEqual(written, ["abc", "def", "g"]);
  failure = new Deno.errors.BrokenPipe("gone");
  stream.write("more");
  failure = undefined;
  stream.write("and more");
  assert.equal(written.length, 3);

  failure = new Error("No space left on device");
  const full = streamOf(sink);
  assert.throws(() => full.write("x"), /No space left/);
  full.write("y");
});

Deno.test("a stream waits for a full pipe in non-blocking mode", () => {
  let busy = 2;
  const written: Uint8Array[] = [];
  const stream = streamOf({
    isTerminal: () => false,
    writeSync(bytes) {
      if (busy-- > 0) throw new Deno.errors.WouldBlock("full");
      written.push(bytes.slice());
      return bytes.length;
    },
  });
  stream.write("abc");
  assert.deepEqual(written.map((b) => new TextDecoder().decode(b)), ["abc"]);
});
