/**
 * `verify`: do pins still name what commits recorded, and can those states be opened (commands §5.12)?
 *
 * @module
 */

import type { ObjectBackend, Retention, Verdict } from "../../backends/backend.ts";
import type { Context } from "../context.ts";
import { historyObjects } from "./history_objects.ts";
import { namespaceOf, storeOf } from "../kinds.ts";
import { BackendError } from "../model/backend_errors.ts";
import { ConfigError, messageOf, TetherError } from "../model/errors.ts";
import { canonical } from "../model/hash.ts";
import { compareCodePoints, type JsonObject } from "../model/json.ts";
import { selectKeys } from "../model/keys.ts";
import type { ObjectManifest, Pin, State } from "../model/manifest.ts";
import { mapLimit } from "../io/pool.ts";
import { type CallOptions, type Progress, withJson } from "../reports/report.ts";
import type { VerifyEntry, VerifyReport } from "../reports/reading.ts";
import { tierOfObject } from "../kinds.ts";
import { retentionOf } from "./retention.ts";
import { requireStorePermissions } from "./granted.ts";
import { manifestsAt } from "../revision.ts";
import { staticsFor } from "../state.ts";
import { pickSignal } from "./snapshot.ts";

/**
 * Options of {@link verify}.
 *
 * @example Check everything that was ever recorded
 * ```ts
 * import { Dataset, type VerifyOptions } from "@tether/tether";
 * import assert from "node:assert/strict";
 * import { execSync } from "node:child_process";
 *
 * const cwd = await Deno.makeTempDir();
 * execSync("git init -q && git config user.name Ada && git config user.email ada@example.org", { cwd });
 * await using ds = await Dataset.init(cwd);
 * await ds.add({ key: "m", kind: "memory", locator: { system: "m" } });
 * const { vcsCommit } = await ds.commit({ message: "Baseline" });
 *
 * const options: VerifyOptions = { allHistory: true, deep: true };
 * const { entries } = await ds.verify(options);
 * assert.equal(entries[0]?.label, `${vcsCommit?.slice(0, 12)}:m`);
 * ```
 */
export interface VerifyOptions extends CallOptions {
  /**
   * Keys, and prefixes that end in `/`.
   * @default {every object}
   */
  readonly keys?: readonly string[];
  /**
   * Checks what this commit recorded.
   * @default {the working tree}
   */
  readonly rev?: string;
  /**
   * Checks every commit; entries are labelled `<commit12>:<key>`.
   * @default {false}
   */
  readonly allHistory?: boolean;
  /**
   * Opens recorded states. Without a pin nothing less can tell that a state is there.
   * @default {false}
   */
  readonly deep?: boolean;
  /**
   * Lets `unknown` pass.
   * @default {false}
   */
  readonly allowUnknown?: boolean;
}

/** One recorded state to check, and what it is called. */
interface Subject {
  readonly label: string;
  readonly object: ObjectManifest;
}

/** Checks recorded states. A store that cannot be asked makes `unknown`, never `missing`. */
export async function verify(ctx: Context, options: VerifyOptions = {}): Promise<VerifyReport> {
  if (options.allHistory && options.rev !== undefined) {
    throw new ConfigError("Cannot combine --all-history with --rev: it is every revision", { code: "flags" });
  }
  const warnings: string[] = [];
  const { subjects, unreadable } = options.allHistory ? await inHistory(ctx, options) : await atOne(ctx, options);
  const { known, unknown: strange, observed } = await sorted(ctx, subjects);
  if (strange.length > 0) {
    const kinds = [...new Set(strange.map((s) => `"${s.object.kind}"`))].join(", ");
    warnings.push(`Not checked: ${strange.length} state(s) of kinds this tether does not have: ${kinds}`);
  }
  if (options.allHistory) {
    if (observed.length > 0) {
      warnings.push(`Not checked: ${observed.length} state(s) of history that were only observed, never kept`);
    }
  } else known.push(...observed);
  await requireStorePermissions(ctx, [...new Set(known.map((s) => s.object))], "read");
  const verdicts = await checkPins(ctx, known, options);
  const entries: VerifyEntry[] = await mapLimit(known, 32, async (s): Promise<VerifyEntry> => {
    const verdict = verdicts.get(s) ?? { status: "unknown" };
    const entry = { label: s.label, status: verdict.status, message: verdict.message ?? "" };
    const lasts = options.allHistory || verdict.status === "missing" ? undefined : await lasting(ctx, s, options);
    return lasts === undefined ? entry : { ...entry, retention: lasts };
  }, options.signal);
  // Not known is not ok: a state nobody here can check is part of the answer and of the exit code.
  entries.push(...strange.map(({ label, object }): VerifyEntry => ({
    label,
    status: "unknown",
    message: `this tether does not have kind "${object.kind}"`,
  })));
  entries.push(...unreadable);
  if (options.allHistory) entries.push(...await missingHistory(ctx));
  if (!options.allHistory) entries.sort((a, b) => compareCodePoints(a.label, b.label));
  const deep = options.deep === true;
  const ok = entries.every((e) => e.status === "ok" || (options.allowUnknown === true && e.status === "unknown"));
  const data = { entries, deep, ok, warnings: [...warnings, ...ctx.warnings] };
  return withJson(
    data,
    () => Object.fromEntries(entries.map((e) => [e.label, entryJson(e)])),
  );
}

