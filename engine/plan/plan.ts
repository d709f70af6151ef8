/**
 * Plans: store writes as data, with what must still hold when they are applied (formats §13, commands §3).
 *
 * @module
 */

import { ConfigError, messageOf, StalePlanError } from "../model/errors.ts";
import { MultiObjectError } from "../model/multi_object_error.ts";
import { sha256 } from "../model/hash.ts";
import { Float, type Json, type JsonObject, parseJson, writeJson } from "../model/json.ts";
import { PLAN_VERSION } from "../version.ts";
import { askAgain } from "./again.ts";

/**
 * Commands that have plans.
 *
 * @example Tell a command that has plans
 * ```ts
 * import type { PlanCommand } from "@tether/tether";
 * import assert from "node:assert/strict";
 *
 * const reviewed: ReadonlySet<string> = new Set<PlanCommand>(["commit", "new", "promote"]);
 * assert(reviewed.has("commit"));
 * ```
 */
export type PlanCommand =
  | "commit"
  | "pull"
  | "new"
  | "restore"
  | "promote"
  | "gc"
  | "drop"
  | "repair"
  | "import"
  | "forget-workspace"
  | "upgrade"
  | "publish";

/**
 * One step of a plan.
 *
 * @example Read what a plan would do to an object
 * ```ts
 * import type { Action } from "@tether/tether";
 * import assert from "node:assert/strict";
 *
 * const pin: Action = {
 *   op: "pin",
 *   key: "features",
 *   kind: "lance",
 *   target: "tether.0a1b2c3d.c9d52233a70a6142",
 *   detail: "native ref at branch=main version=7",
 *   params: { state: { branch: "main", version: 7 } },
 * };
 * assert.equal(pin.op, "pin");
 * ```
 */
export interface Action {
  /** The verb, such as `pin`, `fork` or `unpin` (formats §13.3). */
  readonly op: string;
  /** The object's key; empty for a step of the whole dataset. */
  readonly key: string;
  /** The backend kind; empty for a step of the whole dataset. */
  readonly kind: string;
  /** What it is done to: a native ref, a bookmark, a file. */
  readonly target: string;
  /** Why, or with what, for people. */
  readonly detail: string;
  /** What applying needs to know. */
  readonly params: JsonObject;
}

/**
 * What must hold at apply time. `{observed}` in `detail` is replaced literally.
 *
 * @example Read what a plan rests on
 * ```ts
 * import type { Precondition } from "@tether/tether";
 * import assert from "node:assert/strict";
 *
 * const onMain: Precondition = {
 *   kind: "workspace_bookmark",
 *   expected: "main",
 *   key: null,
 *   params: {},
 *   detail: "the checkout is on {observed}, the plan was made on main",
 * };
 * assert.equal(onMain.detail.replaceAll("{observed}", "relabel"), "the checkout is on relabel, the plan was made on main");
 * ```
 */
export interface Precondition {
  /** What is compared, such as `ref_head` or `manifest_hash` (formats §13.2). */
  readonly kind: string;
  /** What the plan saw; `null` where it saw nothing. */
  readonly expected: Json;
  /** The object concerned; `null` for the whole dataset. */
  readonly key: string | null;
  /** What the comparison needs to know, such as the ref. */
  readonly params: JsonObject;
  /** What to say when it does not hold; `{observed}` in it becomes what was found instead. */
  readonly detail: string;
}

/**
 * A plan's file, member by member in the order of the file.
 *
 * @example Review a saved plan in another program
 * ```ts
 * import { Plan, type PlanJson } from "@tether/tether";
 * import assert from "node:assert/strict";
 *
 * const plan = new Plan({ command: "gc", createdAt: "2026-01-01T00:00:00+00:00", context: {}, preconditions: [], actions: [] });
 * const file: PlanJson = plan.toJSON();
 * assert.deepEqual([file.command, file.actions.length, file.digest.length], ["gc", 0, 64]);
 * ```
 */
