/**
 * The commands of tether that the model test gives, made from random numbers and the world as it is.
 *
 * @module
 */

import { openContext } from "../../engine/context.ts";
import { initDataset } from "../../engine/commands/init.ts";
import type { GcRequest } from "../../engine/commands/gc_input.ts";
import { planCommit } from "../../engine/commands/commit_plan.ts";
import type { Dataset } from "../../engine/dataset.ts";
import type { Locator } from "../../backends/backend.ts";
import { Plan } from "../../engine/plan/plan.ts";
import type { UndoReport } from "../../engine/reports/moving.ts";
import { type Numbers, pick } from "./_numbers.ts";
import { readText } from "./_sight.ts";
import { inDataset, type Place, type System, type World } from "./_world.ts";

/** What a command was allowed to do, and what came of it. */
export interface Allowed {
  /** Commands whose effects it may have; the first names it. */
  readonly command: string;
  readonly force?: boolean;
  readonly prune?: boolean;
  readonly releaseForeign?: boolean;
}

/** A command about to be given. */
export interface Given extends Allowed {
  /** Runs it; returns what undo said, for undo. */
  run(): Promise<UndoReport | undefined>;
}

/** Plans saved for later. */
export interface Saved extends Allowed {
  readonly root: string;
  readonly text: string;
}

/** What commands are made from. */
export interface Scene {
  readonly world: World;
  readonly place: Place;
  readonly saved: Saved[];
  /** Branches, tags and remote branches there are, as a revision names them. */
  readonly names: readonly string[];
}

/** Bookmarks that are made: one is not itself in the name of its branch, two differ in letter case only. */
export const BOOKMARKS: readonly string[] = ["x", "y/z", "w", "X"];

/** What revisions are named by: first those that may be abandoned. */
const REVISIONS: Readonly<Record<System, readonly string[]>> = {
  git: ["HEAD", "HEAD~1", "HEAD~2", "x", "main", "main~1", "x~1", "nowhere"],
  jj: ["@-", "@--", "@---", "x", "main", "main-", "x-", "nowhere"],
};

/** Returns a revision, seldom one that is not there. */
export function revision(n: number, { names, world }: Scene): string {
  return pick([...names, ...REVISIONS[world.system]], n);
}

/** Returns a bookmark, seldom one that is not there. */
export function bookmark(n: number, { names }: Scene): string {
  const there = BOOKMARKS.filter((b) => names.includes(b));
  return n % 5 === 0 || there.length === 0 ? pick(BOOKMARKS, n) : pick(there, n);
}

type Make = (n: Numbers, scene: Scene) => Given;

function give(
  command: string,
  scene: Scene,
  fn: (ds: Dataset) => Promise<unknown>,
  allowed: Partial<Allowed> = {},
): Given {
  return {
    command,
    ...allowed,
    run: async () => {
      const report = await inDataset(scene.place.root, fn);
      return command === "undo" ? report as UndoReport : undefined;
    },
  };
}

function keysOf(n: Numbers, ds: Dataset): string[] {
  return [pick([...ds.objects.keys(), "m1"], n.b)];
}

function newOptions(n: Numbers, scene: Scene): Parameters<Dataset["new"]>[0] {
  const flags = pick([{}, {}, { shared: true }, { keep: true }, { discard: true }, { adopt: true }], n.c);
  const eager = n.f[0] ? { eager: true } : {};
  const fresh = pick(BOOKMARKS.filter((b) => n.f[1] || !scene.names.includes(b)), n.b);
  if (n.a % 6 === 0) return { ...flags, ...eager };
  if (n.a % 2 === 1) return { bookmark: fresh, ...eager, ...n.c % 3 === 0 ? { rev: revision(n.c, scene) } : {} };
  return { rev: n.f[1] ? revision(n.b, scene) : pick(["main", bookmark(n.b, scene)], n.c), ...flags, ...eager };
}

function gcOptions(n: Numbers): GcRequest & { pruneBookmarks: boolean; forcePrune: boolean; releaseForeign: boolean } {
  const pruneBookmarks = n.f[0] ?? false;
  return {
    pruneBookmarks,
    forcePrune: pruneBookmarks && n.c % 4 === 0,
    releaseForeign: n.b % 4 === 0,
    deleteStores: n.a % 3 === 0,
  };
}

