/**
 * Keeps secrets out of what would be committed: locators, keys and commit messages (L39).
 *
 * @module
 */

import type { Context } from "../context.ts";
import { ConfigError } from "../model/errors.ts";
import { InvalidLocatorError } from "../model/backend_errors.ts";
import { Float, type Json, type JsonObject, writeJson } from "../model/json.ts";
import type { Locator, ObjectManifest } from "../model/manifest.ts";
import { namesSecret, secretIn, tokenIn } from "../model/redact.ts";
import { manifestsOf } from "../revision.ts";

/** Where a secret was found, and what it is. The value itself is never part of it. */
interface Found {
  /** The field's path. */
  readonly field: string;
  /** Such as `a password`. */
  readonly what: string;
  /** Whether the field's name says so, and not its value. */
  readonly named: boolean;
}

/**
 * Refuses a locator with a password, token, signature or key in it: it would be committed.
 *
 * @throws {InvalidLocatorError} naming the field, never the value.
 */
export function refuseSecrets(
  locator: Locator,
  options: { readonly kind: string; readonly key?: string; readonly doing: "register" | "commit" },
): void {
  const found = findSecret(locator);
  if (!found) return;
  const { kind, key, doing } = options;
  const out = doing === "register" ? "leave it out of the locator" : "take it out of the manifest";
  throw new InvalidLocatorError(
    `Cannot ${doing} a locator that holds a secret: field "${found.field}" has ${found.what}`,
    {
      kind,
      ...(key === undefined ? {} : { key }),
      hints: [
        found.named
          ? `Put it in .tether/secrets.toml under [uris."PREFIX"] or in the environment, and ${out}`
          : `Put it in .tether/secrets.toml under [uris."PREFIX"], and give the address without it: ${out}`,
      ],
    },
  );
}

/**
 * Refuses to commit manifests whose locators hold secrets. What is in the current commit already is not refused again: it
 * is no secret any more, and nothing else could be committed beside it.
 */
export async function refuseSecretsInCommit(ctx: Context, objects: readonly ObjectManifest[]): Promise<void> {
  const suspects = objects.filter((o) => findSecret(o.locator) !== undefined);
  if (suspects.length === 0) return;
  const { commit } = await ctx.position();
  const committed = commit === null ? undefined : await manifestsOf(ctx, commit);
  for (const { key, kind, locator } of suspects) {
    if (canonical(committed?.get(key)?.locator) === canonical(locator)) continue;
    refuseSecrets(locator, { kind, key, doing: "commit" });
  }
}

/** Refuses a key that is a token. @throws {ConfigError} naming what it is, never the token. */
export function refuseTokenKey(key: string): void {
  const what = tokenIn(key);
  if (what === undefined) return;
  throw new ConfigError(`Cannot use this key: it holds ${what}, and would be committed`, {
    code: "secret",
    hints: ["Give another key; a token belongs in .tether/secrets.toml or in the environment"],
  });
}

/** Refuses a commit message that holds a token, or what no program can be handed. @throws {ConfigError} naming what it is. */
export function refuseTokenMessage(message: string): void {
  if (message.includes("\0")) {
    throw new ConfigError("Cannot commit with this message: it holds a NUL character", { code: "message" });
  }
  const what = tokenIn(message);
  if (what === undefined) return;
  throw new ConfigError(
    `Cannot commit with this message: it holds ${what}, which everybody who has a clone could read`,
    {
      code: "secret",
      hints: ["Write the message without it"],
    },
  );
}

function findSecret(value: Json, path = ""): Found | undefined {
  if (typeof value === "string") {
    const what = secretIn(value);
    return what === undefined ? undefined : { field: path, what, named: false };
  }
  if (value === null || typeof value !== "object" || value instanceof Float) return undefined;
  for (const [name, inner] of Object.entries(value as JsonObject)) {
    const field = path === "" ? name : `${path}.${name}`;
    if (!Array.isArray(value) && namesSecret(name)) return { field, what: "a credential by its name", named: true };
    const what = tokenIn(name);
    const found = what === undefined ? findSecret(inner, field) : { field: path, what, named: false };
    if (found) return found;
  }
  return undefined;
}

function canonical(locator: Locator | undefined): string | undefined {
  return locator === undefined ? undefined : writeJson(locator, { sortKeys: true });
}
