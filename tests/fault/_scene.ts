/**
 * A dataset over real stores that can be put back as it was, and a victim to run in it.
 *
 * @module
 */

import { fileURLToPath } from "node:url";
import { DEFAULT_SETTINGS } from "../../backends/backend.ts";
import { openBackend } from "../../backends/catalog.ts";
import { Dataset } from "../../engine/dataset.ts";
import { initDataset } from "../../engine/commands/init.ts";
import { createRepository, writeArray } from "../helpers/icechunk_data.ts";
import { appendLanceRows, createLanceTable } from "../helpers/lance_data.ts";
import { type TempRepo, tempRepo } from "../helpers/repo.ts";
import type { Call } from "./_call.ts";

/** How a victim ended. */
export interface Ended {
  readonly code: number;
  readonly signal: string | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** The dataset and its stores. */
export interface Scene extends AsyncDisposable {
  readonly repo: TempRepo;
  readonly root: string;
  /** Remembers everything as it is now; {@link Scene.rewind} brings it back. */
  remember(): Promise<void>;
  rewind(): Promise<void>;
  /** Writes something new into every store, on the branches this checkout works on. */
  write(): Promise<void>;
  /** Calls `fn` with the dataset freshly opened. */
  with<T>(fn: (dataset: Dataset) => Promise<T>, at?: string): Promise<T>;
  /** Pins and working branches in every store: `store name`, sorted. */
  refs(): Promise<string[]>;
}

const VICTIM = fileURLToPath(new URL("_victim.ts", import.meta.url));

/** Starts a victim. With a boundary, it dies there. */
export function victim(root: string, call: Call, deadly?: string): Deno.ChildProcess {
  return new Deno.Command(Deno.execPath(), {
    args: ["run", "--quiet", "-A", VICTIM, root, JSON.stringify(call), ...deadly === undefined ? [] : [deadly]],
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
}

/** Waits for a victim's end. */
export async function endOf(child: Deno.ChildProcess): Promise<Ended> {
  const { code, signal, stdout, stderr } = await child.output();
  const [out = "", err = ""] = [stdout, stderr].map((b) => new TextDecoder().decode(b));
  return { code, signal, stdout: out, stderr: err };
}

/** Makes a dataset with a git repository `code`, files `plate`, an Icechunk repository `img` and a Lance table `feat`. */
export async function scene(): Promise<Scene> {
  const repo = await tempRepo();
  const at = (name: string) => `${repo.outer}/${name}`;
  const kept = `${repo.outer}-kept`;
  let written = 0;
  const made: Scene = {
    repo,
    root: repo.path,
    remember: () => copy(repo.outer, kept),
    rewind: () => copy(kept, repo.outer),
    async write() {
      written++;
      const refs = await made.with((ds) => Promise.resolve(ds.workspace.workingRefs));
      const branch = refs["code"] ?? "main";
      await repo.git(["checkout", "--quiet", branch], { cwd: at("code") });
      await repo.git(["commit", "--quiet", "--allow-empty", "-m", `write ${written}`], { cwd: at("code") });
      await repo.git(["checkout", "--quiet", "main"], { cwd: at("code") });
      await Deno.writeTextFile(at(`plate/${written}.txt`), `${written}\n`);
      await writeArray(at("img"), refs["img"] ?? "main", { name: "scores", values: [written] });
      const on = refs["feat"] === undefined || refs["feat"] === "main" ? {} : { branch: refs["feat"] };
      await appendLanceRows(at("feat.lance"), [{ id: written, name: "b" }], on);
    },
    async with(fn, root = repo.path) {
      await using ds = await Dataset.open(root);
      return await fn(ds);
    },
    async refs() {
      const found: string[] = [];
      for (const [key, kind] of [["code", "git"], ["img", "icechunk"], ["feat.lance", "lance"]] as const) {
        await using backend = await openBackend(kind, DEFAULT_SETTINGS);
        const pins = await backend.listPins?.({ uri: at(key) }) ?? [];
        const branches = await backend.listWorkingRefs?.({ uri: at(key) }) ?? [];
        found.push(...[...pins, ...branches].map((ref) => `${key} ${ref}`));
      }
      return found.sort();
    },
    async [Symbol.asyncDispose]() {
      await repo[Symbol.asyncDispose]();
      await Deno.remove(kept, { recursive: true }).catch(() => {});
    },
  };
  await repo.git(["init", "--quiet", "--initial-branch=main", at("code")], { cwd: repo.outer });
  await repo.git(["commit", "--quiet", "--allow-empty", "-m", "first"], { cwd: at("code") });
  await Deno.mkdir(at("plate"));
  await Deno.writeTextFile(at("plate/a.txt"), "hi\n");
  await createRepository(at("img"));
  await writeArray(at("img"), "main", { name: "scores", values: [0] });
  await createLanceTable(at("feat.lance"));
  await initDataset(repo.path, { datasetId: "0a1b2c3d" });
  await made.with(async (ds) => {
    await ds.add({ key: "code", kind: "git", locator: { uri: at("code") } });
    await ds.add({ key: "plate", kind: "file", locator: { uri: at("plate") }, policy: { file: "versioned" } });
    await ds.add({ key: "img", kind: "icechunk", locator: { uri: at("img") } });
    await ds.add({ key: "feat", kind: "lance", locator: { uri: at("feat.lance") } });
    await ds.commit({ message: "Baseline" });
  });
  return made;
}

/** Makes a folder an exact copy of another: same times, links and modes. */
async function copy(from: string, to: string): Promise<void> {
  await Deno.remove(to, { recursive: true }).catch((error) => {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  });
  const { success, stderr } = await new Deno.Command("cp", { args: ["-a", from, to] }).output();
  if (!success) throw new Error(new TextDecoder().decode(stderr));
}