/** What each command is made of. Those that move data are listed more than once. */
export const COMMANDS: Readonly<Record<string, Make>> = {
  add(n, scene) {
    const store = pick(scene.world.stores, n.a);
    const key = pick([store.name, store.name, `deep/${store.name}`, `second-${store.name}`], n.b);
    const pin = n.f[0] ? "record" : "native";
    return give("add", scene, (ds) => ds.add({ key, kind: store.kind, locator: spelled(store, n), policy: { pin } }));
  },
  remove: (n, scene) => give("remove", scene, (ds) => ds.remove(keysOf(n, ds)[0] ?? "")),
  set: (n, scene) =>
    give("set", scene, (ds) => ds.setPolicy(n.f[0] ? "all" : keysOf(n, ds), { pin: n.f[1] ? "record" : "native" })),
  status: (n, scene) => give("status", scene, (ds) => ds.status({ snapshot: n.f[0] ?? false })),
  snapshot: (_, scene) => give("snapshot", scene, (ds) => ds.snapshot()),
  verify: (n, scene) =>
    give("verify", scene, (ds) => Promise.resolve(ds.verify({ allHistory: n.f[0] ?? false, deep: n.f[1] ?? false }))),
  diff: (n, scene) => give("diff", scene, (ds) => ds.diff(revision(n.b, scene))),
  ops: (_, scene) => give("ops", scene, (ds) => ds.ops()),
  init: (_, scene) => ({ command: "init", run: () => initDataset(scene.place.root).then(() => undefined) }),
  commit: (n, scene) =>
    give(
      "commit",
      scene,
      (ds) =>
        ds.commit({
          message: `commit ${n.c}`,
          ...n.a % 4 === 0 ? { keys: keysOf(n, ds) } : {},
          ...n.b % 5 === 0 ? { vcs: false } : {},
        }),
    ),
  pull: (_, scene) => give("pull", scene, (ds) => ds.pull()),
  new: (n, scene) => {
    const options = newOptions(n, scene);
    return give("new", scene, (ds) => ds.new(options), { force: options?.discard === true });
  },
  open: (n, scene) =>
    give("open", scene, async (ds) => {
      const rev = n.f[1] ? { rev: revision(n.c, scene) } : { readOnly: n.f[0] ?? false };
      await using _handle = await ds.open(keysOf(n, ds)[0] ?? "", rev);
    }),
  restore: (n, scene) =>
    give("restore", scene, (ds) => ds.restore(restoreKeys(n, ds), restoreOptions(n, scene)), {
      force: n.f[1] ?? false,
    }),
  promote: (n, scene) => give("promote", scene, (ds) => ds.promote(promoteOptions(n, ds, scene))),
  drop: (n, scene) =>
    give(
      "drop",
      scene,
      (ds) =>
        ds.drop(bookmark(n.b, scene), { forcePrune: n.f[0] ?? false, deleteStores: n.f[1] ?? false, dryRun: false }),
      {
        force: n.f[0] ?? false,
        prune: true,
      },
    ),
  undo: (n, scene) =>
    give("undo", scene, async (ds) => {
      const { ops } = await ds.ops();
      const op = n.a % 3 === 0 ? { op: ops[n.b % Math.max(ops.length, 1)]?.id ?? "none" } : {};
      return await ds.undo({ ...op, discard: n.f[0] ?? false });
    }, { force: n.f[0] ?? false }),
  repair: (n, scene) => give("repair", scene, (ds) => ds.repair({ allHistory: n.f[0] ?? false })),
  gc: (n, scene) => {
    const options = gcOptions(n);
    const { forcePrune: force, pruneBookmarks: prune, releaseForeign } = options;
    return give("gc", scene, (ds) => ds.gc({ ...options, dryRun: false }), { force, prune, releaseForeign });
  },
  plan: (n, scene) => ({
    command: "plan",
    run: async () => {
      await inDataset(scene.place.root, async (ds) => {
        const { plan, ...allowed } = await planned(n, ds, scene);
        if (ds.persistent) scene.saved.push({ root: scene.place.root, text: plan.text(), ...allowed });
      });
      return undefined;
    },
  }),
  apply: (n, scene) => {
    const here = scene.saved.filter((s) => s.root === scene.place.root || n.f[0]);
    const saved = pick(here, n.b);
    if (!saved) return COMMANDS["plan"]?.(n, scene) ?? fail();
    return {
      ...saved,
      run: () => inDataset(scene.place.root, (ds) => ds.apply(Plan.fromJSON(saved.text))).then(() => undefined),
    };
  },
  abandon: (n, scene) => {
    const there = REVISIONS[scene.world.system].slice(0, 4);
    const revs = [pick(there, n.a), ...n.b % 3 === 0 ? there.slice(1, 2) : []];
    const [release = false, force = false] = n.f;
    return give("abandon", scene, (ds) => ds.abandon([...new Set(revs)], { gc: release, force }), { force });
  },
  forget: (n, scene) => ({
    command: "forget-workspace",
    run: async () => {
      const root = pick(scene.place.clone.checkouts, n.a);
      const id = /workspace_id = "(.+)"/.exec(await readText(`${root}/.tether/workspace.toml`))?.[1] ?? "none";
      await inDataset(scene.place.root, (ds) => ds.forgetWorkspace(id));
      return undefined;
    },
  }),
  create: (_, scene) =>
    give("add", scene, (ds) => ds.add({ key: "made", kind: "memory", locator: { system: "made" }, create: true })),
  recover: (_, scene) => give("recover", scene, (ds) => ds.recover()),
  "killed commit": (n, scene) => ({
    command: "commit",
    run: () => killedCommit(scene.place.root, n).then(() => undefined),
  }),
};

