/**
 * Builds the command tree, runs one command line and turns what happened into an exit code.
 *
 * @module
 */

import { Command, type CommanderError } from "@commander-js/extra-typings";
import { ConfigError, TetherError } from "../engine/model/errors.ts";
import { VERSION } from "../engine/version.ts";
import { type CommandEntry, COMMANDS } from "./commands.ts";
import { Context, EXIT, type World } from "./context.ts";
import { longHelpTail, shortHelpTail } from "./help.ts";
import { oneOf, refuseBlank } from "./options.ts";
import { GLOBAL_OPTIONS, JSON_OPTION, type OptionText, overview } from "./overview.ts";
import { COLOR_CHOICES, Ui } from "./ui.ts";
import { isConflict, usageLines } from "./usage.ts";

/** Runs a command line (without the program's name) and returns the exit code. Never throws. */
export async function runCli(args: readonly string[], world: World): Promise<number> {
  const ui = new Ui(world);
  const context = new Context(world, ui);
  const words = helpAsOption(args);
  const program = buildProgram(context, { long: longHelpWanted(words) });
  try {
    await program.parseAsync(withoutHelpOfNothing(words), { from: "user" });
    return context.exitCode;
  } catch (error) {
    if (error instanceof ParserStop) return endOfParsing(error, ui);
    ui.error(world.signal.aborted && !(error instanceof TetherError) ? new TetherError("Interrupted") : error);
    return world.signal.aborted ? EXIT.interrupted : EXIT.failed;
  } finally {
    ui.end();
  }
}

/** Returns the command tree. A command's file is loaded when its turn comes. */
export function buildProgram(context: Context, options: { readonly long: boolean }): Command {
  const program = new Command("tether")
    .version(`tether ${VERSION}`, "--version")
    .helpOption("-h, --help")
    .helpCommand(false)
    .enablePositionalOptions()
    .configureOutput({
      writeOut: (text) => context.ui.raw(text),
      writeErr: (text) => context.ui.raw(text, "err"),
      // Usage errors are worded by us, once the exit code is known.
      outputError: () => {},
      getOutHelpWidth: () => widthOf(context, false),
      getErrHelpWidth: () => widthOf(context, true),
      getOutHasColors: () => false,
      getErrHasColors: () => false,
    });
  program.helpInformation = overview;
  program.exitOverride((error) => stop(error, program));
  addOptions(program, GLOBAL_OPTIONS);
  for (const entry of COMMANDS) {
    const command = program.command(entry.name, { hidden: entry.group === undefined }).summary(entry.summary);
    command.exitOverride((error) => stop(error, command as Command));
  }
  program.hook("preSubcommand", async (_, command) => {
    const entry = COMMANDS.find((c) => c.name === command.name());
    if (entry) await completeCommand(command as Command, { entry, context, long: options.long });
  });
  program.hook("preAction", (_, command) => prepare(context, command as Command));
  return program;
}

function widthOf(context: Context, error: boolean): number {
  const { stdout, stderr } = context.world;
  return Math.min(100, (error ? stderr : stdout).columns ?? 80);
}

/** Adds to a command of the tree what its file says. */
export async function completeCommand(
  command: Command,
  options: { readonly entry: CommandEntry; readonly context: Context; readonly long: boolean },
): Promise<void> {
  const { entry, context, long } = options;
  const module = await entry.load();
  context.writes = module.help.reach.endsWith("-write");
  module.define(command, context);
  addOptions(command, [...GLOBAL_OPTIONS, JSON_OPTION]);
  refuseContradictions(command);
  const text = long ? [`${entry.summary}.`, ...module.help.text].join("\n\n") : `${entry.summary}.`;
  const more = long ? await module.help.more?.() ?? [] : [];
  command
    .helpOption("-h, --help", "show the short help (-h) or the long one (--help)")
    .configureHelp({ commandDescription: () => text })
    .addHelpText("after", (at) => {
      const wrap = (text: string) => command.createHelp().boxWrap(text, widthOf(context, at.error));
      return long ? longHelpTail(module.help, { more, wrap }) : shortHelpTail(entry.name);
    });
}

function addOptions(command: Command, options: readonly OptionText[]): void {
  for (const [flags, text] of options) command.option(flags, text);
}

