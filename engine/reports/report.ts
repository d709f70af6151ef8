/**
 * What every command returns and takes: plain read-only data, whose `toJSON` is exactly what `--json` prints
 * (commands §5), and the options of a long call.
 *
 * @module
 */

import type { Parts } from "../../backends/backend.ts";
import type { Json } from "../model/json.ts";

/**
 * A report: data, and its JSON.
 *
 * @example Print exactly what the command line prints
 * ```ts
 * import { Dataset, type Report, writeJson } from "@tether/tether";
 * import assert from "node:assert/strict";
 * import { execSync } from "node:child_process";
 *
 * const cwd = await Deno.makeTempDir();
 * execSync("git init -q", { cwd });
 * await using ds = await Dataset.init(cwd);
 * const report: Report = await ds.status();
 * assert.equal(JSON.parse(writeJson(report.toJSON(), { indent: 2 })).snapshot_at, null);
 * ```
 */
export interface Report {
  /** Returns what `--json` prints: `snake_case` names, `null` for what is absent, ids of any size in full. */
  toJSON(): Json;
}

/** Adds a hidden `toJSON` to plain data. */
export function withJson<T extends object>(data: T, json: () => Json): T & Report {
  Object.defineProperty(data, "toJSON", { value: json, enumerable: false });
  return data as T & Report;
}

/**
 * Says how far a fan-out is.
 *
 * @example Draw a line
 * ```ts
 * import type { Progress } from "@tether/tether";
 * import assert from "node:assert/strict";
 *
 * const draw = ({ verb, done, total }: Progress): string => `${verb} ${done}/${total ?? "?"}`;
 * assert.equal(draw({ verb: "reading states", done: 3, total: 8 }), "reading states 3/8");
 * ```
 */
export interface Progress {
  /** What is being done, such as `reading states`. */
  readonly verb: string;
  /** How much of it is over, failures included. */
  readonly done: number;
  /** How much there is; absent when not known. */
  readonly total?: number;
  /** How far one object is whose reading takes long, such as a folder of many files. */
  readonly within?: Parts & { readonly key: string };
}

/**
 * Options every long call takes.
 *
 * @example Follow a long call, and give up after a minute
 * ```ts
 * import { type CallOptions, Dataset } from "@tether/tether";
 * import assert from "node:assert/strict";
 * import { execSync } from "node:child_process";
 *
 * const cwd = await Deno.makeTempDir();
 * execSync("git init -q", { cwd });
 * await using ds = await Dataset.init(cwd);
 * const seen: number[] = [];
 * const options: CallOptions = { signal: AbortSignal.timeout(60_000), onProgress: ({ done }) => void seen.push(done) };
 * await ds.add({ key: "raw", kind: "file", locator: { uri: await Deno.makeTempDir() } });
 * await ds.snapshot(options);
 * assert.equal(seen.at(-1), 1);
 * ```
 */
export interface CallOptions {
  /** Aborting before the first write rejects with nothing done; later, what was started is finished and reported. */
  readonly signal?: AbortSignal;
  /** Called as each object is done; it must not throw. */
  readonly onProgress?: (progress: Progress) => void;
}
