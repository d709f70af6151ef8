/**
 * The benchmark table: this tether against the Python implementation on the same data, and against a floor, in one run.
 * Ratios only; the machines are noisy. `deno task bench [ROW…]` runs some rows.
 *
 * @module
 */

import { fileURLToPath } from "node:url";
import { makeHistory } from "./bench_history.ts";
import { installPeer } from "./peer.ts";
import { installAddon } from "./addons.ts";
import { LANCE_ADDON } from "../backends/native.ts";

const MAIN = fileURLToPath(new URL("../main.ts", import.meta.url));
const PEER = await installPeer();
await installAddon(LANCE_ADDON);
const WORK = await Deno.makeTempDir({ prefix: "tether-bench-" });
const ENV = {
  GIT_CONFIG_GLOBAL: "/dev/null",
  GIT_CONFIG_SYSTEM: "/dev/null",
  GIT_AUTHOR_NAME: "bench",
  GIT_AUTHOR_EMAIL: "bench@localhost",
  GIT_COMMITTER_NAME: "bench",
  GIT_COMMITTER_EMAIL: "bench@localhost",
  NO_COLOR: "1",
};

/** One finished child: seconds and peak memory in MiB. */
interface Run {
  readonly seconds: number;
  readonly peakMiB: number;
}

/** A command, run in a folder. */
interface Call {
  readonly cwd: string;
  readonly argv: readonly string[];
}

const ours = (cwd: string, ...args: string[]): Call => ({
  cwd,
  argv: [Deno.execPath(), "run", "-A", "--no-check", MAIN, ...args],
});
const peer = (cwd: string, ...args: string[]): Call => ({ cwd, argv: [`${PEER}/tether`, ...args] });

