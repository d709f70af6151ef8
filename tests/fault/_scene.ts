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
import { asTempRepo, HAS_JJ, tempJjRepo } from "../helpers/jj_repo.ts";
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
  /** Writes something new into every store, on the branches a checkout works on. */
  write(at?: string): Promise<void>;
  /** Calls `fn` with the dataset freshly opened. */
  with<T>(fn: (dataset: Dataset) => Promise<T>, at?: string): Promise<T>;
  /** Pins and working branches in every store: `store name`, sorted. */
  refs(): Promise<string[]>;
}

const VICTIM = fileURLToPath(new URL("_victim.ts", import.meta.url));

/** Starts a victim. With a boundary, it dies there. */
export function victim(
  root: string,
  call: Call,
  deadly?: string,
  env: Readonly<Record<string, string>> = {},
): Deno.ChildProcess {
  return new Deno.Command(Deno.execPath(), {
    args: ["run", "--quiet", "-A", VICTIM, root, JSON.stringify(call), ...deadly === undefined ? [] : [deadly]],
    env: { ...env },
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

/** A scene of one version control system or the other. */
export interface BothScene extends Scene {
  readonly system: "git" | "jj";
  /** Makes a bookmark by the system's own means. */
  bookmark(name: string, commit: string): Promise<unknown>;
  /** Loses a bookmark with its own commits, by the system's own means. */
  lose(bookmark: string): Promise<unknown>;
  /** Commits everything by the system's own means. */
  commitAll(message: string): Promise<unknown>;
  /** Returns the first line of the last commit's message. */
  subject(): Promise<string>;
}

/** Defines a test over a scene on git and on jj. */
export function onBothScenes(
  name: string,
  keys: readonly Key[],
  fn: (s: BothScene, t: Deno.TestContext) => Promise<void>,
): void {
  Deno.test(`${name} (git)`, async (t) => {
    await using s = await scene(keys);
    const { repo } = s;
    await fn({
      ...s,
      system: "git",
      bookmark: (name, commit) => repo.git(["branch", name, commit]),
      lose: (bookmark) => repo.git(["branch", "-D", bookmark]),
      commitAll: (message) => repo.commit(message),
      subject: () => repo.git(["log", "-1", "--format=%s"]),
    }, t);
  });
  Deno.test({
    name: `${name} (jj)`,
    ignore: !HAS_JJ,
    async fn(t) {
      const repo = await tempJjRepo();
      await using s = await scene(keys, { makeRepo: () => Promise.resolve(asTempRepo(repo)) });
      await fn({
        ...s,
        system: "jj",
        bookmark: (name, commit) => repo.jj(["bookmark", "create", name, "-r", commit]),
        lose: (bookmark) => repo.jj(["abandon", `main..${bookmark}`]),
        commitAll: (message) => repo.commit(message),
        subject: () => repo.jj(["log", "--no-graph", "-r", "@-", "-T", "description.first_line()"]),
      }, t);
    },
  });
}

/** Everything of a scene as it was, to come back to any number of times. */
export interface Copy extends AsyncDisposable {
  back(): Promise<void>;
}

/** Copies a scene as it is now, beside what it remembers. */
export async function copyOf({ repo: { outer } }: Scene): Promise<Copy> {
  const kept = `${outer}-copy`;
  await copy(outer, kept);
  return {
    back: () => copy(kept, outer),
    [Symbol.asyncDispose]: () => Deno.remove(kept, { recursive: true }),
  };
}

/** What an object is of. */
const OBJECTS = {
  code: { kind: "git", store: "code" },
  plate: { kind: "file", store: "plate" },
  img: { kind: "icechunk", store: "img" },
  feat: { kind: "lance", store: "feat.lance" },
} as const;

/** A key of {@link scene}'s dataset. */
export type Key = keyof typeof OBJECTS;

/** Makes a dataset with a git repository `code`, files `plate`, an Icechunk repository `img` and a Lance table `feat`. */
export async function scene(
  keys: readonly Key[] = ["code", "plate", "img", "feat"],
  { makeRepo = tempRepo }: { readonly makeRepo?: () => Promise<TempRepo> } = {},
): Promise<Scene> {
  const repo = await makeRepo();
  const at = (name: string) => `${repo.outer}/${name}`;
  const kept = `${repo.outer}-kept`;
  let written = 0;
  const made: Scene = {
    repo,
    root: repo.path,
    remember: () => copy(repo.outer, kept),
    rewind: () => copy(kept, repo.outer),
    async write(checkout) {
      written++;
      const refs = await made.with((ds) => Promise.resolve(ds.workspace.workingRefs), checkout);
      for (const key of keys) await WRITE[key](made, refs[key] ?? "main", written);
    },
    async with(fn, root = repo.path) {
      await using ds = await Dataset.open(root);
      return await fn(ds);
    },
    async refs() {
      const found: string[] = [];
      for (const key of keys) {
        const { kind, store } = OBJECTS[key];
        await using backend = await openBackend(kind, DEFAULT_SETTINGS);
        const pins = await backend.listPins?.({ uri: at(store) }) ?? [];
        const branches = await backend.listWorkingRefs?.({ uri: at(store) }) ?? [];
        found.push(...[...pins, ...branches].map((ref) => `${key} ${ref}`));
      }
      return found.sort();
    },
    async [Symbol.asyncDispose]() {
      await repo[Symbol.asyncDispose]();
      await Deno.remove(kept, { recursive: true }).catch(() => {});
    },
  };
  for (const key of keys) await MAKE[key](repo, at(OBJECTS[key].store));
  await initDataset(repo.path, { datasetId: "0a1b2c3d" });
  await made.with(async (ds) => {
    for (const key of keys) {
      const { kind, store } = OBJECTS[key];
      await ds.add({ key, kind, locator: { uri: at(store) }, policy: { file: "versioned" } });
    }
    await ds.commit({ message: "Baseline" });
  });
  return made;
}

const MAKE: Readonly<Record<Key, (repo: TempRepo, path: string) => Promise<unknown>>> = {
  async code(repo, path) {
    await repo.git(["init", "--quiet", "--initial-branch=main", path], { cwd: repo.outer });
    await repo.git(["commit", "--quiet", "--allow-empty", "-m", "first"], { cwd: path });
  },
  async plate(_, path) {
    await Deno.mkdir(path);
    await Deno.writeTextFile(`${path}/a.txt`, "hi\n");
  },
  async img(_, path) {
    await createRepository(path);
    await writeArray(path, "main", { name: "scores", values: [0] });
  },
  feat: (_, path) => createLanceTable(path),
};

const WRITE: Readonly<Record<Key, (s: Scene, branch: string, value: number) => Promise<unknown>>> = {
  async code({ repo }, branch, value) {
    const cwd = `${repo.outer}/code`;
    await repo.git(["checkout", "--quiet", branch], { cwd });
    await repo.git(["commit", "--quiet", "--allow-empty", "-m", `write ${value}`], { cwd });
    await repo.git(["checkout", "--quiet", "main"], { cwd });
  },
  plate: ({ repo }, _, value) => Deno.writeTextFile(`${repo.outer}/plate/${value}.txt`, `${value}\n`),
  img: ({ repo }, branch, value) => writeArray(`${repo.outer}/img`, branch, { name: "scores", values: [value] }),
  feat: ({ repo }, branch, value) =>
    appendLanceRows(`${repo.outer}/feat.lance`, [{ id: value, name: "b" }], branch === "main" ? {} : { branch }),
};

/** Makes a folder an exact copy of another: same times, links and modes. */
async function copy(from: string, to: string): Promise<void> {
  await Deno.remove(to, { recursive: true }).catch((error) => {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  });
  const { success, stderr } = await new Deno.Command("cp", { args: ["-a", from, to] }).output();
  if (!success) throw new Error(new TextDecoder().decode(stderr));
}
