/**
 * `repair`: makes pins and branches again that manifests name and stores lack (commands §5.17). What drifted is never moved.
 *
 * @module
 */

import { ABSENT, type ObjectBackend, withoutAt } from "../../backends/backend.ts";
import { seedPinnedIndex } from "../checkouts.ts";
import type { Context } from "../context.ts";
import { seconds } from "../env.ts";
import { entryOf } from "../files/workspace.ts";
import { readHistory } from "../history/references.ts";
import { storeOf } from "../kinds.ts";
import { asError, messageOf, TetherError } from "../model/errors.ts";
import { reasonOf } from "../model/multi_object_error.ts";
import { renderState } from "../model/render_state.ts";
import { isJsonObject, type JsonObject } from "../model/json.ts";
import { selectKeys } from "../model/keys.ts";
import type { Locator, ObjectManifest, State } from "../model/manifest.ts";
import { redact } from "../model/redact.ts";
import { operate, withLocks } from "../plan/operation.ts";
import { type Action, Plan, type Precondition } from "../plan/plan.ts";
import { actionsOf, checkPlan } from "../plan/preconditions.ts";
import { settle } from "../plan/settle.ts";
import { type CallOptions, withJson } from "../reports/report.ts";
import type { RepairReport } from "../reports/releasing.ts";
import { isForkable } from "../state.ts";
import { completeAbandoned } from "./abandon_begun.ts";
import { forkBranch, forkRefusal, pinTrouble, refCheck, sourceOf } from "./branches.ts";
import { eachObject } from "./fan_out.ts";
import { historyPreconditions } from "./gc_plan.ts";
import { action } from "./gc_input.ts";
import { requireStorePermissions } from "./granted.ts";
import { type HistoricObjects, historyObjects } from "./history_objects.ts";
import { summary } from "./ops.ts";
import { pickSignal, standingOf } from "./snapshot.ts";
import { closing, completeLanded, finishing, unfinished } from "./unfinished.ts";
import { checkPins } from "./verify.ts";

/**
 * What to repair.
 *
 * @example Plan repairing what every commit needs
 * ```ts
 * import { Dataset, type RepairRequest } from "@tether/tether";
 * import assert from "node:assert/strict";
 * import { execSync } from "node:child_process";
 *
 * const cwd = await Deno.makeTempDir();
 * execSync("git init -q", { cwd });
 * await using ds = await Dataset.init(cwd);
 * const request: RepairRequest = { allHistory: true };
 * assert((await ds.plan.repair(request)).isEmpty);
 * ```
 */
export interface RepairRequest {
  /**
   * Keys, and prefixes that end in `/`.
   * @default {every object}
   */
  readonly keys?: readonly string[];
  /**
   * The pins of every commit, not only those of the working tree.
   * @default {false}
   */
  readonly allHistory?: boolean;
}

/** Plans and applies a repair under one hold of the locks. */
export function repair(ctx: Context, request: RepairRequest & CallOptions = {}): Promise<RepairReport> {
  return withLocks(ctx, { command: "repair", repository: true, ...pickSignal(request) }, async () => {
    const plan = await planRepair(ctx, request);
    await checkPlan(ctx, plan, "repair");
    return await apply(ctx, plan, request);
  });
}

/** Applies a saved plan. */
export function applyRepair(ctx: Context, plan: Plan, options: CallOptions = {}): Promise<RepairReport> {
  return withLocks(ctx, { command: "repair", repository: true, ...pickSignal(options) }, async () => {
    await checkPlan(ctx, plan, "repair");
    return await apply(ctx, plan, options);
  });
}

