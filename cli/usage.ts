/**
 * Words mistakes in the grammar of a command line: one usage line, one error line, one hint (commands §1.1).
 *
 * @module
 */

import type { Command, CommanderError } from "@commander-js/extra-typings";
import type { Line } from "./ui.ts";

/** Returns the lines that report a usage error; options that contradict each other are no reason to explain the grammar. */
export function usageLines(error: CommanderError, command: Command): Line[] {
  const [sentence = "", ...rest] = error.message.replace(/^error: /, "").split("\n");
  const suggestion = rest.join(" ").match(/^\(Did you mean (?:one of )?(.*)\?\)$/)?.[1];
  const path = command.parent ? `tether ${command.name()}` : "tether";
  const usage = command.parent ? command.usage() : "[-C <dir>] [--color <when>] <command> [options] [arguments]";
  return [
    ...(isConflict(error) ? [] : [{ text: `usage: ${path} ${usage}`, to: "err" } as const]),
    { text: `error: ${worded(sentence)}`, style: "red", to: "err" },
    { text: `hint: ${suggestion ? `did you mean ${suggestion}?` : `${path} --help`}`, to: "err" },
  ];
}

/** Ends a command that needs an argument unless a saved plan has its own. */
export function missing(command: Pick<Command, "error">, argument: string): never {
  return command.error(`error: missing required argument '${argument}'`, { code: "commander.missingArgument" });
}

/** Whether the command line was understood, and says two things at once. */
export function isConflict(error: CommanderError): boolean {
  return error.code === "commander.conflictingOption";
}

/** Returns a parser's sentence in the form of all our errors: capital first, double quotes, no full stop. */
function worded(sentence: string): string {
  const text = sentence.replaceAll(/'([^']*)'/g, '"$1"').replace(/\.$/, "");
  return text.charAt(0).toUpperCase() + text.slice(1);
}
