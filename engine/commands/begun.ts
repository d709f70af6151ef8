/**
 * What earlier, interrupted runs of the same command did: the run that finishes it journals their work as its own, so that undo
 * takes all of it back (L37, L43).
 *
 * @module
 */

import type { Context } from "../context.ts";
import { type OpEntry, planActions, planContext } from "../files/journal.ts";
import { isJsonObject, jsonEqual, type JsonObject } from "../model/json.ts";
import type { Action, Plan } from "../plan/plan.ts";
import { begunBefore } from "./unfinished.ts";

/** Interrupted runs of one command, right before this one. */
export class Begun {
  readonly #entries: readonly OpEntry[];

  private constructor(entries: readonly OpEntry[]) {
    this.#entries = entries;
  }

  /** Finds them: the newest entries of the journal that never finished, and have some fields of the context in common. */
  static async find(ctx: Context, plan: Plan, fields: readonly string[]): Promise<Begun> {
    const alike = (e: OpEntry): boolean =>
      e.command === plan.command &&
      fields.every((field) => jsonEqual(planContext(e.plan)[field] ?? null, plan.context[field] ?? null));
    return new Begun(await begunBefore(ctx, alike));
  }

  /** Whether there are any. */
  get any(): boolean {
    return this.#entries.length > 0;
  }

  /** The bookmark that they made; `null` for none. */
  get bookmark(): string | null {
    const context = this.#entries.map((e) => planContext(e.plan)).find((c) => c["create"] === true);
    return context === undefined ? null : String(context["bookmark"]);
  }

  /** Returns what undo needs to know, as it was before the first of them. */
  merge(pre: JsonObject): JsonObject {
    const [first] = this.#entries;
    if (!first) return pre;
    const heads = this.#entries.toReversed().map((e) => e.pre["heads"]).filter(isJsonObject);
    return { ...pre, ...first.pre, heads: Object.assign({}, pre["heads"], ...heads) };
  }

  /** Whether a branch that is found there is one that they made. Their plans had found none. */
  created(found: Action): boolean {
    return this.#planned(found, (params) => params["existing"] === undefined);
  }

  /** Whether a branch that is found there is one that they reset. */
  reset(found: Action): boolean {
    return !this.created(found) && this.#planned(found, (params) => params["existing"] !== undefined);
  }

  #planned(found: Action, is: (params: JsonObject) => boolean): boolean {
    return this.#entries.flatMap((entry) => planActions(entry.plan)).some((a) =>
      a["op"] === "fork" && a["key"] === found.key && a["target"] === found.target && isJsonObject(a["params"]) &&
      is(a["params"])
    );
  }
}
