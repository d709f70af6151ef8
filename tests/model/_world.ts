/**
 * The world of the model test: two clones of one dataset over an origin, with worktrees, and another dataset, all of them on
 * the same stores. Made by copying folders, because thousands are needed.
 *
 * @module
 */

import { join } from "node:path";
import { initDataset } from "../../engine/commands/init.ts";
import { Dataset } from "../../engine/dataset.ts";
import { isolate } from "../helpers/repo.ts";
import { runGit } from "./_git.ts";
import { runJj } from "./_jj.ts";
import { absentStore, exportSystem, gitStore, memoryStore, type Store, type SystemCopy } from "./_stores.ts";

/** The dataset of the clones, and the other one. */
export const DATASET = "aaaaaaaa";
/** The dataset that shares their stores. */
export const OTHER = "bbbbbbbb";

/** What keeps the history of a world. */
export type System = "git" | "jj";

/** A repository with one dataset at its root. */
export interface Clone {
  readonly name: string;
  readonly dataset: string;
  readonly system: System;
  /** Where git keeps the objects. */
  readonly gitDir: string;
  /** Roots of its checkouts, the main one first. */
  readonly checkouts: string[];
  /** Roots of those that were moved away, each to the path that ends in `-away`. */
  readonly away: string[];
}

/** A checkout of a clone. */
export interface Place {
  readonly clone: Clone;
  readonly root: string;
}

/** Everything there is. */
export interface World extends AsyncDisposable {
  readonly outer: string;
  readonly system: System;
  readonly clones: readonly Clone[];
  readonly stores: readonly Store[];
}

/** Returns every checkout. */
export function placesOf(world: World): Place[] {
  return world.clones.flatMap((clone) => clone.checkouts.map((root) => ({ clone, root })));
}

/** Calls `fn` with the dataset of a place, freshly opened. */
export async function inDataset<T>(root: string, fn: (dataset: Dataset) => Promise<T>): Promise<T> {
  await using dataset = await Dataset.open(root);
  return await fn(dataset);
}

interface Template {
  readonly folder: string;
  readonly systems: ReadonlyMap<string, SystemCopy>;
}

const SYSTEMS = ["m1", "m2"];
const templates = new Map<System, Promise<Template>>();

/** How a world is made. */
export interface WorldOptions {
  readonly system: System;
  /** Whether the dataset has an object in a real git repository too. */
  readonly git: boolean;
}

/** Makes a world. */
export async function makeWorld(options: WorldOptions): Promise<World> {
  const { system } = options;
  const release = await isolate();
  const made = templates.get(system) ?? makeTemplate(system);
  templates.set(system, made);
  const { folder, systems } = await made;
  const outer = await Deno.realPath(await Deno.makeTempDir({ prefix: "tether-model-" }));
  await run("cp", ["-a", `${folder}/.`, outer]);
  for (const name of ["one", "two"]) {
    const url = ["config", "remote.origin.url", join(outer, "origin.git")];
    await runGit(outer, [`--git-dir=${gitDirOf(outer, name, system)}`, ...url]);
  }
  const stores = SYSTEMS.map((name) => memoryStore(name, systems.get(name)));
  stores.push(absentStore("made"));
  if (options.git) {
    const code = await gitStore("code", join(outer, "code"));
    stores.push(code);
    await inDataset(join(outer, "one"), async (ds) => {
      await ds.add({ key: "code", kind: "git", locator: code.locator });
      await ds.commit({ message: "code" });
    });
  }
  const clone = (name: string, dataset: string): Clone => {
    const gitDir = gitDirOf(outer, name, system);
    return { name, dataset, system, gitDir, checkouts: [join(outer, name)], away: [] };
  };
  return {
    outer,
    system,
    stores,
    clones: [clone("one", DATASET), clone("two", DATASET), clone("other", OTHER)],
    async [Symbol.asyncDispose]() {
      await Deno.remove(outer, { recursive: true });
      await release();
    },
  };
}

/** Removes what {@link makeWorld} copies from. */
export async function removeTemplate(): Promise<void> {
  for (const made of templates.values()) await Deno.remove((await made).folder, { recursive: true });
  templates.clear();
}

/** One clone shares its folder with git, the others are jj's alone. */
function gitDirOf(outer: string, name: string, system: System): string {
  return join(outer, name, system === "git" || name === "one" ? ".git" : ".jj/repo/store/git");
}

async function makeTemplate(system: System): Promise<Template> {
  const folder = await Deno.makeTempDir({ prefix: "tether-model-template-" });
  const stores = SYSTEMS.map((name) => memoryStore(name));
  await runGit(folder, ["init", "--quiet", "--bare", "--initial-branch=main", "origin.git"]);
  for (const [name, datasetId] of [["one", DATASET], ["other", OTHER]] as const) {
    const root = join(folder, name);
    if (system === "git") await runGit(folder, ["init", "--quiet", "--initial-branch=main", name]);
    else await runJj(folder, ["git", "init", name === "one" ? "--colocate" : "--no-colocate", name]);
    await initDataset(root, { datasetId });
    await inDataset(root, async (ds) => {
      for (const { name: key, kind, locator } of stores) await ds.add({ key, kind, locator });
      await ds.commit({ message: "Baseline" });
    });
  }
  const origin = join(folder, "origin.git");
  if (system === "git") {
    await runGit(join(folder, "one"), ["remote", "add", "origin", origin]);
    await runGit(join(folder, "one"), ["push", "--quiet", "origin", "main"]);
    await runGit(folder, ["clone", "--quiet", origin, "two"]);
  } else {
    await runJj(folder, ["git", "init", "--no-colocate", "two"]);
    for (const name of ["one", "two"]) await runJj(join(folder, name), ["git", "remote", "add", "origin", origin]);
    // jj asks for a newer git than some have, so git itself fetches and pushes.
    await runGit(folder, [`--git-dir=${gitDirOf(folder, "one", system)}`, "push", "--quiet", "origin", "main"]);
    await runGit(folder, [`--git-dir=${gitDirOf(folder, "two", system)}`, "fetch", "--quiet", "origin"]);
    for (const name of ["one", "two"]) await runJj(join(folder, name), ["git", "import"]);
    await runJj(join(folder, "two"), ["bookmark", "track", "main", "--remote=origin"]);
    await runJj(join(folder, "two"), ["new", "main"]);
  }
  await inDataset(join(folder, "two"), (ds) => ds.new());
  // A line of work with a commit of its own, and one with writes that no commit pins.
  await inDataset(join(folder, "one"), async (ds) => {
    await ds.new({ bookmark: "x", eager: true });
    for (const store of stores) await store.write(ds.workspace.workingRefs[store.name] ?? "");
    await ds.commit({ message: "on x" });
    await ds.new({ bookmark: "y/z", rev: "main", eager: true });
    await stores[0]?.write(ds.workspace.workingRefs["m1"] ?? "");
    await ds.new({ rev: "main" });
  });
  const systems = new Map(SYSTEMS.map((name) => [name, exportSystem(name)]));
  return { folder, systems };
}

async function run(program: string, args: string[]): Promise<void> {
  const { success, stderr } = await new Deno.Command(program, { args }).output();
  if (!success) throw new Error(new TextDecoder().decode(stderr));
}
