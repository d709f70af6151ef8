/**
 * What several commands' options have in common: their texts, their values, and the checks no parser makes.
 *
 * @module
 */

import { InvalidArgumentError } from "@commander-js/extra-typings";
import { ConfigError } from "../engine/model/errors.ts";

/** Texts of options and arguments that read the same in every command. */
export const TEXT = {
  keys: "objects: a key, or everything below a prefix/ (default: all)",
  key: "the object's key",
  rev: "a revision of the dataset: a commit, bookmark or tag, as git or jj names it",
  dryRun: "show the plan and write nothing",
  plan: "write the plan to a file, and nothing else",
  fromPlan: "apply a saved plan, if everything it saw still holds",
  limit: "how many, newest first",
  keyOption: "an object: a key, or everything below a prefix/ (repeatable; default: all)",
  set: "another field of the locator, as text (repeatable)",
} as const;

/** Parses a count: a whole number, zero included. */
export function count(value: string): number {
  const number = Number(value);
  if (!/^[0-9]+$/.test(value) || !Number.isSafeInteger(number)) throw new InvalidArgumentError("Use a whole number.");
  return number;
}

/** Parses a count of at least one. */
export function atLeastOne(value: string): number {
  const number = count(value);
  if (number < 1) throw new InvalidArgumentError("Use 1 or more.");
  return number;
}

/** Parses a port. */
export function port(value: string): number {
  const number = count(value);
  if (number < 1 || number > 65535) throw new InvalidArgumentError("Use a number from 1 to 65535.");
  return number;
}

/** Collects the values of a repeatable option. */
export function collect(value: string, previous: readonly string[] | undefined): string[] {
  return [...(previous ?? []), value];
}

/** Returns a parser for one of a few words; anything else is a refusal, not a mistake in grammar (commands §5.2). */
export function oneOf<T extends string>(flag: string, words: readonly T[]): (value: string) => T {
  return (value) => {
    const word = words.find((w) => w === value);
    if (word !== undefined) return word;
    throw new ConfigError(`Cannot use "${value}" for ${flag}: it is ${listOf(words)}`, { code: "flag" });
  };
}

/**
 * Reads `key=value` pairs of a repeatable option into fields.
 *
 * @throws {ConfigError} if one has no `=`, no name or no value, or names a field twice.
 */
export function fields(pairs: readonly string[] | undefined, flag: string): Record<string, string> {
  const result: Record<string, string> = {};
  for (const pair of pairs ?? []) {
    const at = pair.indexOf("=");
    const name = pair.slice(0, Math.max(at, 0)).trim();
    const value = pair.slice(at + 1);
    if (at < 0 || name === "" || value.trim() === "") {
      throw new ConfigError(`Cannot use "${pair}" for ${flag}: it is not NAME=VALUE`, { code: "flag" });
    }
    if (Object.hasOwn(result, name)) {
      throw new ConfigError(`Cannot use "${pair}" for ${flag}: "${name}" was given before`, { code: "flag" });
    }
    result[name] = value;
  }
  return result;
}

/**
 * Refuses empty and blank values of options and arguments (L42): an unset variable of a script must not mean "default".
 * `0` is a value. Refuses values that were not UTF-8 too: what the runtime makes of them names something else.
 *
 * @throws {ConfigError} naming the first one.
 */
export function refuseBlank(values: Iterable<readonly [name: string, value: unknown]>): void {
  for (const [name, value] of values) {
    const texts: unknown[] = Array.isArray(value) ? value : [value];
    if (texts.some((t) => typeof t === "string" && t.trim() === "")) {
      throw new ConfigError(`Cannot use an empty value for ${name}`, { code: "empty" });
    }
    // The runtime puts this character for bytes that are no UTF-8 (L22). A message is for people, and may hold it.
    if (name !== "--message" && texts.some((t) => typeof t === "string" && t.includes("\ufffd"))) {
      throw new ConfigError(`Cannot use this value for ${name}: it is not UTF-8, so it cannot be told what it names`, {
        code: "encoding",
        hints: ["Give the name in UTF-8: what is called otherwise on disk must be renamed"],
      });
    }
  }
}

/** An object without its undefined members, as options of the engine want it. */
export type Given<T> =
  & { [K in keyof T as undefined extends T[K] ? never : K]: T[K] }
  & { [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined> };

/** Leaves out members that are undefined: an option that was not given is absent. */
export function given<T extends object>(values: T): Given<T> {
  return Object.fromEntries(Object.entries(values).filter(([, v]) => v !== undefined)) as Given<T>;
}

/** Returns selectors as the engine takes them: none given means all. */
export function selectors(keys: readonly string[] | undefined): string[] | undefined {
  return keys === undefined || keys.length === 0 ? undefined : [...keys];
}

function listOf(words: readonly string[]): string {
  return words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} or ${words.at(-1)}`;
}
