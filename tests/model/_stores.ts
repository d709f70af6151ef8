/**
 * The stores of the model test, seen from outside tether: their refs, and what is reachable from them.
 *
 * @module
 */

import { type MemorySnapshot, namedStore } from "../../backends/memory/store.ts";
import type { Locator } from "../../backends/backend.ts";
import type { JsonObject } from "../../engine/model/json.ts";
import { runGit } from "./_git.ts";

/** Heads by ref: `branch NAME` or `tag NAME`. */
export type Refs = ReadonlyMap<string, string>;

/** A store that datasets share. */
export interface Store {
  readonly name: string;
  readonly kind: string;
  readonly locator: Locator;
  /** The dataset that made it; absent while there is no such store, or it sprang from elsewhere. */
  owner(): string | undefined;
  /** Returns all refs as they are now; none while there is no such store. */
  refs(): Promise<Refs>;
  /** Returns the head a recorded state stands for. */
  headOf(state: JsonObject): string;
  /** Tells whether a head is, or is an ancestor of, one of some others. */
  reaches(heads: Iterable<string>, head: string): Promise<boolean>;
  /** Writes something new on a branch, as another program does. */
  write(branch: string): Promise<void>;
  /** Makes, moves or removes (`null`) a ref, as another program does. */
  setRef(ref: string, head: string | null): Promise<void>;
  /** Forgets what no ref reaches, as the store's own collection does. */
  collect(): Promise<void>;
}

let written = 0;

/** All of a memory system. */
export interface SystemCopy {
  readonly snapshots: readonly MemorySnapshot[];
  readonly branches: ReadonlyMap<string, string>;
  readonly tags: ReadonlyMap<string, string>;
}

/** Copies a memory system. */
export function exportSystem(name: string): SystemCopy {
  const { snapshots, branches, tags } = namedStore().find(name) ?? {};
  return { snapshots: [...snapshots?.values() ?? []], branches: new Map(branches), tags: new Map(tags) };
}

/** A memory system that is not there until tether makes it. */
export function absentStore(name: string): Store {
  namedStore().delete(name);
  return viewOf(name);
}

/** Makes a memory system anew: with nothing in it, or as a copy. */
export function memoryStore(name: string, copy?: SystemCopy): Store {
  const all = namedStore();
  all.delete(name);
  all.create(name, { base: "main", now: new Date(0) });
  const system = () => all.use(name, { base: "main", now: new Date(0) });
  // The first snapshot is there; the others get the numbers they had, since they are in order.
  for (const snapshot of copy?.snapshots.slice(1) ?? []) system().append(snapshot);
  for (const [branch, head] of copy?.branches ?? []) system().branches.set(branch, head);
  for (const [tag, head] of copy?.tags ?? []) system().tags.set(tag, head);
  return viewOf(name);
}

function viewOf(name: string): Store {
  const all = namedStore();
  const system = () => all.find(name);
  const tableOf = (ref: string) => ref.startsWith("tag ") ? system()?.tags : system()?.branches;
  return {
    name,
    kind: "memory",
    locator: { system: name },
    owner: () => system()?.owner,
    refs: () =>
      Promise.resolve(
        new Map([
          ...[...system()?.branches ?? []].map(([ref, head]) => [`branch ${ref}`, head] as const),
          ...[...system()?.tags ?? []].map(([ref, head]) => [`tag ${ref}`, head] as const),
        ]),
      ),
    headOf: (state) => String(state["snapshot_id"]),
    reaches: (heads, head) =>
      Promise.resolve([...heads].some((h) => system()?.ancestry(h).some((snapshot) => snapshot.id === head))),
    write(branch) {
      if (system()) all.write(name, { [`k${written}`]: written++ }, { branch, now: new Date(0) });
      return Promise.resolve();
    },
    setRef(ref, head) {
      const short = ref.slice(ref.indexOf(" ") + 1);
      if (head === null) tableOf(ref)?.delete(short);
      else tableOf(ref)?.set(short, head);
      return Promise.resolve();
    },
    collect() {
      const found = system();
      const heads = [...found?.branches.values() ?? [], ...found?.tags.values() ?? []];
      const alive = new Set(heads.flatMap((h) => found?.ancestry(h).map((snapshot) => snapshot.id) ?? []));
      for (const id of found?.snapshots.keys() ?? []) if (!alive.has(id)) all.expire(name, id);
      return Promise.resolve();
    },
  };
}

/** Makes a git repository with one commit. */
export async function gitStore(name: string, path: string): Promise<Store> {
  const git = (args: readonly string[]) => runGit(path, args);
  await runGit("/", ["init", "--quiet", "--bare", "--initial-branch=main", path]);
  const tree = await git(["hash-object", "-t", "tree", "-w", "--stdin"]);
  await git(["update-ref", "refs/heads/main", await git(["commit-tree", "-m", "first", tree])]);
  const full = (ref: string) => ref.replace(/^branch /, "refs/heads/").replace(/^tag /, "refs/tags/");
  return {
    name,
    kind: "git",
    locator: { uri: path },
    owner: () => undefined,
    async refs() {
      const lines = (await git(["for-each-ref", "--format=%(refname) %(objectname) %(*objectname)"])).split("\n");
      return new Map(lines.flatMap((line) => {
        const [ref = "", id = "", peeled = ""] = line.split(" ");
        const short = ref.replace(/^refs\/heads\//, "branch ").replace(/^refs\/tags\//, "tag ");
        return ref === "" ? [] : [[short, peeled || id] as const];
      }));
    },
    headOf: (state) => String(state["sha"]),
    async reaches(heads, head) {
      const found = await git(["rev-list", ...heads, "--"]);
      return found.split("\n").includes(head);
    },
    async write(branch) {
      const parent = await git(["rev-parse", `refs/heads/${branch}`]);
      const commit = await git(["commit-tree", "-m", `write ${written++}`, "-p", parent, tree]);
      await git(["update-ref", `refs/heads/${branch}`, commit]);
    },
    async setRef(ref, head) {
      await git(["update-ref", ...head === null ? ["-d", full(ref)] : [full(ref), head]]);
    },
    async collect() {
      await git(["gc", "--quiet", "--prune=now"]);
    },
  };
}
