/**
 * Plans: store writes as data, with what must still hold when they are applied (formats §13, commands §3).
 *
 * @module
 */

import { ConfigError, messageOf, MultiObjectError, StalePlanError } from "../model/errors.ts";
import { sha256 } from "../model/hash.ts";
import { type Json, type JsonObject, parseJson, writeJson } from "../model/json.ts";
import { PLAN_VERSION } from "../version.ts";

/** Commands that have plans. */
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

/** One step of a plan. */
export interface Action {
  readonly op: string;
  /** The object's key; empty for a step of the whole dataset. */
  readonly key: string;
  readonly kind: string;
  readonly target: string;
  readonly detail: string;
  readonly params: JsonObject;
}

/** What must hold at apply time. `{observed}` in `detail` is replaced literally. */
export interface Precondition {
  readonly kind: string;
  readonly expected: Json;
  readonly key: string | null;
  readonly params: JsonObject;
  readonly detail: string;
}

/** A plan's file, member by member in the order of the file. */
export interface PlanJson extends JsonObject {
  readonly format: number;
  readonly tether_version: string;
  readonly command: string;
  readonly created_at: string;
  readonly context: JsonObject;
  readonly notes: readonly string[];
  readonly preconditions: readonly JsonObject[];
  readonly actions: readonly JsonObject[];
  readonly digest: string;
}

/** The one plan format there is. */
export const PLAN_FORMAT = 3;

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

/** What a plan is made of. */
export interface PlanData {
  readonly command: string;
  /** ISO 8601 UTC, whole seconds, `+00:00`. */
  readonly createdAt: string;
  readonly context: JsonObject;
  readonly notes?: readonly string[];
  readonly preconditions: readonly Precondition[];
  readonly actions: readonly Action[];
}

/** A read-only plan: what a command would write, and what it saw. */
export class Plan {
  readonly command: string;
  readonly createdAt: string;
  readonly context: JsonObject;
  readonly notes: readonly string[];
  readonly preconditions: readonly Precondition[];
  readonly actions: readonly Action[];
  /** The maker, `deno-<version>`. */
  readonly tetherVersion: string;
  /** The digest a loaded plan came with; that of the content for a plan made here. */
  readonly recordedDigest: string;

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
      throw new ConfigError(`Cannot read the plan: it is not JSON: ${messageOf(error)}`, { code: "plan" });
    }
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
  throw new MultiObjectError(attempted, errors, { code: "refused", hints: refusalHints(plan.command, refusals) });
}

function refusalHints(command: string, refusals: readonly Action[]): string[] {
  const says = (text: string): boolean => refusals.some((a) => a.detail.includes(text));
  return [
    ...(says("commit them") ? ["tether commit -m MESSAGE"] : []),
    ...(says("--shared") ? [`tether ${command} --shared`] : []),
    ...(says("--discard") ? [`tether ${command} --discard`] : []),
  ];
}

function objectOf(value: Json | undefined, where: string): JsonObject {
  if (value === null || value === undefined || typeof value !== "object" || Array.isArray(value)) {
    throw new ConfigError(`Cannot read the plan: ${where} is not an object`, { code: "plan" });
  }
  return value as JsonObject;
}

function listOf(value: Json | undefined, where: string): readonly Json[] {
  if (!Array.isArray(value)) throw new ConfigError(`Cannot read the plan: ${where} is not a list`, { code: "plan" });
  return value;
}

function textOf(value: Json | undefined, where: string): string {
  if (typeof value !== "string") throw new ConfigError(`Cannot read the plan: ${where} is not text`, { code: "plan" });
  return value;
}
