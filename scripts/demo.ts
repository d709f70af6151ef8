/**
 * Walks the core loop on real stores in a temporary folder: an Icechunk repository, a Lance table, a Delta table, a git
 * repository and a folder of files. Everything typed is what a user would type; the data is written with each system's own
 * library. The folder is left for looking around.
 *
 * @module
 */

import { fileURLToPath } from "node:url";
import { createDelta } from "../tests/helpers/delta_data.ts";
import { createRepository, readArray, writeArray } from "../tests/helpers/icechunk_data.ts";
import { appendLanceRows, createLanceTable, lanceRows } from "../tests/helpers/lance_data.ts";
import { LANCE_ADDON } from "../backends/native.ts";
import { installAddon } from "./addons.ts";

const MAIN = fileURLToPath(new URL("../main.ts", import.meta.url));
const colour = Deno.stdout.isTerminal() && !Deno.env.get("NO_COLOR");
const start = performance.now();

function print(text: string = ""): void {
  Deno.stdout.writeSync(new TextEncoder().encode(text + "\n"));
}

function title(text: string): void {
  print(colour ? `\n\x1b[1m${text}\x1b[0m` : `\n${text}`);
}

function fact(text: string): void {
  print(`  ${text}`);
}

print("Fetching what the demo needs (once) ...");
await installAddon(LANCE_ADDON);

const demo = await Deno.makeTempDir({ prefix: "tether-demo-" });
const lab = `${demo}/lab`;
const stores = {
  imaging: `${demo}/imaging.icechunk`,
  features: `${demo}/features.lance`,
  samples: `${demo}/samples`,
  code: `${demo}/code`,
  plates: `${demo}/plates`,
};
const GIT_ENV = {
  GIT_AUTHOR_NAME: "Demo",
  GIT_AUTHOR_EMAIL: "demo@localhost",
  GIT_COMMITTER_NAME: "Demo",
  GIT_COMMITTER_EMAIL: "demo@localhost",
  GIT_CONFIG_GLOBAL: "/dev/null",
};

/** Runs a program quietly and returns what it printed. */
async function quiet(cwd: string, program: string, ...args: string[]): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(program, { args, cwd, env: GIT_ENV, stdin: "null" })
    .output();
  if (!success) throw new Error(`${program} ${args.join(" ")} failed: ${new TextDecoder().decode(stderr)}`);
  return new TextDecoder().decode(stdout).trim();
}

/** Runs tether as a user would, and shows the command and what it says. */
async function tether(...args: string[]): Promise<string> {
  print(`\n$ tether ${args.map((a) => /[^\w./=@~-]/.test(a) ? `"${a}"` : a).join(" ")}`);
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--quiet", "--no-check", "-A", MAIN, ...args],
    cwd: lab,
    env: GIT_ENV,
    stdin: "null",
  }).output();
  const text = new TextDecoder().decode(stdout);
  for (const line of (text + new TextDecoder().decode(stderr)).trimEnd().split("\n")) print(`  ${line}`);
  if (!success) throw new Error("The demo stopped: that command should have worked");
  return text;
}

/** Opens an object as a user would, and returns the ref its readers and writers must use. */
async function refOf(...args: string[]): Promise<string> {
  await tether("open", ...args);
  const json = await quiet(lab, Deno.execPath(), "run", "--quiet", "--no-check", "-A", MAIN, "open", ...args, "--json");
  return (JSON.parse(json) as { ref: string }).ref;
}

title("Five stores, each made by its own system");
await createRepository(stores.imaging);
await writeArray(stores.imaging, "main", { name: "plate/scores", values: [1, 2, 3, 4, 5, 6, 7, 8], chunk: 4 });
await createLanceTable(stores.features, [{ id: 1, name: "area" }, { id: 2, name: "mean" }]);
const samples = await createDelta(stores.samples);
await samples.append([1, 2, 3]);
await Deno.mkdir(stores.code);
await quiet(stores.code, "git", "init", "--quiet", "--initial-branch=main");
await Deno.writeTextFile(`${stores.code}/analyse.ts`, 'console.log("model 1");\n');
await quiet(stores.code, "git", "add", ".");
await quiet(stores.code, "git", "commit", "--quiet", "-m", "Model 1");
await Deno.mkdir(`${stores.plates}/raw`, { recursive: true });
await Deno.writeTextFile(`${stores.plates}/raw/plate1.csv`, "well,score\nA1,0.5\nA2,0.7\n");
await Deno.writeFile(`${stores.plates}/raw/plate1.bin`, crypto.getRandomValues(new Uint8Array(4096)));
fact("an array in Icechunk, a table in Lance, a table in Delta, a script in git, a folder of files");

