/**
 * Whether any manifest needs what lies at a place: by identity, and by the path itself, whatever kind names it. A folder that
 * holds the store, or an object inside it, counts too.
 *
 * @module
 */

import type { ObjectBackend } from "../../backends/backend.ts";
import type { Context } from "../context.ts";
import type { References } from "../history/reference_set.ts";
import { canonicalUri, isInside } from "../io/paths.ts";
import { storeOf } from "../kinds.ts";
import { canonical } from "../model/hash.ts";
import type { Locator } from "../model/manifest.ts";

/** Fields that give a place in kinds this tether does not have. */
const PLACE_FIELDS = ["uri", "path"];

/** Tells who names a store. Made once for a set of references: resolving paths costs system calls. */
export class Namers {
  readonly #ctx: Context;
  readonly #references: References;
  #paths: Promise<readonly { readonly path: string; readonly where: string }[]> | undefined;

  constructor(ctx: Context, references: References) {
    this.#ctx = ctx;
    this.#references = references;
  }

  /** Returns the manifest that needs a store, or why that cannot be told; `undefined` when none does. */
  async of(backend: ObjectBackend, locator: Locator): Promise<string | undefined> {
    const { unparsed, stores, places } = this.#references;
    if (unparsed.length > 0) return `it cannot be told what "${unparsed[0]}" names, which cannot be used`;
    const identity = canonical(backend.identity(locator));
    for (const place of places.values()) {
      if (place.kind !== backend.statics.kind) continue;
      if (canonical(backend.identity(place.locator)) === identity) return `named by ${place.where}`;
    }
    const known = stores.get(storeOf(backend, locator));
    if (known) return `named by "${known.key}"`;
    const own = placesOf(locator, backend.statics.localPathKeys.concat(backend.statics.uriKeys));
    for (const { path, where } of await (this.#paths ??= this.#resolve())) {
      if (own.some((o) => isInside(o, path) || isInside(path, o))) return `${where} needs "${path}"`;
    }
    return undefined;
  }

  async #resolve(): Promise<{ path: string; where: string }[]> {
    const found: { path: string; where: string }[] = [];
    for (const { kind, locator, where } of this.#references.places.values()) {
      let fields = PLACE_FIELDS;
      try {
        const { localPathKeys, uriKeys } = await this.#ctx.backends.statics(kind);
        fields = [...localPathKeys, ...uriKeys];
      } catch {
        // A kind this tether does not have still keeps what lies at its address.
      }
      found.push(...placesOf(locator, fields).map((path) => ({ path, where })));
    }
    return found;
  }
}

function placesOf(locator: Locator, fields: readonly string[]): string[] {
  const texts = fields.flatMap((field) => {
    const value = locator[field];
    // Names, such as those of systems in memory, lie in no folder.
    return typeof value === "string" && /^\/|^file:|:\/\//.test(value) ? [value] : [];
  });
  return [...new Set(texts.map((text) => canonicalUri(text).replace(/(?<=.)\/+$/, "")))];
}
