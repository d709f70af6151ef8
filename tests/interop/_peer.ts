/**
 * Both implementations as programs: ours and the Python one, with the same command lines and the same JSON.
 *
 * @module
 */

import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { isJsonObject, type Json, type JsonObject, parseJson } from "../../engine/model/json.ts";
import { peerBin } from "../../scripts/peer.ts";

const MAIN = fileURLToPath(new URL("../../main.ts", import.meta.url));
const BIN = await peerBin();

/** Runs with the Python implementation, which `deno task test` installs. Its absence is a failure in CI. */
export const OPTIONS: { readonly ignore: boolean } = { ignore: BIN === undefined && !Deno.env.get("CI") };

/** What a run printed, and how it ended. */
export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** One implementation. */
export interface Side {
  readonly name: "ours" | "peer";
  /** Starts it in a folder. */
  spawn(args: readonly string[], cwd: string): Deno.ChildProcess;
  /** Runs it to its end. */
  run(args: readonly string[], cwd: string): Promise<Ran>;
  /** Runs it, expects exit code 0 and returns its standard output. */
  ok(args: readonly string[], cwd: string): Promise<string>;
  /** Runs it with `--json`, expects exit code 0 and returns the one object on its standard output. */
  json(args: readonly string[], cwd: string): Promise<JsonObject>;
  /** Plans a gc, or applies one, and returns its JSON. */
  gc(cwd: string, options?: GcOptions): Promise<JsonObject>;
}

/** Options of {@link Side.gc}. */
export interface GcOptions {
  /** Applies what it plans. @default {false} */
  readonly apply?: boolean;
  /** Judges branches of gone bookmarks too. @default {false} */
  readonly prune?: boolean;
}

function side(name: Side["name"], program: string, before: readonly string[], env: Record<string, string>): Side {
  function spawn(args: readonly string[], cwd: string): Deno.ChildProcess {
    return new Deno.Command(program, {
      args: [...before, ...args],
      cwd,
      env,
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
  }
  async function run(args: readonly string[], cwd: string): Promise<Ran> {
    return await ended(spawn(args, cwd));
  }
  async function ok(args: readonly string[], cwd: string): Promise<string> {
    const { code, stdout, stderr } = await run(args, cwd);
    assert.equal(code, 0, `${name}: tether ${args.join(" ")} ended with ${code}: ${stderr}${stdout}`);
    return stdout;
  }
  const json: Side["json"] = async (args, cwd) => objectOf(parseJson(await ok([...args, "--json"], cwd)));
  return {
    name,
    spawn,
    run,
    ok,
    json,
    gc: (cwd, { apply, prune } = {}) =>
      json(["gc", ...(apply ? ["--no-dry-run"] : []), ...(prune ? ["--prune-bookmarks"] : [])], cwd),
  };
}

/** This implementation. */
export const OURS: Side = side("ours", Deno.execPath(), ["run", "--quiet", "--no-prompt", "-A", MAIN], {});

/** The Python implementation. What its native libraries log would stand before its JSON. */
export const PEER: Side = side("peer", `${BIN}/tether`, [], { ICECHUNK_LOG: "off" });

/** Who works first, and who on what the first left. */
export const DIRECTIONS: readonly (readonly [Side, Side])[] = [[PEER, OURS], [OURS, PEER]];

/** Waits for a started program. */
export async function ended(child: Deno.ChildProcess): Promise<Ran> {
  const { code, stdout, stderr } = await child.output();
  return { code, stdout: new TextDecoder().decode(stdout), stderr: new TextDecoder().decode(stderr) };
}

/** Runs a Python program of this folder with the peer's libraries and one JSON argument; returns the JSON it prints. */
export async function python(program: string, argument: Json): Promise<Json> {
  const child = new Deno.Command(`${BIN}/python`, {
    args: [fileURLToPath(new URL(program, import.meta.url)), JSON.stringify(argument)],
    env: { ICECHUNK_LOG: "off" },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  });
  const { code, stdout, stderr } = await ended(child.spawn());
  assert.equal(code, 0, `${program}: ${stderr}${stdout}`);
  return parseJson(stdout);
}

/** Returns a JSON object as one. */
export function objectOf(value: Json | undefined): JsonObject {
  assert.ok(value !== undefined && isJsonObject(value), `not an object: ${value}`);
  return value;
}

/** Returns a JSON list of objects as one. */
export function listOf(value: Json | undefined): JsonObject[] {
  assert.ok(Array.isArray(value), `not a list: ${value}`);
  return value.map(objectOf);
}

/** Returns `key: label` of every object that `status --json` lists. */
export function labels(status: JsonObject): Record<string, Json | undefined> {
  return Object.fromEntries(listOf(status["objects"]).map((o) => [String(o["key"]), o["state"]]));
}

/** Returns the actions of a plan as `op key target`, sorted. */
export function actions(plan: JsonObject): string[] {
  return listOf(plan["actions"]).map((a) => `${a["op"]} ${a["key"]} ${a["target"]}`).sort();
}