function fail(): never {
  throw new Error("There is no such command");
}

/** One store may be named in more ways than one. */
function spelled(store: { readonly kind: string; readonly locator: Locator }, n: Numbers): Locator {
  if (store.kind === "memory") return n.f[1] ? { uri: String(store.locator["system"]) } : store.locator;
  return n.f[1] ? { uri: `file://${store.locator["uri"]}` } : store.locator;
}

function restoreKeys(n: Numbers, ds: Dataset): string[] {
  return n.a % 2 === 0 ? [...ds.objects.keys()] : keysOf(n, ds);
}

function restoreOptions(n: Numbers, scene: Scene): Parameters<Dataset["restore"]>[1] {
  const where = n.f[0] ? { at: pick(["main", "m1:s0", "m1:s1", "foreign"], n.c) } : { from: revision(n.c, scene) };
  return { ...where, discard: n.f[1] ?? false };
}

function promoteOptions(n: Numbers, ds: Dataset, scene: Scene): Parameters<Dataset["promote"]>[0] {
  return {
    ...n.a % 3 === 0 ? { keys: keysOf(n, ds) } : {},
    strategy: pick(["auto", "ff", "merge"] as const, n.c),
    ...n.f[0] ? { rev: revision(n.b, scene) } : {},
  };
}

async function planned(n: Numbers, ds: Dataset, scene: Scene): Promise<Allowed & { readonly plan: Plan }> {
  const gc = gcOptions(n);
  const fresh = newOptions(n, scene);
  const forcePrune = n.f[0] ?? false;
  switch (n.a % 7) {
    case 0:
      return { command: "commit", plan: await ds.plan.commit({ message: "planned" }) };
    case 1:
      return { command: "new", force: fresh?.discard === true, plan: await ds.plan.new(fresh) };
    case 2:
      return {
        command: "drop",
        force: forcePrune,
        prune: true,
        plan: await ds.plan.drop({ bookmark: bookmark(n.b, scene), forcePrune }),
      };
    case 3:
      return { command: "promote", plan: await ds.plan.promote(promoteOptions(n, ds, scene)) };
    case 4:
      return { command: "repair", plan: await ds.plan.repair({ allHistory: n.f[0] ?? false }) };
    case 5:
      return {
        command: "restore",
        force: n.f[1] ?? false,
        plan: await ds.plan.restore({ keys: restoreKeys(n, ds), ...restoreOptions(n, scene) }),
      };
    default:
      return {
        command: "gc",
        force: gc.forcePrune,
        prune: gc.pruneBookmarks,
        releaseForeign: gc.releaseForeign,
        plan: await ds.plan.gc(gc),
      };
  }
}

/** A commit that dies between its pins: begun in the journal, some pins made, maybe noted, and no more. */
async function killedCommit(root: string, n: Numbers): Promise<void> {
  await using ctx = await openContext(root);
  const plan = await planCommit(ctx, { message: "killed" });
  const pins = plan.actions.filter((a) => a.op === "pin");
  if (pins.length === 0) return;
  const op = await ctx.journal.start({ command: "commit", plan: plan.toJSON() });
  for (const action of pins.slice(0, n.b % (pins.length + 1))) {
    const object = ctx.object(action.key);
    const backend = await ctx.backends.get(object.kind);
    const { state, pin_id } = action.params as { state: Record<string, never>; pin_id: string };
    const pin = await backend.pin?.(object.locator, state, pin_id);
    if (n.f[0] && pin?.created) await op.progress({ action: "pin", key: action.key, ref: pin.ref });
  }
}
