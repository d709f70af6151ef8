/**
 * `tether open` (commands §5.11).
 *
 * @module
 */

import { type Command, Option } from "@commander-js/extra-typings";
import type { Context } from "./context.ts";
import type { CommandHelp } from "./help.ts";
import { given, TEXT } from "./options.ts";
import { lines } from "./render.ts";

/** The long help. */
export const help: CommandHelp = {
  text: [
    "Prints the native address of an object, for its own library or tools; tether is not in the data path. Objects that can be forked open writable at the branch of this bookmark, which is made now if it was deferred. All others open read-only.",
    "With --rev (or the variable TETHER_REV) the address is that of the state recorded at a revision, read-only, after its pin was checked.",
    "A password in a connection URL is masked unless --with-password is given; under --json it always is.",
  ],
  examples: [
    ["The branch to write to", "tether open zarr/imaging"],
    ["What a report was made from", "tether open zarr/imaging -r v1.0"],
    ["Connect to a database", 'psql "$(tether open db/metrics --with-password)"'],
  ],
  reach: "stores-write",
};

/** Adds arguments, options and the action. */
export function define(command: Command, context: Context): void {
  command
    .argument("<key>", TEXT.key)
    .option("-r, --rev <rev>", TEXT.rev)
    .addOption(new Option("--read-only", "do not open for writing").conflicts("writable"))
    .option("--writable", "open for writing, or fail")
    .option("--with-password", "print the password of a connection URL")
    .action(async (key, { rev, readOnly, writable, withPassword }) => {
      await using dataset = await context.dataset();
      const mode = readOnly ? true : writable ? false : undefined;
      await using handle = await dataset.open(key, { ...given({ rev, readOnly: mode }), ...context.call });
      // The one text that is not redacted: its password is what was asked for.
      if (withPassword && !context.json) context.ui.raw(handle.address({ withPassword: true }) + "\n");
      else context.showJson(() => handle.toJSON(), () => lines([handle.address()]));
    });
}