export interface PlanJson extends JsonObject {
  /** 3, the one format there is. */
  readonly format: number;
  /** The maker; no other version applies the plan. */
  readonly tether_version: string;
  /** The command that applies it. */
  readonly command: string;
  /** ISO 8601 UTC, whole seconds. */
  readonly created_at: string;
  /** What the whole plan rests on, such as the message of a commit. */
  readonly context: JsonObject;
  /** What the author should know beside the actions. */
  readonly notes: readonly string[];
  /** What must hold, as {@link Precondition}. */
  readonly preconditions: readonly JsonObject[];
  /** What is done, in this order, as {@link Action}. */
  readonly actions: readonly JsonObject[];
  /** SHA-256 over all of the above, 64 hex digits. It detects edits and authenticates nobody. */
  readonly digest: string;
}

/** The one plan format there is. */
export const PLAN_FORMAT = 3;

/** Levels of a file: a state within an action, and room to spare. */
const MAX_DEPTH = 200;

/** Verbs that write nothing (formats §13.3). */
const INFORMATIONAL: ReadonlySet<string> = new Set([
  "adopt",
  "defer-fork",
  "hold",
  "keep-branch",
  "keep-pin",
  "keep-store",
  "refuse",
  "reuse",
  "share",
  "trunk",
]);

/**
 * What a plan is made of.
 *
 * @example Make a plan of nothing
 * ```ts
 * import { Plan, type PlanData } from "@tether/tether";
 * import assert from "node:assert/strict";
 *
 * const data: PlanData = {
 *   command: "gc",
 *   createdAt: "2026-01-01T00:00:00+00:00",
 *   context: {},
 *   preconditions: [],
 *   actions: [],
 * };
 * assert.deepEqual(new Plan(data).render(), ["plan: gc (0 write(s))", "  gc: nothing to do"]);
 * ```
 */
export interface PlanData {
  /** The command that applies it. */
  readonly command: string;
  /** ISO 8601 UTC, whole seconds, `+00:00`. */
  readonly createdAt: string;
  /** What the whole plan rests on, such as the message of a commit. */
  readonly context: JsonObject;
  /**
   * What the author should know beside the actions.
   * @default {[]}
   */
  readonly notes?: readonly string[];
  /** What must hold at apply time. */
  readonly preconditions: readonly Precondition[];
  /** What is done, in this order. */
  readonly actions: readonly Action[];
}

/**
 * A read-only plan: what a command would write, and what it saw.
 *
 * @example Save a plan, review it, apply it later
 * ```ts
 * import { Dataset, Plan } from "@tether/tether";
 * import assert from "node:assert/strict";
 * import { execSync } from "node:child_process";
 *
 * const cwd = await Deno.makeTempDir();
 * execSync("git init -q && git config user.name Ada && git config user.email ada@example.org", { cwd });
 * await using ds = await Dataset.init(cwd);
 * await ds.add({ key: "raw", kind: "file", locator: { uri: await Deno.makeTempDir() } });
 * const plan = await ds.plan.commit({ message: "Baseline" });
 * assert.deepEqual(plan.actions.map((a) => a.op), ["record", "vcs-commit"]);
 *
 * const saved = plan.text();
 * await ds.apply(Plan.fromJSON(saved));
 * assert.equal((await ds.status()).objects[0]?.state, "clean");
 * ```
 */
export class Plan {
  /** The command that applies it. */
  readonly command: string;
  /** ISO 8601 UTC, whole seconds, `+00:00`. */
  readonly createdAt: string;
  /** What the whole plan rests on, such as the message of a commit. */
  readonly context: JsonObject;
  /** What the author should know beside the actions. */
  readonly notes: readonly string[];
  /** What must hold at apply time. */
  readonly preconditions: readonly Precondition[];
  /** What is done, in this order; some of them write nothing, see {@link Plan.writes}. */
  readonly actions: readonly Action[];
  /** The maker, `deno-<version>`. */
  readonly tetherVersion: string;
  /** The digest a loaded plan came with; that of the content for a plan made here. */
  readonly recordedDigest: string;