/** Plans what to make again. Nothing is written. */
export async function planRepair(ctx: Context, request: RepairRequest & CallOptions = {}): Promise<Plan> {
  const notes: string[] = [];
  const { digest } = await readHistory(ctx.vcs, { datasetId: ctx.config.datasetId });
  const unknown: Record<string, string> = {};
  const repins = await planPins(ctx, request, { notes, unknown });
  const reforks = await planBranches(ctx, request, unknown);
  notes.push(...await interrupted(ctx));
  const actions = [...repins, ...reforks.map((r) => r.action)];
  notes.push(...Object.entries(unknown).map(unknownNote));
  if (actions.length === 0 && Object.keys(unknown).length === 0) notes.push("nothing to repair");
  return new Plan({
    command: "repair",
    createdAt: seconds(ctx.env.now()),
    context: {
      all_history: request.allHistory === true,
      ...(request.keys && request.keys.length > 0 ? { keys: request.keys } : {}),
      workspace_id: ctx.workspace.workspaceId,
      history_digest: digest,
      ...(Object.keys(unknown).length > 0 ? { unknown } : {}),
    },
    notes,
    preconditions: [
      ...(await historyPreconditions(ctx, digest)).filter((p) =>
        p.kind === "workspace_id" || p.kind === "history_digest"
      ),
      ...reforks.map((r) => r.precondition),
    ],
    actions,
  });
}

interface Named {
  /** The key, or `key@commit12` of another commit. */
  readonly label: string;
  readonly object: ObjectManifest;
}

/** Every pin that is named and missing, once. */
async function planPins(
  ctx: Context,
  request: RepairRequest & CallOptions,
  { notes, unknown }: { readonly notes: string[]; readonly unknown: Record<string, string> },
): Promise<Action[]> {
  const named: Named[] = [...ctx.objects.values()].map((object) => ({ label: object.key, object }));
  const unreadable = ctx.broken.map((b) => ({ key: b.key, label: b.key, reason: b.error.message }));
  if (request.allHistory) {
    const history = await historyObjects(ctx, request);
    for (const { commit, manifest } of history.objects) {
      named.push({ label: `${manifest.key}@${commit.slice(0, 12)}`, object: manifest });
    }
    unreadable.push(...unreadableOf(history.unknown));
  }
  const universe = new Set([...named.map((n) => n.object.key), ...unreadable.map((u) => u.key)]);
  const keys = new Set(selectKeys(request.keys, universe));
  for (const { key, label, reason } of unreadable) if (keys.has(key)) unknown[label] = reason;
  const byPin = new Map<string, Named>();
  for (const n of named) {
    if (n.object.pin && n.object.state && keys.has(n.object.key) && !byPin.has(n.object.pin.id)) {
      byPin.set(n.object.pin.id, n);
    }
  }
  const subjects = [...byPin.values()];
  await requireStorePermissions(ctx, subjects.map((n) => n.object), "refs");
  const verdicts = await checkPins(ctx, subjects, request);
  const actions: Action[] = [];
  for (const n of subjects) {
    const verdict = verdicts.get(n);
    const { pin, state, kind, locator } = n.object;
    if (!pin || !state || verdict?.status === "ok") continue;
    if (verdict?.status === "missing") {
      actions.push(action("repin", {
        key: n.label,
        kind,
        target: pin.ref,
        detail: `makes it again at ${renderState(state)}`,
        params: { locator, state, pin_id: pin.id },
      }));
    } else if (verdict?.status === "drifted") {
      notes.push(`${n.label}: pin drifted, left alone: ${verdict.message ?? ""}`);
    } else unknown[n.label] = verdict?.message ?? "no answer";
  }
  return actions;
}

/** What manifests of history pin that nobody can read: each of them once, at the newest commit that has it. */
function unreadableOf(found: HistoricObjects["unknown"]): { key: string; label: string; reason: string }[] {
  const once = new Map(found.toReversed().map((u) => [`${u.path} ${u.reason}`, u]));
  const used = new Set<string>();
  return [...once.values()].map(({ commit, path, key, reason }) => {
    // One commit may hold a key twice: in a copy of the dataset, or in two manifests.
    const label = [key, path].map((name) => `${name}@${commit.slice(0, 12)}`).find((l) => !used.has(l)) ?? path;
    used.add(label);
    return { key, label, reason };
  });
}

