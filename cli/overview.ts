/**
 * What `tether --help` prints: the commands by group, and the options every command takes.
 *
 * @module
 */

import { COMMANDS } from "./commands.ts";

/** An option, as flags and text. */
export type OptionText = readonly [flags: string, text: string];

/** Options that may stand before the command and after it. */
export const GLOBAL_OPTIONS: readonly OptionText[] = [
  ["-C <dir>", "run as if started in this folder"],
  ["--color <when>", "colour the output: auto, always or never (default: auto)"],
];

/** The option of every command that chooses the form of its result. */
export const JSON_OPTION: OptionText = ["--json", "print one JSON document on standard output"];

const HELP_OPTIONS: readonly OptionText[] = [
  ["-h", "show the short help of a command"],
  ["--help", "show its long help, with examples and permissions"],
  ["--version", "print the version"],
];

/** Returns the help of the whole program. */
export function overview(): string {
  const lines = [
    "Version control for datasets that live in several systems at once.",
    "",
    "Usage: tether [-C <dir>] [--color <when>] <command> [options] [arguments]",
  ];
  for (const group of new Set(COMMANDS.flatMap((c) => c.group ?? []))) {
    lines.push("", `${group}:`);
    lines.push(...COMMANDS.filter((c) => c.group === group).map((c) => row(c.name, c.summary)));
  }
  const options = [...GLOBAL_OPTIONS, JSON_OPTION, ...HELP_OPTIONS];
  lines.push("", "Options:", ...options.map(([flags, text]) => row(flags, text)));
  lines.push("", "A first dataset: tether init, tether add, tether commit. More: tether <command> --help");
  return lines.join("\n") + "\n";
}

function row(term: string, text: string): string {
  return `  ${term.padEnd(18)}${text}`;
}
