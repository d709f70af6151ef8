/**
 * What a command needs of the runtime, compared with what the process was granted (backends §4, L38). Nothing here ever
 * prompts: a permission that would have to be asked for is one that was not granted.
 *
 * @module
 */

import { dirname } from "node:path";
import { NO_NEEDS, type PermissionNeeds } from "../backends/backend.ts";
import { SandboxError } from "./model/backend_errors.ts";
import { compareCodePoints } from "./model/json.ts";

/** The kinds of permission, in the order in which flags are printed. */
export const PERMISSION_CLASSES = ["read", "write", "net", "env", "run", "ffi", "sys"] as const;
/** One kind of permission. */
export type PermissionClass = typeof PERMISSION_CLASSES[number];

/** One thing that was not granted. */
export interface MissingPermission {
  readonly name: PermissionClass;
  /** The path, host with port, variable, program or system fact. */
  readonly value: string;
}

/** What one object or command needs, and how it is named in an error. */
export interface NamedNeeds {
  readonly kind: string;
  /** The object's key. */
  readonly key?: string;
  readonly needs: PermissionNeeds;
}

/** Returns what all of some needs come to, each value once and sorted. */
export function unionNeeds(all: Iterable<PermissionNeeds>): PermissionNeeds {
  const sets = Object.fromEntries(PERMISSION_CLASSES.map((name) => [name, new Set<string>()]));
  let ambient = false;
  for (const needs of all) {
    ambient ||= needs.ambient;
    for (const name of PERMISSION_CLASSES) for (const value of needs[name]) sets[name]?.add(value);
  }
  const lists = Object.entries(sets).map(([name, set]) => [name, [...set].sort(compareCodePoints)]);
  return { ...NO_NEEDS, ...Object.fromEntries(lists), ambient };
}

/** Returns the needs that the process was not granted. Asks the runtime, never the user. */
export function missingPermissions(needs: PermissionNeeds): readonly MissingPermission[] {
  return PERMISSION_CLASSES.flatMap((name) =>
    needs[name].filter((value) => !isGranted(name, value)).map((value) => ({ name, value }))
  );
}

/**
 * Checks that the process was granted everything some objects need, before any of them is touched.
 *
 * @throws {SandboxError} naming every object, what it lacks, and the flags that grant all of it.
 */
export function requirePermissions(objects: readonly NamedNeeds[]): void {
  const lacking = objects
    .map((object) => ({ object, missing: missingPermissions(object.needs) }))
    .filter(({ missing }) => missing.length > 0);
  const [first] = lacking;
  if (!first) return;
  const flags = denoFlags(unionNeeds(lacking.map(({ missing }) => asNeeds(missing))));
  const kinds = [...new Set(lacking.map(({ object }) => object.kind))].sort(compareCodePoints);
  const reason = lacking.length === 1
    ? `Cannot open the store: ${sentence(first.missing)} not granted`
    : `Cannot open ${lacking.length} stores: ` +
      lacking.map(({ object, missing }) => `${object.key ?? object.kind} lacks ${sentence(missing)}`).join("; ");
  const key = lacking.length === 1 ? first.object.key : undefined;
  throw new SandboxError(reason, {
    kind: kinds.join(", "),
    ...(key === undefined ? {} : { key }),
    flags,
    hints: remedy(flags),
  });
}

/** Stands for every variable of the environment. */
export const EVERY_VARIABLE = "*";

/** Returns the flags that grant some needs to `deno run`, one per kind of permission. Not quoted for a shell. */
export function denoFlags(needs: PermissionNeeds): readonly string[] {
  return PERMISSION_CLASSES.flatMap((name) => {
    if (name === "env" && needs.env.includes(EVERY_VARIABLE)) return ["--allow-env"];
    const values = [...new Set(needs[name].map((value) => name === "net" ? value : withoutComma(value)))];
    return values.length > 0 ? [`--allow-${name}=${values.join(",")}`] : [];
  });
}

/** A flag separates its values with commas and has no way to quote one: such a path is granted by a folder above it. */
function withoutComma(value: string): string {
  let granted = value;
  while (granted.includes(",")) granted = dirname(granted);
  return granted;
}

function isGranted(name: PermissionClass, value: string): boolean {
  return Deno.permissions.querySync(descriptor(name, value)).state === "granted";
}

function descriptor(name: PermissionClass, value: string): Deno.PermissionDescriptor {
  switch (name) {
    case "read":
    case "write":
    case "ffi":
      return { name, path: value };
    case "net":
      // The runtime refuses to answer for a wildcard; it answers for a host that only a wildcard can have granted.
      return { name, host: value.replace(/^\*\./, "tether-wildcard-probe.") };
    case "env":
      return value === EVERY_VARIABLE ? { name } : { name, variable: value };
    case "run":
      return { name, command: value };
    case "sys":
      return { name, kind: value as NonNullable<Deno.SysPermissionDescriptor["kind"]> };
  }
}

function asNeeds(missing: readonly MissingPermission[]): PermissionNeeds {
  const lists = PERMISSION_CLASSES.map((name) => [name, missing.filter((m) => m.name === name).map((m) => m.value)]);
  return { ...NO_NEEDS, ...Object.fromEntries(lists) };
}

const PHRASES: Readonly<Record<PermissionClass, string>> = {
  read: "read access to",
  write: "write access to",
  net: "net access to",
  env: "the variables",
  run: "running",
  ffi: "loading",
  sys: "system facts",
};

function sentence(missing: readonly MissingPermission[]): string {
  const phrases = PERMISSION_CLASSES.flatMap((name) => {
    const values = missing.filter((m) => m.name === name).map((m) => `"${m.value}"`);
    return values.length > 0 ? [`${PHRASES[name]} ${values.join(", ")}`] : [];
  });
  return phrases.join(" and ");
}

function remedy(flags: readonly string[]): readonly string[] {
  return Deno.build.standalone
    ? [
      "This program was built without these permissions and cannot be given them: run a build that has them, or run it " +
      `with Deno and ${flags.join(" ")}`,
    ]
    : [`Run it with ${flags.join(" ")}`];
}
