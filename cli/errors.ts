/**
 * How a failure reads: one sentence, what to do next, and a stack trace only when asked for (commands §1.3).
 *
 * @module
 */

import { notGranted } from "../engine/io/not_granted.ts";
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

function told(failure: unknown, debug: boolean): Told {
  const error = failure instanceof Deno.errors.NotCapable ? notGranted(failure) : failure;
  const [first = "", ...more] = messageOf(error).split("\n");
  if (error instanceof TetherError) return { sentence: first, more, hints: error.hints };
  if (error instanceof OutputError) return { sentence: first, more, hints: [] };
  const hints = debug ? [] : ["TETHER_DEBUG=1 shows where it happened"];
  return { sentence: `Unexpected failure: ${first}`, more: [], hints };
}

function stackLines(error: unknown): Line[] {
  const lines: Line[] = [];
  for (let at: unknown = error; at instanceof Error; at = at.cause) {
    lines.push(...(at.stack ?? String(at)).split("\n").map((text): Line => ({ text, to: "err", style: "grey" })));
  }
  return lines;
}