async function run(call: Call): Promise<Run> {
  const [program = "", ...args] = call.argv;
  const start = performance.now();
  const child = new Deno.Command(program, {
    args,
    cwd: call.cwd,
    env: ENV,
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  let peakMiB = 0;
  const watch = setInterval(() => peakMiB = Math.max(peakMiB, peakOf(child.pid)), 20);
  const { success, stderr, stdout } = await child.output();
  clearInterval(watch);
  if (!success) {
    throw new Error(
      `${call.argv.join(" ")} failed in ${call.cwd}:\n${new TextDecoder().decode(stderr)}${
        new TextDecoder().decode(stdout)
      }`,
    );
  }
  return { seconds: (performance.now() - start) / 1000, peakMiB };
}

/** Returns the peak memory of a process so far in MiB; 0 once it ended, or where there is no /proc. */
function peakOf(pid: number): number {
  try {
    const status = Deno.readTextFileSync(`/proc/${pid}/status`);
    return Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024;
  } catch {
    return 0;
  }
}

async function shell(cwd: string, script: string): Promise<Run> {
  return await run({ cwd, argv: ["bash", "-euo", "pipefail", "-c", script] });
}

/** Runs two commands in turn and returns the median ratio of their times, pair by pair. */
async function ratio(a: () => Promise<Run>, b: () => Promise<Run>, rounds: number): Promise<number> {
  const ratios: number[] = [];
  for (let i = 0; i < rounds; i++) ratios.push((await a()).seconds / (await b()).seconds);
  return ratios.sort((x, y) => x - y)[Math.floor(ratios.length / 2)] ?? NaN;
}

const rows: { work: string; value: string; must: string; ok: boolean }[] = [];

function row(work: string, value: number, must: string, limit: number): void {
  const ok = value <= limit;
  rows.push({ work, value: value.toFixed(2), must, ok });
  print(`${ok ? "ok  " : "MISS"} ${work}: ${value.toFixed(2)} (${must})\n`);
}

/** Makes an empty dataset of each implementation, side by side. */
async function datasets(name: string): Promise<{ ours: string; peer: string }> {
  const folder = `${WORK}/${name}`;
  for (const side of ["ours", "peer"]) {
    await shell(WORK, `mkdir -p '${folder}/${side}' && cd '${folder}/${side}' && git init -q -b main`);
  }
  await run(ours(`${folder}/ours`, "init"));
  await run(peer(`${folder}/peer`, "init"));
  return { ours: `${folder}/ours`, peer: `${folder}/peer` };
}

async function startUp(): Promise<void> {
  const at = await datasets("start");
  await shell(WORK, "mkdir -p start/data && echo x > start/data/a");
  for (const [side, tether] of [[at.ours, ours], [at.peer, peer]] as const) {
    await run(tether(side, "add", "raw", "../data", "--kind", "file"));
    await run(tether(side, "commit", "-m", "first"));
  }
  for (const args of [["--version"], ["--help"], ["status"]]) {
    const value = await ratio(() => run(ours(at.ours, ...args)), () => run(peer(at.peer, ...args)), 5);
    row(`${args.join(" ")}, of peer`, value, "≤ 0.5", 0.5);
  }
}

async function makeFiles(folder: string, count: number): Promise<void> {
  for (let d = 0; d < count / 1000; d++) {
    await Deno.mkdir(`${folder}/d${d}`, { recursive: true });
    await Promise.all(
      Array.from(
        { length: 1000 },
        (_, i) => Deno.writeTextFile(`${folder}/d${d}/f${i}.txt`, `file ${d} ${i}\n`.repeat(1 + i % 40)),
      ),
    );
  }
}

async function commitFolder(): Promise<void> {
  await makeFiles(`${WORK}/small`, 20_000);
  const cold = async (side: "ours" | "peer", round: number): Promise<Run> => {
    const at = await datasets(`folder-${side}-${round}`);
    const tether = side === "ours" ? ours : peer;
    await run(tether(at[side], "add", "raw", `${WORK}/small`, "--kind", "file"));
    return await run(tether(at[side], "commit", "-m", "first"));
  };
  const floor = () => shell(`${WORK}/small`, "find . -type f -print0 | xargs -0 -P2 sha256sum > /dev/null");
  await floor();
  let round = 0;
  row(
    "commit of 20,000 files, of peer",
    await ratio(() => cold("ours", round++), () => cold("peer", round++), 3),
    "≤ 0.25",
    0.25,
  );
  row("commit of 20,000 files, of find|sha256sum", await ratio(() => cold("ours", round++), floor, 3), "≤ 3", 3);

  const small = await cold("ours", round++);
  await makeFiles(`${WORK}/large`, 200_000);
  const at = await datasets("large-dataset");
  await run(ours(at.ours, "add", "raw", `${WORK}/large`, "--kind", "file", "--file", "versioned"));
  const large = await run(ours(at.ours, "commit", "-m", "first"));
  row("commit of 200,000 files, time of 20,000 x 10", large.seconds / (10 * small.seconds), "≤ 1.2 (linear)", 1.2);
  row("commit of 200,000 files, peak MiB", large.peakMiB, "≤ 400", 400);
  const again = await run(ours(at.ours, "status", "--snapshot"));
  row(
    "second snapshot of 200,000 files, of the first",
    again.seconds / large.seconds,
    "only changed files opened",
    0.6,
  );
}

async function manyObjects(): Promise<void> {
  const at = await datasets("objects");
  await Deno.mkdir(`${WORK}/objects/data`);
  for (let i = 0; i < 500; i++) {
    await Deno.writeTextFile(`${WORK}/objects/data/f${i}.csv`, `a,b\n${i},${i}\n`.repeat(50));
  }
  // Five hundred manifests at once: each implementation reads what either would write.
  for (const side of [at.ours, at.peer]) {
    await Deno.mkdir(`${side}/.tether/objects/t`, { recursive: true });
    for (let i = 0; i < 500; i++) {
      const uri = `${WORK}/objects/data/f${i}.csv`;
      await Deno.writeTextFile(
        `${side}/.tether/objects/t/f${i}.toml`,
        `key = "t/f${i}"\nkind = "file"\nrecoverable = true\n\n[locator]\nuri = "${uri}"\n\n[policy]\nfile = "versioned"\npin = "native"\n`,
      );
    }
  }
  const commits = await ratio(
    () => run(ours(at.ours, "commit", "-m", "first")),
    () => run(peer(at.peer, "commit", "-m", "first")),
    1,
  );
  row("commit of 500 file objects, of peer", commits, "≤ 0.5", 0.5);
  for (const args of [["status"], ["status", "--snapshot"], ["verify"]]) {
    const value = await ratio(() => run(ours(at.ours, ...args)), () => run(peer(at.peer, ...args)), 3);
    row(`${args.join(" ")} of 500 file objects, of peer`, value, "≤ 0.5", 0.5);
  }
}

const MAKE_STORES = `
import sys, numpy as np, icechunk, zarr, lance, pyarrow as pa
folder, count = sys.argv[1], int(sys.argv[2])
for i in range(count):
    repo = icechunk.Repository.create(icechunk.local_filesystem_storage(f"{folder}/i{i}.icechunk"))
    session = repo.writable_session("main")
    root = zarr.group(session.store)
    a = root.create_array("x", shape=(16, 16), chunks=(8, 8), dtype="i4")
    a[:] = i
    session.commit("first")
    lance.write_dataset(pa.table({"id": list(range(10))}), f"{folder}/l{i}.lance")
`;

async function forks(): Promise<void> {
  const at = await datasets("forks");
  for (const side of [at.ours, at.peer]) {
    await Deno.mkdir(`${side}-stores`);
    await run({ cwd: WORK, argv: [`${PEER}/python`, "-c", MAKE_STORES, `${side}-stores`, "20"] });
    const tether = side === at.ours ? ours : peer;
    for (let i = 0; i < 20; i++) {
      await run(tether(side, "add", `i${i}`, `${side}-stores/i${i}.icechunk`, "--kind", "icechunk"));
      await run(tether(side, "add", `l${i}`, `${side}-stores/l${i}.lance`, "--kind", "lance"));
    }
    await run(tether(side, "commit", "-m", "first"));
  }
  let round = 0;
  const value = await ratio(
    () => run(ours(at.ours, "new", "-b", `x${round}`, "--eager")),
    () => run(peer(at.peer, "new", "-b", `x${round++}`, "--eager")),
    3,
  );
  row("fork of 20 Icechunk and 20 Lance objects, of peer", value, "≤ 0.7", 0.7);
}

/** 2,000 commits that each record new states of 50 objects. */
async function longHistory(): Promise<void> {
  const at = await datasets("history");
  const size = { commits: 2000, objects: 50, moving: 50 };
  await makeHistory(at.ours, `${WORK}/history/stores`, size);
  await shell(WORK, `rm -rf '${at.peer}' && cp -r '${at.ours}' '${at.peer}'`);

  const first = await run(ours(at.ours, "gc"));
  const ofPeer = first.seconds / (await run(peer(at.peer, "gc"))).seconds;
  row("gc of 2,000 commits x 50 objects, of peer", ofPeer, "≤ 0.3", 0.3);
  row("gc of 2,000 commits x 50 objects, peak MiB", first.peakMiB, "≤ 300", 300);
  const again = await ratio(() => run(ours(at.ours, "gc")), () => Promise.resolve(first), 3);
  row("gc of the same again, of the first", again, "≤ 0.25", 0.25);
  const verified = (await run(ours(at.ours, "verify", "--all-history"))).seconds /
    (await run(peer(at.peer, "verify", "--all-history"))).seconds;
  row("verify --all-history of the same, of peer", verified, "≤ 0.5", 0.5);
}

function print(text: string): void {
  Deno.stdout.writeSync(new TextEncoder().encode(text));
}

const PARTS: Readonly<Record<string, () => Promise<void>>> = {
  start: startUp,
  folder: commitFolder,
  objects: manyObjects,
  forks,
  history: longHistory,
};
const chosen = Deno.args.length > 0 ? Deno.args : Object.keys(PARTS);
try {
  for (const name of chosen) {
    const part = PARTS[name];
    if (!part) throw new Error(`No such row: ${name}; there are ${Object.keys(PARTS).join(", ")}`);
    await part();
  }
} finally {
  await Deno.remove(WORK, { recursive: true });
}
print("\n| Work | Ratio | Must reach | |\n|---|---|---|---|\n");
for (const r of rows) print(`| ${r.work} | ${r.value} | ${r.must} | ${r.ok ? "ok" : "missed"} |\n`);
if (rows.some((r) => !r.ok)) Deno.exitCode = 1;
