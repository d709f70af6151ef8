/**
 * Runs the tests: fetches what they need, runs each file in a process of its own, as many at a time as there are processors,
 * and the documentation's examples, and ends with `N passed, N failed` from the runner's own counts. A skipped test is a
 * failure in CI; elsewhere it is counted. Not named `test.ts`: the runner would take it for a test.
 *
 * A process for each file, because tests change what a process has only one of: its environment, folder and user.
 *
 * @module
 */

import { LANCE_ADDON } from "../backends/native.ts";
import { installAddon } from "./addons.ts";
import { installJj, JJ_VERSION_VARIABLE, OLDEST_JJ_VERSION } from "./jj.ts";
import { installOldDeno } from "./old_deno.ts";
import { installPeer } from "./peer.ts";

/** What a run of the runner came to. */
interface Counts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

/** One run of the runner. */
interface Job {
  readonly name: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** Files that take longest, first: the others fill the gaps. */
const LONG = ["tests/conformance/", "tests/interop/", "tests/fault/", "tests/hostile/", "tests/cli/", "tests/vcs/"];

const files = Deno.args.filter((a) => !a.startsWith("-"));
const flags = Deno.args.filter((a) => a.startsWith("-"));
const inCi = (Deno.env.get("CI") ?? "") !== "";
await installNeeds();
const queue = files.length > 0 ? files.flatMap(fileJobs) : await allJobs();
const total = { passed: 0, failed: 0, skipped: 0 };
const broken: string[] = [];
const workers = Math.max(2, navigator.hardwareConcurrency);
await Promise.all(Array.from({ length: workers }, work));

if (broken.length > 0) print(`\nFailed:\n${broken.map((b) => `  ${b}`).join("\n")}\n`);
print(`\n${total.passed} passed, ${total.failed} failed${total.skipped > 0 ? `, ${total.skipped} skipped` : ""}\n`);
if (inCi && total.skipped > 0) print("A skipped test is a failure in CI\n");
Deno.exit(broken.length > 0 || total.failed > 0 || total.passed === 0 || (inCi && total.skipped > 0) ? 1 : 0);

async function installNeeds(): Promise<void> {
  const needs: readonly (readonly [string, () => Promise<unknown>])[] = [
    ["the Lance addon", () => installAddon(LANCE_ADDON)],
    ["the Python implementation", installPeer],
    ["the oldest Deno", installOldDeno],
    // Too long a build to start unasked.
    ...(inCi ? [["jj", installJj] as const, ["the oldest jj", () => installJj(OLDEST_JJ_VERSION)] as const] : []),
  ];
  for (const [name, install] of needs) {
    try {
      await install();
    } catch (error) {
      print(`Cannot install ${name}: ${error instanceof Error ? error.message : error}\n`);
      if (inCi) Deno.exit(1);
    }
  }
}

async function work(): Promise<void> {
  for (let job = queue.shift(); job; job = queue.shift()) {
    const { code, counts, text } = await run(job);
    print(text);
    total.passed += counts.passed;
    total.failed += counts.failed;
    total.skipped += counts.skipped;
    if (code !== 0) {
      broken.push(job.name);
      // One that ended without a summary, such as a module that does not load, still counts.
      if (counts.failed === 0) total.failed++;
    }
  }
}

async function run(job: Job): Promise<{ code: number; counts: Counts; text: string }> {
  // Examples leave their folders behind, and so does a test that was killed.
  const temporary = await Deno.makeTempDir({ prefix: "tether-" });
  // Some tests go on as an unprivileged user, who must get through to their files.
  await Deno.chmod(temporary, 0o755);
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["test", "-A", "--no-check", "--quiet", ...job.args, ...flags],
    env: { TMPDIR: temporary, ...job.env },
    stdin: "null",
  }).output();
  // What cannot be removed, such as a folder that a test made unreadable, is the system's to clean.
  await Deno.remove(temporary, { recursive: true }).catch(() => {});
  // deno-lint-ignore no-control-regex
  const text = new TextDecoder().decode(stdout).replace(/\x1b\[[0-9;]*m/g, "");
  const summary = /(\d+) passed(?: \(\d+ steps?\))? \| (\d+) failed(?: \(\d+ steps?\))?(?: \| (\d+) ignored)?/.exec(
    text.slice(-4000),
  );
  const [passed = 0, failed = 0, skipped = 0] = (summary ?? []).slice(1).map((n) => Number(n ?? 0));
  return { code, counts: { passed, failed, skipped }, text: text + new TextDecoder().decode(stderr) };
}

/** In CI a file that is about jj alone runs with the oldest version too. */
function fileJobs(file: string): Job[] {
  const job: Job = { name: file, args: [file] };
  if (!inCi || !/(^|\/)jj_[^/]*test\.ts$/.test(file)) return [job];
  return [job, {
    ...job,
    name: `${file} (jj ${OLDEST_JJ_VERSION})`,
    env: { [JJ_VERSION_VARIABLE]: OLDEST_JJ_VERSION },
  }];
}

async function allJobs(): Promise<Job[]> {
  const found: string[] = [];
  const documented: string[] = [];
  for await (const path of sources(".")) {
    if (/_test\.ts$/.test(path)) found.push(path);
    else if (!/^(tests|scripts|cli)\//.test(path) && /^ \* ```ts$/m.test(await Deno.readTextFile(path))) {
      documented.push(path);
    }
  }
  const rank = (path: string): number => {
    const at = LONG.findIndex((l) => path.startsWith(l));
    return at < 0 ? LONG.length : at;
  };
  found.sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1));
  // The examples take longest of all.
  return [{ name: "documentation examples", args: ["--doc", ...documented.sort()] }, ...found.flatMap(fileJobs)];
}

async function* sources(folder: string): AsyncGenerator<string> {
  for await (const entry of Deno.readDir(folder)) {
    if (entry.name.startsWith(".") || entry.name === "node_modules") continue;
    const path = folder === "." ? entry.name : `${folder}/${entry.name}`;
    if (entry.isDirectory) yield* sources(path);
    else if (path.endsWith(".ts")) yield path;
  }
}

function print(text: string): void {
  Deno.stdout.writeSync(new TextEncoder().encode(text));
}
