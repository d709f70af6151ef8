/**
 * `.tether/secrets.toml`: credentials and machine-local choices (formats §9, backends §1.5).
 *
 * Read it only once the VCS has said that it does not track the file (L40). tether never writes it.
 *
 * @module
 */

import type { SecretRule } from "../../backends/backend.ts";
import { isJsonObject, type Json, type JsonObject } from "../model/json.ts";
import type { Locator } from "../model/manifest.ts";
import { namesSecret, registerSecret } from "../model/redact.ts";
import { Fields } from "./_fields.ts";
import { readText } from "./atomic.ts";
import { datasetPaths } from "./layout.ts";
import { readToml } from "./toml.ts";

const NAME = ".tether/secrets.toml";
const MAX_BYTES = 4 * 1024 * 1024;

/** What `secrets.toml` says. */
export interface Secrets {
  readonly vcs: { readonly gitPath?: string; readonly jjPath?: string };
  /** Query of `import` from an SQL source. */
  readonly importQuery?: string;
  /** Settings by kind, over those of `tether.toml`. */
  readonly backends: Readonly<Record<string, JsonObject>>;
  /** Options by URI prefix. */
  readonly uris: Readonly<Record<string, JsonObject>>;
  /** Options by object key, for exactly that object's URI. */
  readonly objects: Readonly<Record<string, JsonObject>>;
}

/** The secrets of a checkout that has none. */
export const NO_SECRETS: Secrets = { vcs: {}, backends: {}, uris: {}, objects: {} };

/**
 * Reads the secrets of the dataset at a root, and teaches the redactor the credentials among them.
 *
 * @throws {ConfigError} naming file and path of a wrong value, never the value.
 */
export async function readSecrets(root: string): Promise<{ secrets: Secrets; warnings: string[] }> {
  const path = datasetPaths(root).secrets;
  const text = await readText(path, { name: NAME, maxBytes: MAX_BYTES });
  if (text === undefined) return { secrets: NO_SECRETS, warnings: [] };
  const secrets = parseSecrets(text, NAME);
  for (const table of [secrets.backends, secrets.uris, secrets.objects]) rememberSecrets(table);
  const mode = (await Deno.stat(path)).mode;
  const open = mode !== null && Deno.build.os !== "windows" && (mode & 0o077) !== 0;
  return { secrets, warnings: open ? [`"${NAME}" can be read by others: chmod 600 ${NAME}`] : [] };
}

/**
 * Reads a secrets document.
 *
 * @throws {ConfigError} as {@link readSecrets}.
 */
export function parseSecrets(text: string, name: string): Secrets {
  const fields = new Fields(readToml(text, name), name);
  const tables = (key: string) => fields.table(key).record((table, k): JsonObject => table.object(k) ?? {});
  const gitPath = fields.table("vcs").text("git_path");
  const jjPath = fields.table("vcs").text("jj_path");
  const importQuery = fields.table("import").text("query");
  const secrets: Secrets = {
    vcs: { ...(gitPath === undefined ? {} : { gitPath }), ...(jjPath === undefined ? {} : { jjPath }) },
    ...(importQuery === undefined ? {} : { importQuery }),
    backends: tables("backends"),
    uris: tables("uris"),
    objects: tables("objects"),
  };
  for (const table of ["uris", "objects"] as const) {
    for (const [key, options] of Object.entries(secrets[table])) {
      const [id, secret] = [options["access_key_id"], options["secret_access_key"]];
      if ((id === undefined) !== (secret === undefined)) {
        throw fields.table(table).problem(key, "access_key_id and secret_access_key belong together");
      }
    }
  }
  return secrets;
}

/** Returns the settings of a kind: the committed ones with the secret ones merged over them, at every depth. */
export function backendConfig(
  kind: string,
  committed: Readonly<Record<string, JsonObject>>,
  secrets: Secrets,
): JsonObject {
  return merged(ownTable(committed, kind), ownTable(secrets.backends, kind));
}

