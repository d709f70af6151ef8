/**
 * The form of a kind's states (formats §6.4), as plain data: a manifest is checked against it before anything believes it.
 *
 * @module
 */

import type { Json, JsonObject } from "./json.ts";

/**
 * What a field of a state holds. `text` is not blank, `whole` is an integer of any size, `flag` a boolean; with `?` the field
 * may be absent. `is` names the one text it may hold.
 *
 * @example Describe a version, and the branch it may name
 * ```ts
 * import type { StateField } from "@tether/tether";
 * import assert from "node:assert/strict";
 *
 * const fields: Readonly<Record<string, StateField>> = { type: { is: "table" }, version: "whole", branch: "text?" };
 * assert.deepEqual(Object.keys(fields), ["type", "version", "branch"]);
 * ```
 */
export type StateField = "text" | "whole" | "flag" | "text?" | "whole?" | "flag?" | { readonly is: string };

type FieldType = "text" | "whole" | "flag";

/**
 * One form that a kind's states have. Fields it does not name may be there too: a newer version may add some.
 *
 * @example Describe states that are versions of a branch
 * ```ts
 * import type { StateForm } from "@tether/tether";
 * import assert from "node:assert/strict";
 *
 * const form: StateForm = { branch: "text", version: "whole" };
 * assert.equal(form["version"], "whole");
 * ```
 */
export type StateForm = Readonly<Record<string, StateField>>;

/** What is wrong with a state, and in which field. */
export interface StateProblem {
  readonly field: string;
  readonly reason: string;
}

/** Returns why a state has none of a kind's forms; `undefined` when it has one. */
export function stateProblem(state: JsonObject, forms: readonly StateForm[]): StateProblem | undefined {
  const problems = forms.map((form) => problemIn(state, form));
  if (problems.includes(undefined)) return undefined;
  // Of several forms, the constants say which one was meant.
  const meant = forms.findIndex((form) =>
    Object.entries(form).every(([name, f]) => !isConstant(f) || fits(state[name], f))
  );
  if (meant >= 0) return problems[meant];
  const [field = "type"] = Object.keys(forms[0] ?? {});
  const words = forms.flatMap((form) => Object.values(form).filter(isConstant).map((f) => JSON.stringify(f.is)));
  return { field, reason: `it is none of ${[...new Set(words)].join(", ")}` };
}

function problemIn(state: JsonObject, form: StateForm): StateProblem | undefined {
  for (const [field, wanted] of Object.entries(form)) {
    const value = Object.hasOwn(state, field) ? state[field] : undefined;
    if (fits(value, wanted)) continue;
    return { field, reason: value === undefined ? "it is missing" : `it is not ${NAMES[typeOf(wanted)]}` };
  }
  return undefined;
}

const NAMES: Readonly<Record<FieldType, string>> = {
  text: "a string that is not blank",
  whole: "a whole number",
  flag: "true or false",
};

function isConstant(field: StateField): field is { readonly is: string } {
  return typeof field === "object";
}

function typeOf(field: StateField): FieldType {
  return isConstant(field) ? "text" : field.replace(/\?$/, "") as FieldType;
}

function fits(value: Json | undefined, field: StateField): boolean {
  if (isConstant(field)) return value === field.is;
  if (value === undefined) return field.endsWith("?");
  switch (typeOf(field)) {
    case "text":
      return typeof value === "string" && value.trim() !== "";
    case "whole":
      return typeof value === "bigint" || Number.isInteger(value);
    case "flag":
      return typeof value === "boolean";
  }
}