/** Applies the options that every command has, right before its action. */
function prepare(context: Context, command: Command): void {
  const scopes = [command.parent?.opts() ?? {}, command.opts()] as Record<string, unknown>[];
  context.ui.color = oneOf("--color", COLOR_CHOICES)(String(scopes[1]?.["color"] ?? scopes[0]?.["color"] ?? "auto"));
  context.json = scopes[1]?.["json"] === true;
  if (!context.json) context.ui.enableProgress();
  // Words that a shell is still completing may be anything.
  if (command.name() === "__complete") return;
  refuseBlank(command.registeredArguments.map((a, i) => [a.name(), command.processedArgs[i]]));
  for (const scope of scopes) refuseBlank(Object.entries(scope).map(([name, value]) => [flagOf(command, name), value]));
  for (const dir of scopes.map((s) => s["C"])) {
    if (typeof dir === "string") enter(context.world, dir);
  }
}

function enter(world: World, dir: string): void {
  try {
    world.chdir(dir);
  } catch (error) {
    throw new TetherError(`Cannot run in "${dir}": it is no folder that can be entered`, {
      code: "folder",
      hints: ["Name a folder that exists with -C, or leave -C out to run in this one"],
      cause: error,
    });
  }
}

function flagOf(command: Command, attribute: string): string {
  return [...command.options, ...(command.parent?.options ?? [])].find((o) => o.attributeName() === attribute)?.flags ??
    attribute;
}

/** `--help` before a `--` asks for the long help, `-h` for the short one. */
function longHelpWanted(args: readonly string[]): boolean {
  const end = args.indexOf("--");
  return args.slice(0, end < 0 ? args.length : end).includes("--help");
}

/** Returns a command line with `help [COMMAND]` in the place of a command as the option it stands for. */
function helpAsOption(args: readonly string[]): string[] {
  const at = commandAt(args);
  if (at === undefined || args[at] !== "help") return [...args];
  const named = commandOf(args.slice(at + 1));
  return [...args.slice(0, at), ...(named === undefined ? [] : [named]), "--help"];
}

/** Returns a command line without the wish for help when its command does not exist: there is none to show (L42). */
function withoutHelpOfNothing(args: readonly string[]): string[] {
  const name = commandOf(args);
  if (name === undefined || COMMANDS.some((c) => c.name === name)) return [...args];
  return args.filter((a) => a !== "-h" && a !== "--help" && a !== "--version");
}

/** Returns the first word that is no option and no option's value. */
function commandOf(args: readonly string[]): string | undefined {
  const at = commandAt(args);
  return at === undefined ? undefined : args[at];
}

/** Returns where the first word is that is no option and no option's value. */
function commandAt(args: readonly string[]): number | undefined {
  for (let i = 0; i < args.length; i++) {
    const word = args[i] ?? "";
    if (word === "--") return i + 1;
    if (word === "-C" || word === "--color") i++;
    else if (!word.startsWith("-")) return i;
  }
  return undefined;
}

/** Refuses `--x` beside `--no-x`, in any order: which of them counts would be a guess (L42). */
function refuseContradictions(command: Command): void {
  for (const option of command.options.filter((o) => o.negate)) {
    const positive = command.options.find((o) => !o.negate && o.attributeName() === option.attributeName());
    if (!positive) continue;
    const given = new Set<string>();
    for (const { long } of [option, positive]) {
      const name = long?.slice(2) ?? "";
      command.on(`option:${name}`, () => {
        if (given.add(name).size < 2) return;
        throw new ConfigError(`Cannot use ${positive.long} together with ${option.long}`, {
          code: "flags",
          hints: [`tether ${command.name()} --help`],
        });
      });
    }
  }
}

/** The parser ended the run: it printed help, or a command line makes no sense. */
class ParserStop extends Error {
  readonly command: Command;
  readonly reason: CommanderError;

  constructor(reason: CommanderError, command: Command) {
    super(reason.message);
    this.reason = reason;
    this.command = command;
  }
}

function stop(reason: CommanderError, command: Command): never {
  throw new ParserStop(reason, command);
}

function endOfParsing({ command, reason }: ParserStop, ui: Ui): number {
  // Help and version were printed by the parser; a missing command got the overview on standard error.
  if (reason.code === "commander.helpDisplayed" || reason.code === "commander.version") return EXIT.ok;
  if (reason.code === "commander.help") return EXIT.usage;
  ui.print(usageLines(reason, command));
  return isConflict(reason) ? EXIT.failed : EXIT.usage;
}
