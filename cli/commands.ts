/**
 * The command tree: names, summaries and where each command's file is. It imports nothing, so the overview costs nothing.
 *
 * @module
 */

import type { Command } from "@commander-js/extra-typings";
import type { Context } from "./context.ts";
import type { CommandHelp } from "./help.ts";

/** What a command's file exports. */
export interface CommandModule {
  /** The long help. */
  readonly help: CommandHelp;
  /** Adds arguments, options and the action. A lone `--no-x` needs its default of `true` spelled out. */
  define(command: Command, context: Context): void;
}

/** One command. */
export interface CommandEntry {
  readonly name: string;
  /** Imperative, without a full stop, at most 60 characters. */
  readonly summary: string;
  /** Heading under which the overview lists it; absent for a hidden one. */
  readonly group?: string;
  /** Loads its file. */
  load(): Promise<CommandModule>;
}

/** All commands, in the order in which the overview lists them. */
export const COMMANDS: readonly CommandEntry[] = [
  {
    name: "init",
    summary: "Make a dataset in a git or jj repository",
    group: "Set up",
    load: () => import("./init.ts"),
  },
  {
    name: "add",
    summary: "Register an object of the dataset",
    group: "Set up",
    load: () => import("./add.ts"),
  },
  {
    name: "remove",
    summary: "Take an object out of the dataset; its store stays",
    group: "Set up",
    load: () => import("./remove.ts"),
  },
  {
    name: "set",
    summary: "Change the policy of objects",
    group: "Set up",
    load: () => import("./set.ts"),
  },
  {
    name: "backends",
    summary: "List the kinds of systems and what each can do",
    group: "Set up",
    load: () => import("./backends.ts"),
  },
  {
    name: "new",
    summary: "Start or continue work on a bookmark",
    group: "Work",
    load: () => import("./new.ts"),
  },
  {
    name: "open",
    summary: "Print the native address of an object",
    group: "Work",
    load: () => import("./open.ts"),
  },
  {
    name: "commit",
    summary: "Pin what changed and record the state of the dataset",
    group: "Work",
    load: () => import("./commit.ts"),
  },
  {
    name: "pull",
    summary: "Take in what upstream holds now and commit it",
    group: "Work",
    load: () => import("./pull.ts"),
  },
  {
    name: "restore",
    summary: "Take branches back to what a revision recorded",
    group: "Work",
    load: () => import("./restore.ts"),
  },
  {
    name: "promote",
    summary: "Land the bookmark on its upstreams and the trunk",
    group: "Work",
    load: () => import("./promote.ts"),
  },
  {
    name: "status",
    summary: "Show how each object differs from what is recorded",
    group: "Look",
    load: () => import("./status.ts"),
  },
  {
    name: "snapshot",
    summary: "Read the state of every object now and remember it",
    group: "Look",
    load: () => import("./snapshot.ts"),
  },
  {
    name: "diff",
    summary: "Compare two revisions of the dataset",
    group: "Look",
    load: () => import("./diff.ts"),
  },
  {
    name: "verify",
    summary: "Check that recorded states can still be read",
    group: "Look",
    load: () => import("./verify.ts"),
  },
  {
    name: "log",
    summary: "List the own history of an object",
    group: "Look",
    load: () => import("./log.ts"),
  },
  {
    name: "ops",
    summary: "List what tether did from this checkout",
    group: "Look",
    load: () => import("./ops.ts"),
  },
  {
    name: "plan",
    summary: "Print or check a saved plan",
    group: "Look",
    load: () => import("./plan.ts"),
  },
  {
    name: "undo",
    summary: "Take back the last operation",
    group: "Tidy",
    load: () => import("./undo.ts"),
  },
  {
    name: "abandon",
    summary: "Take commits out of a line of work",
    group: "Tidy",
    load: () => import("./abandon.ts"),
  },
  {
    name: "drop",
    summary: "Throw a bookmark away, with all it held",
    group: "Tidy",
    load: () => import("./drop.ts"),
  },
  {
    name: "gc",
    summary: "Release what history no longer names",
    group: "Tidy",
    load: () => import("./gc.ts"),
  },
  {
    name: "repair",
    summary: "Make missing pins and branches again",
    group: "Tidy",
    load: () => import("./repair.ts"),
  },
  {
    name: "recover",
    summary: "Find what a lost dataset left, and how to take it back",
    group: "Tidy",
    load: () => import("./recover.ts"),
  },
  {
    name: "forget-workspace",
    summary: "Retire a checkout; the branches of its bookmark stay",
    group: "Tidy",
    load: () => import("./forget_workspace.ts"),
  },
  {
    name: "upgrade",
    summary: "Bring an older dataset to the format of this tether",
    group: "Tidy",
    load: () => import("./upgrade.ts"),
  },
  {
    name: "root",
    summary: "Print the root folder of the dataset",
    group: "Help",
    load: () => import("./root.ts"),
  },
  {
    name: "permissions",
    summary: "Print the Deno permissions that objects need",
    group: "Help",
    load: () => import("./permissions.ts"),
  },
  {
    name: "completions",
    summary: "Print the completion script of a shell",
    group: "Help",
    load: () => import("./completions.ts"),
  },
  {
    name: "__complete",
    summary: "List what can follow a half-typed command",
    load: () => import("./complete.ts"),
  },
];
