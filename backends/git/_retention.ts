/**
 * How long git keeps a commit that no tag of tether holds.
 *
 * @module
 */

import type { Op, Retention } from "../backend.ts";
import type { Git } from "./_program.ts";
import type { Repo } from "./_repo.ts";

const SETTINGS = {
  "gc.pruneexpire": "2.weeks.ago",
  "gc.reflogexpire": "90 days",
  "gc.reflogexpireunreachable": "30 days",
};

/** Returns what keeps a commit: a ref that reaches it, else the reflog's and the prune's grace. */
export async function retentionOf(git: Git, repo: Repo, sha: string, op: Op = {}): Promise<Retention> {
  const args = ["for-each-ref", "--count=1", "--format=%(refname)", `--contains=${sha}`];
  const ref = (await git.call(repo, args, { ...op, action: "read the refs of" })).text().trim();
  if (ref !== "") return { rule: `kept while "${ref}" reaches it`, enforced: "none" };
  const set = await git.call(repo, ["config", "--null", "--get-regexp", "^gc\\."], {
    ...op,
    action: "read the configuration of",
    answers: [0, 1],
  });
  const values: Record<string, string> = { ...SETTINGS };
  for (const entry of set.text().split("\0")) {
    const [name = "", value = ""] = entry.split("\n");
    if (name in SETTINGS) values[name] = value;
  }
  const [prune, reflog, unreachable] = Object.keys(SETTINGS).map((name) => values[name]);
  return {
    rule: `kept while a reflog names it (${unreachable}, or ${reflog} where a branch had it), then pruned ${prune}`,
    enforced: "automatic",
  };
}
