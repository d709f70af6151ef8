/**
 * `tether plan` (commands §5.29).
 *
 * @module
 */

import { Argument, type Command } from "@commander-js/extra-typings";
import { shellQuote } from "../engine/io/shell.ts";
import type { Plan } from "../engine/plan/plan.ts";
import type { Context } from "./context.ts";
import type { CommandHelp } from "./help.ts";
import { readPlan, showPlan } from "./plans.ts";
import { counted, hint } from "./render.ts";
import type { Line } from "./ui.ts";

/** The long help. */
export const help: CommandHelp = {
  text: [
    "show prints a plan that --plan saved, as it was printed then. It needs no dataset and contacts no store.",
    "check asks whether everything the plan saw still holds, without applying it, and ends with 1 at the first thing that does not.",
    "A plan belongs to the version of tether that made it, and can be checked only in the checkout it was made in.",
  ],
  examples: [
    ["Read it before it is applied", "tether plan show load.json"],
    [
      "Apply it only if it still holds, as a later step",
      "tether plan check load.json && tether commit --from-plan load.json",
    ],
  ],
  reach: "stores",
};

/** Adds arguments and the action. */
export function define(command: Command, context: Context): void {
  command
    .addArgument(new Argument("<action>", "show or check").choices(["show", "check"] as const))
    .argument("<file>", "a plan that --plan saved")
    .action(async (action, file) => {
      const plan = await readPlan(file, context.world.signal);
      if (action === "show") {
        if (plan.digest() !== plan.recordedDigest) {
          context.ui.warning("the plan was edited after it was made, so it cannot be applied");
        }
        showPlan(context, plan);
        return;
      }
      await using dataset = await context.dataset({ allowOlder: plan.command === "upgrade" });
      await dataset.checkPlan(plan);
      context.showJson(
        () => ({ holds: true, command: plan.command, writes: plan.writes.length, digest: plan.digest() }),
        () => holdsLines(plan, file),
      );
    });
}

/** Returns the human form of a plan that still holds. */
export function holdsLines(plan: Plan, file: string): Line[] {
  const verb = plan.isEmpty ? "it writes nothing" : `it makes ${counted(plan.writes.length, "write")}`;
  return [
    { text: `the plan for ${plan.command} holds: ${verb}` },
    ...(plan.isEmpty ? [] : [hint(`tether ${plan.command} --from-plan ${shellQuote(file)}`)]),
  ];
}
