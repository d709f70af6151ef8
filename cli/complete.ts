/**
 * The hidden `tether __complete -- WORD...`: prints what the last word can become, one candidate per line with its
 * description after a tab. It contacts no store and never fails (commands §1.1, style §6).
 *
 * @module
 */

import type { Command, Option } from "@commander-js/extra-typings";
import { COMMANDS } from "./commands.ts";
import type { Context } from "./context.ts";
import type { CommandHelp } from "./help.ts";
import { type Candidate, valuesOf } from "./complete_values.ts";
import { buildProgram, completeCommand } from "./program.ts";

/** The long help. */
export const help: CommandHelp = {
  text: ["Called by the completion scripts; see tether completions."],
  examples: [],
  reach: "checkout",
};

/** Adds arguments and the action. */
export function define(command: Command, context: Context): void {
  command.argument("[word...]", "the words typed so far, the last one unfinished").action(async (words) => {
    let found: readonly Candidate[] = [];
    try {
      found = await candidates(words, context);
    } catch {
      // A shell in the middle of a line has no use for an error; it just gets nothing.
    }
    for (const { word, text } of found) context.ui.raw(text === "" ? `${word}\n` : `${word}\t${text}\n`);
  });
}

/** Returns what the last of some words can become. */
export async function candidates(typed: readonly string[], context: Context): Promise<readonly Candidate[]> {
  const words = typed.length === 0 ? [""] : withoutEquals(typed);
  const place = await placeOf(words, context);
  const current = words.at(-1) ?? "";
  const found = await candidatesAt(place, current);
  const prefix = /^--[^=]+=/.exec(current)?.[0] ?? "";
  // bash takes "=" for the end of a word, so the option is not part of what it replaces.
  const glued = typed.at(-2) !== "=" && typed.at(-1) !== "=" ? prefix : "";
  const wanted = current.slice(prefix.length);
  return found.filter((c) => c.word.startsWith(wanted) && isSafe(c)).map((c) => ({ ...c, word: glued + c.word }));
}

/** Where the last word stands. */
interface Place {
  readonly command: Command;
  /** The option whose value it is. */
  readonly option: Option | undefined;
  /** Words of the command that are neither options nor their values. */
  readonly operands: readonly string[];
  /** Values given so far, by option. */
  readonly given: ReadonlyMap<string, string>;
  /** Whether a `--` came before. */
  readonly literal: boolean;
  /** The folders of every `-C` so far. */
  readonly folders: readonly string[];
}

async function placeOf(words: readonly string[], context: Context): Promise<Place> {
  const program = buildProgram(context, { long: false });
  const given = new Map<string, string>();
  const folders: string[] = [];
  let command = program;
  let operands: string[] = [];
  let pending: Option | undefined;
  let literal = false;
  for (const word of words.slice(0, -1)) {
    if (pending) {
      given.set(pending.attributeName(), word);
      if (pending.short === "-C") folders.push(word);
      pending = undefined;
    } else if (!literal && word === "--") {
      literal = true;
    } else if (!literal && word.startsWith("-") && word.length > 1) {
      const [flag, value] = split(word);
      const option = optionNamed(command, flag);
      if (option && value !== undefined) given.set(option.attributeName(), value);
      else if (option?.required) pending = option;
    } else if (command === program) {
      const entry = COMMANDS.find((c) => c.name === word);
      const found = program.commands.find((c) => c.name() === word) as Command | undefined;
      if (!entry || !found) throw new Error("unknown command");
      await completeCommand(found, { entry, context, long: false });
      command = found;
      operands = [];
    } else {
      operands.push(word);
    }
  }
  const glued = words.at(-1)?.startsWith("--") && words.at(-1)?.includes("=")
    ? split(words.at(-1) ?? "")[0]
    : undefined;
  const option = pending ?? (glued === undefined || literal ? undefined : optionNamed(command, glued));
  return { command, option, operands, given, literal, folders };
}

async function candidatesAt(place: Place, current: string): Promise<readonly Candidate[]> {
  const { command, option } = place;
  const surroundings = { command: command.name(), folders: place.folders, kind: place.given.get("kind") };
  if (option) return await valuesOf(option.long ?? option.short ?? "", surroundings);
  if (current.startsWith("-") && !place.literal) return optionsOf(command);
  if (command.parent === null) return commandCandidates();
  const argument = command.registeredArguments[Math.min(place.operands.length, command.registeredArguments.length - 1)];
  if (!argument || (place.operands.length >= command.registeredArguments.length && !argument.variadic)) return [];
  const values = await valuesOf(argument.name(), surroundings);
  return values.filter((v) => !argument.variadic || !place.operands.includes(v.word));
}

function commandCandidates(): Candidate[] {
  return COMMANDS.filter((c) => c.group !== undefined).map((c) => ({ word: c.name, text: c.summary }));
}

function optionsOf(command: Command): Candidate[] {
  const own = command.options.map((o) => ({ word: o.long ?? o.short ?? "", text: o.description }));
  return [...own, { word: "--help", text: "show the long help" }];
}

function optionNamed(command: Command, flag: string): Option | undefined {
  return command.options.find((o) => o.long === flag || o.short === flag);
}

function split(word: string): [flag: string, value: string | undefined] {
  const at = word.startsWith("--") ? word.indexOf("=") : -1;
  return at < 0 ? [word, undefined] : [word.slice(0, at), word.slice(at + 1)];
}

/** Joins `--kind`, `=`, `file`, as bash splits it, back to `--kind=file`. */
function withoutEquals(words: readonly string[]): string[] {
  const joined: string[] = [];
  for (let i = 0; i < words.length; i++) {
    const previous = joined.at(-1);
    if (words[i] === "=" && previous?.startsWith("--")) joined[joined.length - 1] = `${previous}=${words[++i] ?? ""}`;
    else joined.push(words[i] ?? "");
  }
  return joined;
}

/** Candidates come from file names and refs of a repository that somebody else may have written. */
function isSafe(candidate: Candidate): boolean {
  // deno-lint-ignore no-control-regex
  return candidate.word !== "" && !/[\u0000-\u001f\u007f-\u009f`$"'\\;&|<>(){}*?![\]#~^]/u.test(candidate.word);
}
