/**
 * `backends`: which kinds there are, and which work here (commands §5.3). Works outside a dataset.
 *
 * @module
 */

import { CAPABILITIES, DEFAULT_SETTINGS, tierOf } from "../../backends/backend.ts";
import { knownKinds, openBackend, staticsOf } from "../../backends/catalog.ts";
import { messageOf, TetherError } from "../model/errors.ts";
import { compareCodePoints } from "../model/json.ts";
import type { BackendReport, BackendsReport } from "../reports/registering.ts";
import { withJson } from "../reports/report.ts";

/**
 * Lists every known kind. A kind whose driver does not load is listed with the cause, and stops no other.
 *
 * @example Name the kinds that work here
 * ```ts
 * import { listBackends } from "@tether/tether";
 * import assert from "node:assert/strict";
 *
 * const { kinds } = await listBackends();
 * assert(kinds.filter((k) => k.installed).some((k) => k.kind === "file"));
 * ```
 */
export async function listBackends(): Promise<BackendsReport> {
  const kinds: BackendReport[] = [];
  for (const kind of [...await knownKinds()].sort(compareCodePoints)) kinds.push(await describe(kind));
  return withJson({ kinds }, () => kinds.map((k) => ({ ...k })));
}

async function describe(kind: string): Promise<BackendReport> {
  const statics = await staticsOf(kind);
  if (!statics) return { kind, installed: false, maturity: null, tier: null, capabilities: [], note: "not known" };
  const known = {
    kind,
    maturity: statics.maturity,
    tier: tierOf(statics.capabilities),
    capabilities: CAPABILITIES.filter((c) => statics.capabilities.has(c)),
  };
  const notes = statics.testOnly ? ["for tests"] : [];
  try {
    await using backend = await openBackend(kind, DEFAULT_SETTINGS);
    const partial = await backend.limitations?.();
    if (partial) notes.push(partial);
    return { ...known, installed: true, note: notes.join("; ") || null };
  } catch (error) {
    const hints = error instanceof TetherError ? error.hints : [];
    notes.push([messageOf(error), ...hints].join("; "));
    return { ...known, installed: false, note: notes.join("; ") };
  }
}

/** Names the kinds that `add` offers, by maturity, without loading a driver. */
export async function kindsOnOffer(): Promise<{ readonly stable: string[]; readonly experimental: string[] }> {
  const offer: { stable: string[]; experimental: string[] } = { stable: [], experimental: [] };
  for (const kind of [...await knownKinds()].sort(compareCodePoints)) {
    const statics = await staticsOf(kind);
    if (statics && !statics.testOnly) offer[statics.maturity].push(kind);
  }
  return offer;
}
