/**
 * Arguments of the library's calls, checked before anything is read: from JavaScript, an option of the wrong type or an
 * empty list would otherwise act on something else than was meant (L42).
 *
 * @module
 */

import { ConfigError } from "./model/errors.ts";
import { Float } from "./model/json.ts";

/** What an option may be. */
type Form =
  | "text"
  | "flag"
  | "count"
  | "amount"
  | "keys"
  | "texts"
  | "table"
  | "locator"
  | "position"
  | "signal"
  | "call";

/** What cannot be done with arguments that are wrong. */
export type Call =
  | "abandon"
  | "acknowledge operations"
  | "apply a plan"
  | "close an operation"
  | "collect garbage"
  | "commit"
  | "compare"
  | "create a store"
  | "drop"
  | "forget a checkout"
  | "go to a bookmark"
  | "list the commits"
  | "list the operations"
  | "make a branch"
  | "make a dataset"
  | "open an object"
  | "open the dataset"
  | "promote"
  | "pull"
  | "read a history"
  | "read the status"
  | "recover"
  | "register an object"
  | "repair"
  | "restore"
  | "set a policy"
  | "take a snapshot"
  | "tell the permissions"
  | "undo"
  | "upgrade"
  | "verify";

/** The options of each call, besides `signal` and `onProgress`. */
const CALLS: Readonly<Record<Call, readonly string[]>> = {
  "abandon": ["force", "gc"],
  "acknowledge operations": [],
  "apply a plan": ["message"],
  "close an operation": [],
  "collect garbage": [
    "deleteStores",
    "dryRun",
    "forcePrune",
    "keepBookmarks",
    "pruneBookmarks",
    "releaseForeign",
    "stores",
  ],
  "commit": ["force", "keys", "message", "snapshot", "strict", "vcs"],
  "compare": ["a", "b", "content", "keys"],
  "create a store": ["at", "base", "create", "key", "kind", "locator", "policy"],
  "drop": ["bookmark", "deleteStores", "dryRun", "forcePrune", "to"],
  "forget a checkout": [],
  "go to a bookmark": ["adopt", "bookmark", "deferRecord", "discard", "eager", "keep", "rev", "shared"],
  "list the commits": ["revs"],
  "list the operations": ["limit"],
  "make a branch": [],
  "make a dataset": ["allowOlder", "datasetId", "env", "lockTimeoutMs"],
  "open an object": ["readOnly", "rev"],
  "open the dataset": ["allowOlder", "datasetId", "env", "lockTimeoutMs"],
  "promote": ["keys", "message", "rev", "strategy"],
  "pull": ["bookmark", "keys", "message"],
  "read a history": ["kind", "limit", "locator", "ref"],
  "read the status": ["keys", "snapshot"],
  "recover": ["keys"],
  "register an object": ["at", "base", "create", "key", "kind", "locator", "policy"],
  "repair": ["allHistory", "keys"],
  "restore": ["at", "discard", "from", "keys"],
  "set a policy": ["file", "pin"],
  "take a snapshot": ["keys"],
  "tell the permissions": ["access", "keys"],
  "undo": ["discard", "op"],
  "upgrade": ["ignoreImmutable"],
  "verify": ["allHistory", "allowUnknown", "deep", "keys", "rev"],
};

/** Options by name. A name means the same in every call; what is not listed is checked where it is used. */
const FORMS: Readonly<Record<string, Form>> = {
  a: "text",
  adopt: "flag",
  allHistory: "flag",
  allowOlder: "flag",
  allowUnknown: "flag",
  at: "position",
  b: "text",
  base: "text",
  bookmark: "text",
  content: "flag",
  create: "flag",
  datasetId: "text",
  deep: "flag",
  deleteStores: "flag",
  deferRecord: "flag",
  discard: "flag",
  dryRun: "flag",
  eager: "flag",
  force: "flag",
  forcePrune: "flag",
  from: "text",
  gc: "flag",
  ignoreImmutable: "flag",
  keep: "flag",
  keepBookmarks: "texts",
  key: "text",
  keys: "keys",
  kind: "text",
  limit: "count",
  locator: "locator",
  lockTimeoutMs: "amount",
  message: "text",
  onProgress: "call",
  op: "text",
  parent: "text",
  policy: "table",
  pruneBookmarks: "flag",
  readOnly: "flag",
  ref: "text",
  releaseForeign: "flag",
  rev: "text",
  revs: "texts",
  shared: "flag",
  signal: "signal",
  snapshot: "flag",
  strategy: "text",
  strict: "flag",
  to: "text",
  vcs: "flag",
};

