/**
 * `tether remove` (commands §5.4).
 *
 * @module
 */

import type { Command } from "@commander-js/extra-typings";
import type { Context } from "./context.ts";
import type { CommandHelp } from "./help.ts";
import { TEXT } from "./options.ts";
import { lines } from "./render.ts";

/** The long help. */
export const help: CommandHelp = {
  text: [
    "Deletes the manifest of one object. Its store is not contacted: pins and branches stay, and so does the data. The next commit records the removal; undo brings the manifest back.",
    "An object that moved to another place is removed and added anew under its key. Earlier commits keep the old address.",
  ],
  examples: [
    ["Take an object out and record that", 'tether remove zarr/imaging && tether commit -m "Retire imaging"'],
    [
      "Follow a store that was moved",
      "tether remove imaging && tether add imaging /new/imaging.icechunk --kind icechunk",
    ],
    ["A key that begins with a dash", "tether remove -- -old"],
  ],
  reach: "checkout-write",
};

/** Adds arguments, options and the action. */
export function define(command: Command, context: Context): void {
  command.argument("<key>", TEXT.key).action(async (key) => {
    await using dataset = await context.dataset();
    context.show(await dataset.remove(key), (r) => lines([`removed ${r.removed}`]));
  });
}
