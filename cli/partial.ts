/**
 * Commands that may do a part: what they did is shown before the failure, and the exit code says so (commands §1.3).
 *
 * @module
 */

import { MultiObjectError } from "../engine/model/multi_object_error.ts";
import type { Report } from "../engine/reports/report.ts";
import { type Context, EXIT } from "./context.ts";
import type { Line } from "./ui.ts";

/** Runs `fn`; a failure that carries a report of this command shows it, then itself, and sets the exit code. */
export async function showingParts<R extends Report>(
  context: Context,
  view: (report: R) => Iterable<Line>,
  fn: () => Promise<void>,
): Promise<void> {
  try {
    await fn();
  } catch (error) {
    if (!(error instanceof MultiObjectError) || !hasReport(error.report)) throw error;
    context.show(error.report as R, view);
    context.ui.error(error);
    const failed = error.code === "partial" ? EXIT.partial : EXIT.failed;
    context.exitCode = context.world.signal.aborted ? EXIT.interrupted : failed;
  }
}

function hasReport(report: unknown): report is Report {
  return typeof report === "object" && report !== null && "toJSON" in report;
}
