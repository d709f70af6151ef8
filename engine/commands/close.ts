/**
 * Closing an interrupted operation that nothing is going to finish (formats §17, L37).
 *
 * @module
 */

import type { Context } from "../context.ts";
import type { OpEntry } from "../files/journal.ts";
import { shellQuote } from "../io/shell.ts";
import { TetherError } from "../model/errors.ts";
import { isJsonObject, jsonEqual } from "../model/json.ts";
import { locatorText } from "../model/manifest.ts";
import { withLocks } from "../plan/operation.ts";
import { type CallOptions, withJson } from "../reports/report.ts";
import type { CloseReport } from "../reports/releasing.ts";
import { completeAbandoned } from "./abandon_begun.ts";
import { summary } from "./ops.ts";
import { pickSignal } from "./snapshot.ts";
import { completeLanded, keepBaseStates } from "./unfinished.ts";

/**
 * Completes the entry of an operation that a process left started. Nothing else changes: manifests it wrote stay as edits,
 * branches stay, and pins that nothing names go with the next `gc`.
 *
 * @throws {TetherError} if there is no such operation, or it is complete.
 */
export function closeOperation(ctx: Context, id: string, options: CallOptions = {}): Promise<CloseReport> {
  return withLocks(ctx, { command: "repair", repository: true, ...pickSignal(options) }, async () => {
    const entries = await ctx.journal.read();
    const found = id.trim() === "" ? [] : entries.filter((e) => e.id.startsWith(id));
    const [entry] = found;
    if (found.length > 1) {
      throw new TetherError(`Cannot close "${id}": ${found.length} operations begin so`, { hints: ["tether ops"] });
    }
    if (!entry) {
      throw new TetherError(`Cannot close "${id}": there is no such operation`, {
        code: "no-op",
        hints: ["tether ops"],
      });
    }
    if (entry.status !== "started") {
      throw new TetherError(`Cannot close "${entry.id}" (${entry.command}): it is complete`, {
        code: "complete",
        hints: ["tether ops"],
      });
    }
    const what = summary(entry);
    const complete = [...await completeLanded(ctx), ...(await completeAbandoned(ctx)).map((a) => a.entry)];
    const landed = complete.some((e) => e.id === entry.id);
    await keepBaseStates(ctx);
    const steps = entries.filter((e) => e.status === "started" && e.parent === entry.id);
    for (const { id } of landed ? [] : [entry, ...steps]) {
      // It counts as undone, so that undo goes on to what came before it.
      await ctx.journal.close(id, { closed: true }, { by: entry.id });
    }
    const hints = landed ? [] : await leftBehind(ctx, entry);
    const data = { closed: entry.id, command: entry.command, summary: what, landed, hints };
    return withJson(data, () => data);
  });
}

/** Names what judges a store that an `add --create` may have made: the index of created stores knows it, or nothing does. */
async function leftBehind(ctx: Context, { command, pre }: OpEntry): Promise<string[]> {
  const { store } = pre;
  if (command !== "add" || !isJsonObject(store) || !isJsonObject(store["locator"])) return [];
  const known = (await ctx.indexes.created()).some((c) => jsonEqual(c.identity, store["identity"]));
  if (known) return ["tether gc --delete-stores"];
  const named = `${String(store["kind"])}=${locatorText(store["locator"])}`;
  return [`tether gc --store ${shellQuote(named)}`];
}
