/**
 * How a failure reads: one sentence, what to do next, and a stack trace only when asked for (commands §1.3).
 *
 * @module
 */

import { shellQuote } from "../engine/io/shell.ts";
import { messageOf, TetherError } from "../engine/model/errors.ts";
import { OutputError } from "./stream.ts";
import type { Line } from "./ui.ts";

/** Returns the lines that report a failure. `debug` adds the stack of the error and of what caused it. */
export function errorLines(error: unknown, options: { readonly debug?: boolean } = {}): Line[] {
  const { sentence, more, hints } = told(error, options.debug === true);
  const lines: Line[] = [{ text: `error: ${sentence}`, style: "red", to: "err" }];
  lines.push(...more.map((text): Line => ({ text: `  ${text}`, to: "err" })));
  // What is to be pasted may have lines of its own.
  for (const [first = "", ...rest] of hints.map((text) => text.split("\n"))) {
    lines.push({ text: `hint: ${first}`, to: "err" }, ...rest.map((text): Line => ({ text: `  ${text}`, to: "err" })));
  }
  if (options.debug) lines.push(...stackLines(error));
  return lines;
}

interface Told {
  readonly sentence: string;
  /** Further lines of our own messages, such as what a commit hook said. */
  readonly more: readonly string[];
  readonly hints: readonly string[];
}

function told(error: unknown, debug: boolean): Told {
  const [first = "", ...more] = messageOf(error).split("\n");
  if (error instanceof TetherError) return { sentence: first, more, hints: error.hints };
  if (error instanceof OutputError) return { sentence: first, more, hints: [] };
  if (error instanceof Deno.errors.NotCapable) return denied(first);
  const hints = debug ? [] : ["TETHER_DEBUG=1 shows where it happened"];
  return { sentence: `Unexpected failure: ${first}`, more: [], hints };
}

/** A refusal of the runtime that nobody foresaw still names what was asked for, and how to grant it (L38). */
function denied(message: string): Told {
  const [, what, value] = /^Requires (\w+) access(?: to "(.*)")?/.exec(message) ?? [];
  if (what === undefined) return { sentence: `Cannot go on: ${message}`, more: [], hints: [] };
  const flag = value === undefined ? `--allow-${what}` : `--allow-${what}=${value}`;
  const remedy = Deno.build.standalone
    ? "This program was built without that permission: use a build that has it"
    : `Run it with ${shellQuote(flag)}`;
  const subject = value === undefined ? `${what} access` : `${what} access to "${value}"`;
  return { sentence: `Cannot go on: ${subject} was not granted`, more: [], hints: [remedy] };
}

function stackLines(error: unknown): Line[] {
  const lines: Line[] = [];
  for (let at: unknown = error; at instanceof Error; at = at.cause) {
    lines.push(...(at.stack ?? String(at)).split("\n").map((text): Line => ({ text, to: "err", style: "grey" })));
  }
  return lines;
}
