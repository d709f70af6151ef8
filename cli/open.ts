/**
 * `tether open` (commands §5.11).
 *
 * @module
 */

import { type Command, Option } from "@commander-js/extra-typings";
import type { Context } from "./context.ts";
import type { CommandHelp } from "./help.ts";
import { given, TEXT } from "./options.ts";
import { isJsonObject } from "../engine/model/json.ts";
import { shellQuote } from "../engine/io/shell.ts";
import type { OpenedHandle } from "../engine/commands/open.ts";
import { hint, lines } from "./render.ts";
import type { Line } from "./ui.ts";

/** The long help. */
export const help: CommandHelp = {
  text: [
    "Prints the native address of an object, for its own library or tools; tether is not in the data path. Objects that can be forked open writable at the branch of this bookmark, which is made now if it was deferred. All others open read-only.",
    'Where writes belong to a branch that the address does not name, a note on standard error says which; --json has it as "ref".',
    "With --rev (or the variable TETHER_REV) the address is that of the state recorded at a revision, read-only, after its pin was checked.",
    "A password in a connection URL is masked unless --with-password is given; under --json it always is.",
  ],
  examples: [
    ["The branch to write to", "tether open zarr/imaging"],
    ["What a report was made from", "tether open zarr/imaging -r v1.0"],
    ["For a program: the place and the branch apart, as uri and ref", "tether open zarr/imaging --json"],
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
      if (handle.warning !== null) context.ui.warning(handle.warning);
      if (!context.json) context.ui.print(whereToWrite(handle));
      // The one text that is not redacted: its password is what was asked for.
      if (withPassword && !context.json) context.ui.raw(handle.address({ withPassword: true }) + "\n");
      else context.showJson(() => handle.toJSON(), () => lines([handle.address()]));
    });
}

/** Returns which branch to write to, for systems whose address does not say; nothing for a read-only address. */
export function whereToWrite(handle: OpenedHandle): Line[] {
  const { ref, readOnly } = handle;
  if (readOnly || ref === null || handle.address().includes(ref)) return [];
  const { kind, native } = handle.toJSON();
  const { path, worktree } = isJsonObject(native) ? native : {};
  const where = typeof worktree === "string" ? `, checked out at "${worktree}"` : "";
  const note: Line = { text: `note: write to branch "${ref}"${where}`, style: "yellow", to: "err" };
  return kind === "git" && where === "" && typeof path === "string"
    ? [note, hint(`git -C ${shellQuote(path)} switch ${shellQuote(ref)}`)]
    : [note];
}
