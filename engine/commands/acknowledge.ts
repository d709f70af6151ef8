/**
 * `ops --ack`: the user knows that the commit of an operation is gone, so `status` warns of it no more (commands, last section).
 *
 * @module
 */

import type { Context } from "../context.ts";
import { isAcknowledged, type OpEntry } from "../files/journal.ts";
import { TetherError } from "../model/errors.ts";
import { withLocks } from "../plan/operation.ts";
import type { CallOptions } from "../reports/report.ts";
import { vcsDrift } from "./drift.ts";
import { pickSignal } from "./snapshot.ts";

/**
 * Acknowledges that commits of operations vanished. Nothing but the journal changes; one that is acknowledged already stays so.
 *
 * @throws {TetherError} if an id names no operation or several, or the commit of one is still there; nothing is written then.
 */
export async function acknowledge(ctx: Context, ids: readonly string[], options: CallOptions = {}): Promise<void> {
  await withLocks(ctx, { command: "ops", repository: false, ...pickSignal(options) }, async () => {
    const entries = await ctx.journal.read();
    const gone = new Set((await vcsDrift(ctx, entries)).map((d) => d.op));
    const chosen = ids.map((id) => {
      const entry = named(entries, id);
      if (gone.has(entry.id)) return entry;
      throw new TetherError(`Cannot acknowledge "${entry.id}" (${entry.command}): no commit of it is gone`, {
        code: "not-gone",
        hints: ["tether status"],
      });
    });
    for (const entry of new Set(chosen)) if (!isAcknowledged(entry)) await ctx.journal.acknowledge(entry.id);
  });
}

function named(entries: readonly OpEntry[], id: string): OpEntry {
  const found = id.trim() === "" ? [] : entries.filter((e) => e.id.startsWith(id));
  const [entry] = found;
  if (entry && found.length === 1) return entry;
  const why = entry ? `${found.length} operations begin so` : "there is no such operation";
  throw new TetherError(`Cannot acknowledge "${id}": ${why}`, { code: "no-op", hints: ["tether ops"] });
}