function entryJson({ status, message, retention }: VerifyEntry): JsonObject {
  if (retention === undefined) return { status, message };
  const { until, rule, enforced } = retention;
  return { status, message, retention: { until: until?.toISOString() ?? null, rule, enforced } };
}

/** What the system says of a state that no pin holds, where it keeps states at all. */
async function lasting(ctx: Context, { object }: Subject, options: CallOptions): Promise<Retention | undefined> {
  if (object.pin !== null || object.state === null || !object.recoverable) return undefined;
  try {
    const backend = await ctx.backends.get(object.kind);
    return await retentionOf(backend, object, { ...pickSignal(options), state: object.state });
  } catch (error) {
    // A driver that does not load has been told of by the verdict.
    if (error instanceof TetherError) return undefined;
    throw error;
  }
}

interface Sorted {
  readonly known: Subject[];
  /** Of kinds that are not known here. */
  readonly unknown: readonly Subject[];
  /** Those whose recorded bytes no store keeps. */
  readonly observed: readonly Subject[];
}

async function sorted(ctx: Context, subjects: readonly Subject[]): Promise<Sorted> {
  const statics = await staticsFor(subjects.map((s) => s.object), ctx.backends);
  const result = { known: [] as Subject[], unknown: [] as Subject[], observed: [] as Subject[] };
  for (const subject of subjects) {
    const described = statics.get(subject.object.kind);
    if (!described) result.unknown.push(subject);
    else result[tierOfObject(described, subject.object) === "observed" ? "observed" : "known"].push(subject);
  }
  return result;
}

/** What is to be checked, and what manifests that cannot be used recorded: that is not known to hold. */
interface Found {
  readonly subjects: readonly Subject[];
  readonly unreadable: readonly VerifyEntry[];
}

/** Commits that this clone does not have: what they recorded is not known to hold (L03). */
async function missingHistory(ctx: Context): Promise<VerifyEntry[]> {
  const completeness = await ctx.vcs.completeness();
  if (completeness.complete) return [];
  const ways = completeness.hints.length > 0 ? `: ${completeness.hints.join(", then ")}` : "";
  return [{ label: "history", status: "unknown", message: `partial, ${completeness.reason}${ways}` }];
}

async function atOne(ctx: Context, options: VerifyOptions): Promise<Found> {
  const working = options.rev === undefined;
  const objects = working ? ctx.objects : await manifestsAt(ctx, options.rev);
  const keys = selectKeys(options.keys, working ? ctx.keys() : objects.keys());
  const chosen = new Set(keys);
  const broken = working ? ctx.broken.filter((b) => chosen.has(b.key)) : [];
  return {
    subjects: keys.flatMap((key) => {
      const object = objects.get(key);
      return object?.state ? [{ label: key, object }] : [];
    }),
    unreadable: broken.map(({ key, error }) => ({ label: key, status: "unknown", message: error.message })),
  };
}

async function inHistory(ctx: Context, options: VerifyOptions): Promise<Found> {
  const { objects, unknown } = await historyObjects(ctx, options);
  const keys = new Set(selectKeys(options.keys, [...objects.map((o) => o.manifest.key), ...unknown.map((u) => u.key)]));
  const used = new Set<string>();
  // A commit may hold one key twice: in a copy of the dataset, or in two manifests. Neither may hide the other.
  const label = (commit: string, { key, path }: { readonly key: string; readonly path: string }): string => {
    const short = `${commit.slice(0, 12)}:${key}`;
    const free = used.has(short) ? `${commit.slice(0, 12)}:${path}` : short;
    used.add(free);
    return free;
  };
  return {
    subjects: objects
      .filter(({ manifest }) => keys.has(manifest.key) && manifest.state)
      .map(({ commit, path, manifest }) => ({ label: label(commit, { key: manifest.key, path }), object: manifest })),
    unreadable: unknown.filter((u) => keys.has(u.key)).map((u) => ({
      label: label(u.commit, u),
      status: "unknown",
      message: u.reason,
    })),
  };
}