/** Branches this checkout works on that their store lacks. */
async function planBranches(
  ctx: Context,
  request: RepairRequest & CallOptions,
  unknown: Record<string, string>,
): Promise<{ action: Action; precondition: Precondition }[]> {
  if (ctx.onTrunk) return [];
  const standing = await standingOf(ctx);
  const chosen = new Set(
    request.keys && request.keys.length > 0 ? request.keys.flatMap((k) => selectSafely(ctx, k)) : ctx.objects.keys(),
  );
  const candidates = [...ctx.objects.values()].filter((o) =>
    chosen.has(o.key) && o.state !== null && entryOf(ctx.workspace.workingRefs, o.key) !== undefined &&
    isForkable(o, standing.statics.get(o.kind))
  );
  const { values, errors } = await eachObject(ctx, candidates, {
    ...request,
    verb: "reading branches",
    fn: async ({ object, backend }) => {
      const refs = await backend.listWorkingRefs?.(withoutAt(object.locator), pickSignal(request)) ?? [];
      const present = refs.includes(entryOf(ctx.workspace.workingRefs, object.key) ?? "");
      const trouble = present ? undefined : await pinTrouble(ctx, { object, backend }, request);
      return {
        present,
        // A missing pin is made again first.
        ...(trouble && trouble.status !== "missing" ? { trouble } : {}),
        store: storeOf(backend, object.locator),
      };
    },
  });
  for (const [key, error] of errors) unknown[key] = reasonOf(error);
  const seen = new Set<string>();
  return candidates.flatMap((object) => {
    const found = values.get(object.key);
    const ref = entryOf(ctx.workspace.workingRefs, object.key) ?? "";
    if (!found || found.present || seen.has(`${found.store} ${ref}`)) return [];
    if (found.trouble) {
      unknown[ref] = forkRefusal(found.trouble);
      return [];
    }
    seen.add(`${found.store} ${ref}`);
    const params = { locator: object.locator };
    const detail = `makes it again from ${
      object.pin?.ref ?? renderState(object.state)
    }; unpinned writes on it are gone`;
    return [{
      action: action("refork", { key: object.key, kind: object.kind, target: ref, detail, params }),
      precondition: refCheck("ref_absent", object, ref, null, "{observed}", "repair"),
    }];
  });
}

/** What a plan notes of what could not be told, or not be made again. */
function unknownNote([what, why]: readonly [string, string]): string {
  return `${what}: left alone: ${why}`;
}

function selectSafely(ctx: Context, selector: string): string[] {
  return [...ctx.objects.keys()].filter((k) => selector.endsWith("/") ? k.startsWith(selector) : k === selector);
}

/** Says how far interrupted operations got, and what finishes them. */
async function interrupted(ctx: Context): Promise<string[]> {
  return (await unfinished(ctx)).map((e) =>
    `interrupted: ${e.command} ${e.id}: ${summary(e)}; to finish: ${finishing(e)}; to give it up: ${closing(e)}`
  );
}

/** What an applied repair did. */
interface Done {
  readonly repinned: Record<string, string>;
  readonly reforked: Record<string, string>;
  readonly failed: Record<string, string>;
}