/** A store that an `[objects."<key>"]` entry may stand for. */
export interface KeyedLocator {
  readonly key: string;
  readonly locator: Locator;
}

/**
 * Returns the rules that hold for the stores of one kind. An `[objects]` entry becomes a rule for exactly the URI of that
 * object; for a key that is no longer registered, pass what the touched and created indexes recorded under it.
 */
export function secretRules(
  secrets: Secrets,
  options: {
    /** Locator keys that hold a URI, first present wins. */
    readonly uriKeys: readonly string[];
    readonly objects: Iterable<KeyedLocator>;
  },
): SecretRule[] {
  const rules: SecretRule[] = [];
  for (const { key, locator } of options.objects) {
    if (!Object.hasOwn(secrets.objects, key)) continue;
    const uri = options.uriKeys.map((name) => locator[name]).find((value) => typeof value === "string");
    if (uri !== undefined) rules.push({ prefix: uri as string, exact: true, options: ownTable(secrets.objects, key) });
  }
  for (const [prefix, table] of Object.entries(secrets.uris)) rules.push({ prefix, exact: false, options: table });
  return rules;
}

function ownTable(tables: Readonly<Record<string, JsonObject>>, key: string): JsonObject {
  return Object.hasOwn(tables, key) ? tables[key] ?? {} : {};
}

function merged(base: JsonObject, over: JsonObject): JsonObject {
  const entries = new Map<string, Json>(Object.entries(base));
  for (const [key, value] of Object.entries(over)) {
    const below = entries.get(key);
    entries.set(key, isJsonObject(below) && isJsonObject(value) ? merged(below, value) : value);
  }
  return Object.fromEntries(entries);
}

/** Variables that hold credentials of stores and services (backends §1.5, commands §2). */
const SECRET_VARIABLES: readonly string[] = [
  "AWS_SECRET_ACCESS_KEY",
  "AWS_SESSION_TOKEN",
  "AZURE_STORAGE_ACCOUNT_KEY",
  "AZURE_STORAGE_ACCESS_KEY",
  "AZURE_STORAGE_SAS_TOKEN",
  "AZURE_CLIENT_SECRET",
  "GOOGLE_SERVICE_ACCOUNT_KEY",
  "NEON_API_KEY",
  "PGPASSWORD",
  "TETHER_PUBLISH_DSN",
  "GITHUB_TOKEN",
  "GH_TOKEN",
  "GITLAB_TOKEN",
  "HF_TOKEN",
];

/**
 * Teaches the redactor the credentials that the environment holds, and those that secrets name a variable for: a hook or a
 * driver may print them.
 */
export function rememberEnvironment(secrets: Secrets, variable: (name: string) => string | undefined): void {
  const named = [secrets.backends, secrets.uris, secrets.objects].flatMap(variablesIn);
  for (const name of [...SECRET_VARIABLES, ...named]) {
    const value = variable(name);
    if (value !== undefined) registerSecret(value);
  }
}

/** Returns the variables that `password_env` and its like name. */
function variablesIn(value: Json): string[] {
  if (!isJsonObject(value)) return [];
  return Object.entries(value).flatMap(([key, item]) =>
    typeof item !== "string" ? variablesIn(item) : key.endsWith("_env") && namesSecret(key.slice(0, -4)) ? [item] : []
  );
}

function rememberSecrets(value: Json): void {
  if (!isJsonObject(value)) return;
  for (const [key, item] of Object.entries(value)) {
    if (typeof item !== "string") rememberSecrets(item);
    else if (namesSecret(key)) registerSecret(item);
    else rememberPassword(item);
  }
}

/** The password of an address, such as that of a git remote. */
function rememberPassword(address: string): void {
  const password = /^[a-z][a-z0-9+.-]*:\/\/[^\s/:@]*:([^\s/@]+)@/i.exec(address)?.[1];
  if (password !== undefined) registerSecret(password);
}
