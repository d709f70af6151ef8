/**
 * Calls of a dataset's methods as data, so that they can be handed to another process.
 *
 * @module
 */

import type { AddOptions } from "../../engine/commands/add.ts";
import type { CommitOptions } from "../../engine/commands/commit.ts";
import type { GcRequest } from "../../engine/commands/gc_input.ts";
import type { DropRequest } from "../../engine/commands/drop_plan.ts";
import type { NewOptions } from "../../engine/commands/new.ts";
import type { Dataset } from "../../engine/dataset.ts";
import type { Policy } from "../../engine/model/manifest.ts";

/** A call of a dataset's method. */
export type Call =
  | { readonly command: "add"; readonly options: AddOptions }
  | { readonly command: "remove"; readonly key: string }
  | { readonly command: "set"; readonly policy: Partial<Policy> }
  | { readonly command: "commit"; readonly options: CommitOptions }
  | { readonly command: "new"; readonly options: NewOptions }
  | { readonly command: "open"; readonly key: string }
  | { readonly command: "gc"; readonly options: GcRequest }
  | { readonly command: "snapshot" }
  | { readonly command: "pull" }
  | { readonly command: "restore"; readonly keys: readonly string[]; readonly from: string }
  | { readonly command: "promote" }
  | { readonly command: "undo" }
  | { readonly command: "repair" }
  | { readonly command: "drop"; readonly bookmark: string; readonly options?: Omit<DropRequest, "bookmark"> }
  | { readonly command: "abandon"; readonly revs: readonly string[] }
  | { readonly command: "close"; readonly op: string }
  | { readonly command: "upgrade" }
  | { readonly command: "forget-workspace"; readonly id?: string }
  | { readonly command: "recover" };

/** What a process ends with whose call was refused. */
export const REFUSED = 75;

/** Makes a call. */
export async function perform(dataset: Dataset, call: Call): Promise<void> {
  switch (call.command) {
    case "add":
      await dataset.add(call.options);
      break;
    case "remove":
      await dataset.remove(call.key);
      break;
    case "set":
      await dataset.setPolicy("all", call.policy);
      break;
    case "commit":
      await dataset.commit(call.options);
      break;
    case "new":
      await dataset.new(call.options);
      break;
    case "open": {
      await using _handle = await dataset.open(call.key);
      break;
    }
    case "gc":
      await dataset.gc({ ...call.options, dryRun: false });
      break;
    case "snapshot":
      await dataset.snapshot();
      break;
    case "pull":
      await dataset.pull();
      break;
    case "restore":
      await dataset.restore(call.keys, { from: call.from, discard: true });
      break;
    case "promote":
      await dataset.promote();
      break;
    case "undo":
      await dataset.undo();
      break;
    case "repair":
      await dataset.repair({ allHistory: true });
      break;
    case "drop":
      await dataset.drop(call.bookmark, { ...call.options, dryRun: false });
      break;
    case "abandon":
      await dataset.abandon(call.revs);
      break;
    case "close":
      await dataset.closeOperation(call.op);
      break;
    case "upgrade":
      await dataset.upgrade();
      break;
    case "forget-workspace":
      await dataset.forgetWorkspace(call.id);
      break;
    case "recover":
      await dataset.recover();
      break;
    default:
      call satisfies never;
  }
}