/** Asks each distinct (store, state, pin) once; shallow pins of one namespace with one listing where the kind can. */
export async function checkPins<S extends { readonly object: ObjectManifest }>(
  ctx: Context,
  subjects: readonly S[],
  options: VerifyOptions,
): Promise<ReadonlyMap<S, Verdict>> {
  const verdicts = new Map<S, Verdict>();
  const groups = new Map<string, { backend: ObjectBackend; questions: Map<string, S[]> }>();
  const stores = new Map<string, { readonly store: string; readonly namespace: string }>();
  // Commits share manifests, and manifests share locators: each is looked at once.
  for (const [object, same] of Map.groupBy(subjects, (subject) => subject.object)) {
    let backend: ObjectBackend;
    try {
      backend = await ctx.backends.get(object.kind);
    } catch (error) {
      for (const subject of same) verdicts.set(subject, { status: "unknown", message: messageOf(error) });
      continue;
    }
    const spelled = `${object.kind}|${canonical(object.locator)}`;
    const known = stores.get(spelled) ??
      { store: storeOf(backend, object.locator), namespace: namespaceOf(backend, object.locator) };
    stores.set(spelled, known);
    const listable = !options.deep && object.pin !== null && backend.verifyPins !== undefined;
    const name = listable ? known.namespace : `${known.store}|one by one`;
    const group = groups.get(name) ?? { backend, questions: new Map<string, S[]>() };
    groups.set(name, group);
    const question = canonical([
      known.store,
      object.state,
      object.pin && { id: object.pin.id, ref: object.pin.ref },
    ]);
    group.questions.set(question, (group.questions.get(question) ?? []).concat(same));
  }
  const total = [...groups.values()].reduce((n, g) => n + g.questions.size, 0);
  let done = 0;
  const tell = (within?: Progress["within"]): void =>
    options.onProgress?.({ verb: "verifying", done, total, ...(within === undefined ? {} : { within }) });
  await mapLimit([...groups], 32, async ([name, { backend, questions }]) => {
    const asked = [...questions.values()];
    const answers = name.endsWith("|one by one")
      ? await mapLimit(asked, backend.statics.concurrency, (same) => one(backend, same[0], { ...options, tell }))
      : await listed(backend, asked, options);
    asked.forEach((same, i) => {
      for (const subject of same) verdicts.set(subject, answers[i] ?? { status: "unknown" });
    });
    done += asked.length;
    tell();
  }, options.signal);
  return verdicts;
}

async function listed(
  backend: ObjectBackend,
  asked: readonly { readonly object: ObjectManifest }[][],
  options: CallOptions,
): Promise<readonly Verdict[]> {
  const items = asked.flatMap((same) =>
    same[0]?.object.state && same[0].object.pin
      ? [{ state: same[0].object.state as State, pin: same[0].object.pin as Pin }]
      : []
  );
  const locator = asked[0]?.[0]?.object.locator ?? {};
  try {
    return await backend.verifyPins?.(locator, items, pickSignal(options)) ?? [];
  } catch (error) {
    return items.map(() => unknown(error));
  }
}

async function one(
  backend: ObjectBackend,
  subject: { readonly object: ObjectManifest } | undefined,
  options: VerifyOptions & { readonly tell: (within: Progress["within"]) => void },
): Promise<Verdict> {
  const object = subject?.object;
  if (!object?.state) return { status: "unknown" };
  try {
    return await backend.verify(object.locator, object.state, object.pin ?? undefined, {
      deep: options.deep === true,
      ...pickSignal(options),
      ...(options.onProgress ? { onParts: (parts) => options.tell({ ...parts, key: object.key }) } : {}),
    });
  } catch (error) {
    options.signal?.throwIfAborted();
    return unknown(error);
  }
}

function unknown(error: unknown): Verdict {
  return error instanceof BackendError
    ? { status: "unknown", message: error.reason, cause: error }
    : { status: "unknown", message: messageOf(error) };
}
