/**
 * `tether permissions` (commands §5.29).
 *
 * @module
 */

import { type Command, Option } from "@commander-js/extra-typings";
import { shellQuote } from "../engine/io/shell.ts";
import type { Context } from "./context.ts";
import type { CommandHelp } from "./help.ts";
import { given, oneOf, selectors, TEXT } from "./options.ts";
import { lines } from "./render.ts";

/** The long help. */
export const help: CommandHelp = {
  text: [
    "Prints the flags that Deno has to be started with so that tether can work with the selected objects, ready to paste. They are computed from the manifests and the configuration; no store is contacted.",
    "--access read is enough for status, verify, diff, log and read-only open; refs adds commit, new and writable open; lifecycle adds making and deleting whole stores.",
    "A note names objects whose system does its own input and output (native code, or a program such as git): Deno's flags do not bind that part.",
  ],
  examples: [
    ["What a nightly check needs", "tether permissions"],
    ["What a commit of one prefix needs", "tether permissions zarr/ --access refs"],
  ],
  reach: "checkout",
};

/** Adds arguments, options and the action. */
export function define(command: Command, context: Context): void {
  command
    .argument("[key...]", TEXT.keys)
    .addOption(
      new Option("--access <level>", "read, refs or lifecycle: how far tether will go")
        .argParser(oneOf("--access", ["read", "refs", "lifecycle"] as const))
        .default("read" as const),
    )
    .action(async (keys, { access }) => {
      await using dataset = await context.dataset();
      const report = await dataset.permissions({ ...given({ keys: selectors(keys) }), access });
      if (report.ambient.length > 0) {
        context.ui.note(`Deno's flags do not bind what the systems of ${report.ambient.join(", ")} do themselves`);
      }
      context.showJson(() => report.toJSON(), () => lines([report.flags.map(shellQuote).join(" ")]));
    });
}