async function apply(ctx: Context, plan: Plan, options: CallOptions): Promise<RepairReport> {
  options.signal?.throwIfAborted();
  const unknown = plan.context["unknown"];
  // What could not be told counts as not repaired, in the answer and in the exit code.
  const failed = isJsonObject(unknown)
    ? Object.entries(unknown).map(([what, why]) => [what, String(why)] as const)
    : [];
  const told = new Set(failed.map(unknownNote));
  const done: Done = { repinned: {}, reforked: {}, failed: Object.fromEntries(failed) };
  // A name that was used up comes back as another generation of the same id.
  const refs: Record<string, string> = {};
  if (!plan.isEmpty) {
    await seedPinnedIndex(ctx);
    const pre: JsonObject = { workspace: await ctx.workspaceFile.text() };
    await operate(ctx, { command: "repair", plan, pre }, {
      async run(op) {
        const failures: unknown[] = [];
        for (const a of [...actionsOf(plan, "repin"), ...actionsOf(plan, "refork")]) {
          options.signal?.throwIfAborted();
          try {
            const backend = await ctx.backends.get(a.kind);
            if (a.op === "repin") {
              await repin(ctx, backend, a, { done, refs, progress: (p) => op.progress(p) });
            } else await refork(ctx, backend, a, done, (p) => op.progress(p));
          } catch (error) {
            failures.push(error);
            done.failed[a.target] = redact(messageOf(asError(error)));
          }
          await ctx.env.boundary?.(`${a.op} ${a.target}`);
        }
        return { result: { ...done }, value: undefined, failures };
      },
    });
  } else await settle(ctx, { command: "repair", plan });
  const landed = [...await completeLanded(ctx), ...(await completeAbandoned(ctx)).map((a) => a.entry)];
  const data = {
    ...done,
    pinRefs: refs,
    notes: [
      ...plan.notes.filter((note) =>
        !told.has(note) && !landed.some((e) => note.startsWith(`interrupted: ${e.command} ${e.id}:`))
      ),
      ...landed.map((e) => `${e.command} ${e.id} had landed although it was interrupted: its entry is complete now`),
    ],
    complete: Object.keys(done.failed).length === 0,
    warnings: [...ctx.warnings],
  };
  return withJson(
    data,
    () => ({ repinned: data.repinned, reforked: data.reforked, failed: data.failed, notes: data.notes }),
  );
}

type Progress = (step: JsonObject & { readonly action: string }) => Promise<void>;

async function repin(
  ctx: Context,
  backend: ObjectBackend,
  a: Action,
  { done, refs, progress }: { readonly done: Done; readonly refs: Record<string, string>; readonly progress: Progress },
): Promise<void> {
  const id = String(a.params["pin_id"]);
  const pin = await backend.pin?.(a.params["locator"] as Locator, a.params["state"] as State, id);
  if (!pin) throw new TetherError(`Cannot pin "${a.key}": its kind has no pins`);
  const created = pin.created !== false;
  const [key = a.key] = a.key.split("@");
  await progress({ action: "repin", key: a.key, target: pin.ref, created });
  if (created) await ctx.indexes.addPin({ pinId: id, kind: a.kind, key });
  done.repinned[a.key] = id;
  refs[a.key] = pin.ref;
}

async function refork(ctx: Context, backend: ObjectBackend, a: Action, done: Done, progress: Progress): Promise<void> {
  const object = ctx.object(a.key);
  const fork = { from: sourceOf(object), name: a.target, expected: ABSENT } as const;
  const ref = await forkBranch(ctx, { object, backend }, fork);
  await progress({ action: "refork", key: a.key, ref });
  const { workspace } = ctx;
  const same = Object.entries(workspace.workingRefs).filter(([, r]) => r === a.target).map(([k]) => k);
  const workingRefs = { ...workspace.workingRefs };
  const forkPoints = { ...workspace.forkPoints };
  const baseStates = { ...workspace.baseStates };
  const lastSnapshot = { ...workspace.lastSnapshot };
  for (const key of same.filter((k) => ctx.objects.get(k)?.kind === a.kind)) {
    const state = ctx.objects.get(key)?.state;
    if (!state) continue;
    workingRefs[key] = ref;
    forkPoints[key] = state;
    baseStates[key] = state;
    delete lastSnapshot[key];
  }
  await ctx.saveWorkspace({ ...workspace, workingRefs, forkPoints, baseStates, lastSnapshot });
  done.reforked[a.key] = ref;
}
