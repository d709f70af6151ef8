/**
 * `tether root` (commands §5.29).
 *
 * @module
 */

import type { Command } from "@commander-js/extra-typings";
import type { Context } from "./context.ts";
import type { CommandHelp } from "./help.ts";
import { lines } from "./render.ts";

/** The long help. */
export const help: CommandHelp = {
  text: ["Prints the folder of the nearest tether.toml at or above the current folder."],
  examples: [["Go there", 'cd "$(tether root)"']],
  reach: "checkout",
};

/** Adds arguments, options and the action. */
export function define(command: Command, context: Context): void {
  command.action(async () => {
    const { requireRoot } = await import("../engine/context.ts");
    const root = await requireRoot(Deno.cwd());
    context.showJson(() => ({ root }), () => lines([root]));
  });
}