title("A dataset is a folder in a git repository");
await Deno.mkdir(lab);
await quiet(lab, "git", "init", "--quiet", "--initial-branch=main");
await tether("init");
await tether("add", "imaging", stores.imaging, "--kind", "icechunk");
await tether("add", "features", stores.features, "--kind", "lance");
await tether("add", "samples", stores.samples, "--kind", "delta");
await tether("add", "code", stores.code, "--kind", "git");
await tether("add", "plates", stores.plates, "--kind", "file");

title("A commit records every exact state and pins it in its own system");
await tether("commit", "-m", "Baseline");
await tether("status");
const baseline = await quiet(lab, "git", "rev-parse", "--short=12", "HEAD");

title("A bookmark gets a branch in each system that has branches");
await tether("new", "-b", "relabel");
const imagingBranch = await refOf("imaging");
const featuresBranch = await refOf("features");
const codeBranch = await refOf("code");

title("Write there, with each system's own library");
await writeArray(stores.imaging, imagingBranch, { name: "plate/scores", values: [9, 9, 9, 9, 5, 6, 7, 8], chunk: 4 });
fact(`Icechunk: scores rewritten on branch ${imagingBranch}`);
await appendLanceRows(stores.features, [{ id: 3, name: "texture" }], { branch: featuresBranch });
fact(`Lance: a row appended on branch ${featuresBranch}`);
await quiet(stores.code, "git", "switch", "--quiet", codeBranch);
await Deno.writeTextFile(`${stores.code}/analyse.ts`, 'console.log("model 2");\n');
await quiet(stores.code, "git", "commit", "--quiet", "-a", "-m", "Model 2");
await quiet(stores.code, "git", "switch", "--quiet", "main");
fact(`git: a commit on branch ${codeBranch}`);
await tether("status", "--snapshot");
await tether("commit", "-m", "Relabel with model 2");
await tether("diff", "main", "--content");

title("What each system holds now: main untouched, the branch written");
const scores = (ref: string): Promise<number[]> => readArray(stores.imaging, { on: "ref", ref }, "plate/scores");
fact(`Icechunk main     ${JSON.stringify(await scores("main"))}`);
fact(`Icechunk relabel  ${JSON.stringify(await scores(imagingBranch))}`);
const names = (rows: readonly { [column: string]: unknown }[]): string => rows.map((r) => r["name"]).join(", ");
fact(`Lance main        ${names(await lanceRows(stores.features))}`);
fact(`Lance relabel     ${names(await lanceRows(stores.features, { branch: featuresBranch }))}`);
fact(`git main          ${await quiet(stores.code, "git", "show", "main:analyse.ts")}`);
fact(`git relabel       ${await quiet(stores.code, "git", "show", `${codeBranch}:analyse.ts`)}`);

title("Upstream moves on; the old commit still reads back exactly");
await writeArray(stores.imaging, "main", { name: "plate/scores", values: [0, 0, 0, 0, 0, 0, 0, 0], chunk: 4 });
const tag = await refOf("imaging", "--rev", baseline);
const pinned = { on: "pin", pin: { id: tag.replace(/^tether\./, ""), ref: tag } } as const;
fact(`Icechunk at ${baseline}  ${JSON.stringify(await readArray(stores.imaging, pinned, "plate/scores"))}`);
await tether("verify", "--all-history", "--deep");
await tether("ops");

const seconds = Math.round((performance.now() - start) / 1000);
title(`Done in ${seconds} s. It is all still there; look around:`);
print(`
  cd ${lab}
  alias tether='${Deno.execPath()} run -A ${MAIN}'
  tether status
  tether log imaging
  git log --oneline --all
  git -C ${stores.code} log --oneline --all
  rm -r ${demo}    # when you are done
`);
Deno.exit(0);