const NAMES: Readonly<Record<Form, string>> = {
  text: "text without a NUL character",
  flag: "true or false",
  count: "a whole number from 1",
  amount: "a number from 0",
  keys: "a list of keys with at least one; leave it out for all",
  texts: "a list of texts",
  table: "an object",
  locator: "an object of texts, numbers, booleans, lists and such objects",
  position: "text or a whole number",
  signal: "an AbortSignal",
  call: "a function",
};

/**
 * Returns the options of a call, checked. One that the call does not have is refused: misspelt, it would do nothing.
 *
 * @param call What cannot be done without them, such as `commit`.
 * @param required Names of options that must be there.
 * @throws {ConfigError} with the code `argument`, naming the option and what it may be.
 */
export function checked<T extends object>(call: Call, options: T, required: readonly (keyof T & string)[] = []): T {
  if (!isTable(options)) throw wrong(call, "the options", "an object");
  for (const name of required) {
    if (options[name] === undefined) throw wrong(call, name, `${NAMES[FORMS[name] ?? "text"]}, and is missing`);
  }
  const known: readonly string[] = [...CALLS[call], "signal", "onProgress"];
  for (const [name, value] of Object.entries(options)) {
    if (value !== undefined && !known.includes(name)) {
      throw new ConfigError(`Cannot ${call}: there is no option "${name}"`, {
        code: "argument",
        hints: [`The options are ${known.join(", ")}`],
        details: { name },
      });
    }
    const form = FORMS[name];
    if (value !== undefined && form !== undefined && !is(form, value)) throw wrong(call, name, NAMES[form]);
  }
  return options;
}

/**
 * Returns a text argument of a call.
 *
 * @throws {ConfigError} with the code `argument` if it is something else.
 */
export function checkedText(call: string, name: string, value: string): string {
  if (!is("text", value)) throw wrong(call, name, NAMES.text);
  return value;
}

/**
 * Returns a list of keys or revisions.
 *
 * @throws {ConfigError} with the code `argument` if it is something else, or empty.
 */
export function checkedList(call: string, name: string, value: readonly string[]): readonly string[] {
  if (!is("keys", value)) throw wrong(call, name, "a list of texts with at least one");
  return value;
}

function is(form: Form, value: unknown): boolean {
  switch (form) {
    case "text":
      return typeof value === "string" && !value.includes("\0");
    case "flag":
      return typeof value === "boolean";
    case "count":
      return Number.isSafeInteger(value) && Number(value) >= 1;
    case "amount":
      return typeof value === "number" && value >= 0;
    case "keys":
      return is("texts", value) && (value as unknown[]).length > 0;
    case "texts":
      return Array.isArray(value) && value.every((one) => is("text", one));
    case "table":
      return isTable(value);
    case "locator":
      return isTable(value) && isStorable(value);
    case "position":
      return is("text", value) || Number.isSafeInteger(value);
    case "signal":
      return value instanceof AbortSignal;
    case "call":
      return typeof value === "function";
  }
}

function isTable(value: unknown): value is object {
  return Object.prototype.toString.call(value) === "[object Object]" && !(value instanceof Float);
}

/** Whether a manifest can hold a value: neither `null` nor `undefined` has a form in TOML. */
function isStorable(value: unknown): boolean {
  if (typeof value === "object" && value !== null && !(value instanceof Float)) {
    return (Array.isArray(value) || isTable(value)) && Object.values(value).every(isStorable);
  }
  if (typeof value === "number") return Number.isSafeInteger(value);
  return typeof value === "string"
    ? value.isWellFormed()
    : ["boolean", "bigint"].includes(typeof value) || value instanceof Float;
}

function wrong(call: string, name: string, needed: string): ConfigError {
  return new ConfigError(`Cannot ${call}: ${name} must be ${needed}`, { code: "argument", details: { name } });
}