  /** Makes a plan of this tether, or with `loaded` one that a file brought. */
  constructor(data: PlanData, loaded?: { readonly tetherVersion: string; readonly digest: string }) {
    this.command = data.command;
    this.createdAt = data.createdAt;
    this.context = data.context;
    this.notes = data.notes ?? [];
    this.preconditions = data.preconditions;
    this.actions = data.actions;
    this.tetherVersion = loaded?.tetherVersion ?? PLAN_VERSION;
    this.recordedDigest = loaded?.digest ?? this.digest();
  }

  /** Actions that write. */
  get writes(): readonly Action[] {
    return this.actions.filter((a) => !INFORMATIONAL.has(a.op));
  }

  /** Whether applying would write nothing. */
  get isEmpty(): boolean {
    return this.writes.length === 0;
  }

  /** Returns the SHA-256 over everything but the digest: keys sorted, compact, ASCII-escaped (formats §2.3). */
  digest(): string {
    return sha256(writeJson(this.#body(), { sortKeys: true, ascii: true }));
  }

  /** Returns the plan as its file has it. */
  toJSON(): PlanJson {
    return { ...this.#body(), digest: this.recordedDigest } as unknown as PlanJson;
  }

  /** Returns the file's text: two spaces of indentation, ASCII-escaped, no final newline. */
  text(): string {
    return writeJson(this.toJSON(), { indent: 2, ascii: true });
  }

  /** Returns the lines a person reads (commands §3.5). */
  render(): string[] {
    if (this.actions.length === 0) {
      return [
        `plan: ${this.command} (0 write(s))`,
        `  ${this.command}: nothing to do`,
        ...this.notes.map((n) => `  ${n}`),
      ];
    }
    const width = Math.max(0, ...this.actions.map((a) => a.key.length));
    const lines = [`plan: ${this.command} (${this.writes.length} write(s))`];
    for (const a of this.actions) {
      const where = [a.kind ? `[${a.kind}]` : "", a.target].filter((x) => x !== "").join(" ");
      lines.push(
        `  ${a.op.padStart(18)}  ${a.key.padEnd(width)}  ${where}${where && a.detail ? "  " : ""}${a.detail}`.trimEnd(),
      );
    }
    for (const note of this.notes) lines.push(`  ${" ".repeat(18)}  ${note}`);
    return lines;
  }

  /**
   * Reads a plan's file.
   *
   * @throws {ConfigError} if it is not JSON or not a plan.
   * @throws {StalePlanError} if another tether made it.
   */
  static fromJSON(text: string): Plan {
    let json: Json;
    try {
      json = parseJson(text);
    } catch (error) {
      throw malformed(`it is not JSON: ${messageOf(error)}`);
    }
    if (isDeeper(json, MAX_DEPTH)) throw malformed(`it is nested deeper than ${MAX_DEPTH} levels`);
    const file = objectOf(json, "the plan");
    const maker = file["tether_version"];
    if (typeof maker !== "string") {
      throw new StalePlanError("Cannot use the plan: an older tether made it, and it does not say which", {
        hints: ["Make the plan again with this tether"],
      });
    }
    if (maker !== PLAN_VERSION) {
      throw new StalePlanError(`Cannot use the plan: tether ${maker} made it, and this is tether ${PLAN_VERSION}`, {
        hints: ["Make the plan again with this tether"],
        details: { made_by: maker, this: PLAN_VERSION },
      });
    }
    if (file["format"] !== PLAN_FORMAT) {
      throw new StalePlanError(
        `Cannot use the plan: its format is ${JSON.stringify(file["format"])}, this tether has ${PLAN_FORMAT}`,
        {
          hints: ["Make the plan again"],
        },
      );
    }
    const known = [
      "format",
      "tether_version",
      "command",
      "created_at",
      "context",
      "notes",
      "preconditions",
      "actions",
      "digest",
    ];
    const unknown = Object.keys(file).filter((k) => !known.includes(k));
    const missing = known.filter((k) => k !== "digest" && !(k in file));
    if (unknown.length + missing.length > 0) {
      const what = unknown.length > 0 ? `has an unknown field "${unknown[0]}"` : `lacks the field "${missing[0]}"`;
      throw new StalePlanError(`Cannot use the plan: it ${what}, so it was edited`, { hints: ["Make the plan again"] });
    }
    return new Plan({
      command: textOf(file["command"], "command"),
      createdAt: textOf(file["created_at"], "created_at"),
      context: objectOf(file["context"], "context"),
      notes: listOf(file["notes"], "notes").map((n) => textOf(n, "notes")),
      preconditions: listOf(file["preconditions"], "preconditions").map((p) => {
        const o = objectOf(p, "preconditions");
        return {
          kind: textOf(o["kind"], "preconditions.kind"),
          expected: o["expected"] ?? null,
          key: o["key"] === null || o["key"] === undefined ? null : textOf(o["key"], "preconditions.key"),
          params: objectOf(o["params"], "preconditions.params"),
          detail: textOf(o["detail"], "preconditions.detail"),
        };
      }),
      actions: listOf(file["actions"], "actions").map((a) => {
        const o = objectOf(a, "actions");
        return {
          op: textOf(o["op"], "actions.op"),
          key: textOf(o["key"], "actions.key"),
          kind: textOf(o["kind"], "actions.kind"),
          target: textOf(o["target"], "actions.target"),
          detail: textOf(o["detail"], "actions.detail"),
          params: objectOf(o["params"], "actions.params"),
        };
      }),
    }, { tetherVersion: maker, digest: typeof file["digest"] === "string" ? file["digest"] : "" });
  }

  #body(): JsonObject {
    return {
      format: PLAN_FORMAT,
      tether_version: this.tetherVersion,
      command: this.command,
      created_at: this.createdAt,
      context: this.context,
      notes: this.notes,
      preconditions: this.preconditions.map((p) => ({ ...p })),
      actions: this.actions.map((a) => ({ ...a })),
    };
  }
}

/**
 * Stops a plan that holds refusals: they say what really is in the way, so they come before its preconditions (Δ18).
 *
 * @throws {MultiObjectError} with all of them.
 */
export function refuseIfRefused(plan: Plan, attempted: string): void {
  const refusals = plan.actions.filter((a) => a.op === "refuse");
  if (refusals.length === 0) return;
  const reason = (a: Action): ConfigError => new ConfigError(`"${a.target}" ${a.detail}`, { code: "refused" });
  const errors = new Map(refusals.map((a) => [a.key || a.target, reason(a)]));
  throw new MultiObjectError(attempted, errors, { code: "refused", hints: refusalHints(plan, refusals) });
}

function refusalHints(plan: Plan, refusals: readonly Action[]): string[] {
  const says = (text: string): boolean => refusals.some((a) => a.detail.includes(text));
  const named = refusals.flatMap((a) => [...a.detail.matchAll(/"(tether [^"]+)"/g)].map(([, way = ""]) => way));
  return [
    ...new Set(named),
    ...(says("commit them") ? ["tether commit -m MESSAGE"] : []),
    ...(says("--shared") ? [askAgain(plan, "--shared")] : []),
    ...(says("--discard") ? [askAgain(plan, "--discard")] : []),
  ];
}

function malformed(reason: string): ConfigError {
  return new ConfigError(`Cannot read the plan: ${reason}`, { code: "plan", hints: ["Make the plan again"] });
}

/** Tells whether a value is nested deeper than any plan is: what walks it would overflow its stack. */
function isDeeper(value: Json, than: number): boolean {
  if (value === null || typeof value !== "object" || value instanceof Float) return false;
  return than === 0 || Object.values(value).some((inner) => isDeeper(inner, than - 1));
}

function objectOf(value: Json | undefined, where: string): JsonObject {
  if (value === null || value === undefined || typeof value !== "object" || Array.isArray(value)) {
    throw malformed(`${where} is not an object`);
  }
  return value as JsonObject;
}

function listOf(value: Json | undefined, where: string): readonly Json[] {
  if (!Array.isArray(value)) throw malformed(`${where} is not a list`);
  return value;
}

function textOf(value: Json | undefined, where: string): string {
  if (typeof value !== "string") throw malformed(`${where} is not text`);
  return value;
}
