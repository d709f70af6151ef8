/**
 * Whether `undo` restored what it says.
 *
 * @module
 */

import type { UndoReport } from "../../engine/reports/moving.ts";
import type { Step } from "./_rules.ts";
import type { PlaceSight, Sight } from "./_sight.ts";
import type { Refs } from "./_stores.ts";

/** What was there before an operation. */
export interface Done {
  readonly command: string;
  readonly was: Sight;
  readonly refs: ReadonlyMap<string, Refs>;
  readonly clock: number;
}

/** Returns the ids of the operations in a journal. */
export function operationsIn(journal: PlaceSight["journal"]): string[] {
  return journal.flatMap((line) => typeof line["command"] === "string" ? [String(line["id"])] : []);
}

/** Returns a sentence for each claim of an undo that does not hold. */
export function brokenUndo(
  done: Done | undefined,
  { report, step, clock }: { readonly report: UndoReport; readonly step: Step; readonly clock: number },
): string[] {
  const faults: string[] = [];
  const is = step.is.places.get(step.root);
  for (const claim of report.restored) {
    const branch = /^branch (\S+) of "(.*)" is deleted$/.exec(claim)?.[1];
    const gone = branch !== undefined && [...step.after.values()].some((refs) => refs.has(`branch ${branch}`)) &&
      ![...step.before].some(([store, refs]) =>
        refs.has(`branch ${branch}`) && step.after.get(store)?.has(`branch ${branch}`) === false
      );
    if (gone) faults.push(`undo said that it deleted ${branch}`);
  }
  const was = done?.was.places.get(step.root);
  // Only what nothing came after is taken back whole; older operations leave what later ones built on.
  if (!done || !was || !is || clock !== done.clock + 1) return faults;
  const whole = report.irreversible.length === 0 && report.skipped.length === 0;
  if (!whole) return faults;
  if (["add", "remove", "set"].includes(report.command) || ["new", "fork", "restore"].includes(report.command)) {
    if (JSON.stringify([...was.manifests]) !== JSON.stringify([...is.manifests])) {
      faults.push("undo did not bring the manifests back");
    }
    if (was.workspace !== is.workspace) {
      faults.push(`undo did not bring the working state back:\n${was.workspace}\n->\n${is.workspace}`);
    }
    if (was.head !== is.head) faults.push(`undo did not bring HEAD back: ${was.head} -> ${is.head}`);
  }
  if (["new", "fork", "restore"].includes(report.command)) {
    if (JSON.stringify(refsOf(done.refs)) !== JSON.stringify(refsOf(step.after))) {
      faults.push("undo did not bring the branches back");
    }
    if (done.was.refs !== step.is.refs) faults.push(`undo left refs:\n${done.was.refs}\n->\n${step.is.refs}`);
  }
  if (["commit", "pull"].includes(report.command)) {
    if (was.head !== is.head) faults.push(`undo did not take the commit back: ${was.head} -> ${is.head}`);
    if (was.index !== is.index && isCommit(step)) {
      faults.push(`undo left something staged:\n${was.index}\n->\n${is.index}`);
    }
  }
  return faults;
}

function refsOf(all: ReadonlyMap<string, Refs>): unknown {
  return [...all].map(([store, refs]) => [store, [...refs].sort(([a], [b]) => a < b ? -1 : 1)]);
}

/** A commit without version control leaves the index alone. */
function isCommit(step: Step): boolean {
  return step.was.refs !== step.is.refs;
}
