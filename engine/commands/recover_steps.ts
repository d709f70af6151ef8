/**
 * The steps `recover` proposes, each a command line to paste or a decision to take (commands §5.18).
 *
 * @module
 */

import type { Context } from "../context.ts";
import { operands, shellQuote } from "../io/shell.ts";
import { ConfigError } from "../model/errors.ts";
import { bookmarkSlug } from "../model/names.ts";
import { manifestsOf } from "../revision.ts";
import type { RecoveredDataset, RecoverReport } from "./recover.ts";

/** One step. */
interface Step {
  readonly command: string | null;
  readonly note: string;
}

/** What is known of the stores. */
type Findings = Pick<
  RecoverReport,
  "datasetId" | "trunk" | "pinned" | "suggestedDatasetId" | "scoped" | "objects" | "datasets"
>;

/** Returns the steps; none when nothing is lost. */
export async function recoverySteps(ctx: Context, found: Findings): Promise<Step[]> {
  const missing = found.objects.filter((o) => o.missingPin !== null).map((o) => o.key);
  const repair: Step[] = missing.length === 0 ? [] : [{
    command: `tether repair -- ${missing.map(shellQuote).join(" ")}`,
    note: "makes pins again that manifests name and stores lack, while the stores have the states",
  }];
  const identity = identityStep(found);
  if (found.scoped) return [...repair, ...identity, ...wholeStep(found)];
  const dataset = found.datasets.find((d) => d.datasetId === (found.suggestedDatasetId ?? found.datasetId));
  if (dataset === undefined) return [...repair, ...identity];
  const bookmarks = await ctx.vcs.bookmarks();
  return [
    ...repair,
    ...identity,
    ...await trunkStep(ctx, found, bookmarks),
    ...await bookmarkSteps(ctx, { found, dataset, bookmarks }),
    ...legacySteps(found, dataset, bookmarks),
  ];
}

function identityStep(found: Findings): Step[] {
  const foreign = found.datasets.filter((d) => !d.current).map((d) => d.datasetId);
  if (foreign.length === 0) return [];
  const names = foreign.join(", ");
  if (found.scoped) {
    return [{ command: null, note: `some refs are of dataset ${names}, not of this one (${found.datasetId})` }];
  }
  if (found.suggestedDatasetId !== null) {
    return [{
      command: null,
      note:
        `set the id in tether.toml, since nothing is pinned under ${found.datasetId} yet:\n[dataset]\nid = "${found.suggestedDatasetId}"`,
    }];
  }
  // Refs of other datasets are nothing unusual in stores that several share.
  if (found.pinned) return [];
  return [{
    command: null,
    note: `choose which dataset this one continues, and set its id in tether.toml: ${names}`,
  }];
}

function wholeStep(found: Findings): Step[] {
  if (found.datasets.length === 0) return [];
  return [{ command: "tether recover", note: "says what to do once every object has been looked at" }];
}

async function trunkStep(
  ctx: Context,
  found: Findings,
  bookmarks: ReadonlyMap<string, string | null>,
): Promise<Step[]> {
  const { trunk } = found;
  if (found.suggestedDatasetId === null && await isRecorded(ctx, bookmarks.get(trunk), found.objects)) return [];
  const here = ctx.workspace.bookmark === trunk ? "" : `tether new ${operands([trunk])} && `;
  return [{
    command: `${here}tether commit -m ${shellQuote(`Recover ${trunk}`)}`,
    note: "records what every upstream branch holds; a state that was pinned before gets the pin it had",
  }];
}

/** Tells whether a bookmark's commit records a state of each of some objects. */
async function isRecorded(
  ctx: Context,
  commit: string | null | undefined,
  objects: readonly { readonly key: string }[],
): Promise<boolean> {
  if (typeof commit !== "string") return false;
  try {
    const manifests = await manifestsOf(ctx, commit);
    return objects.every(({ key }) => (manifests.get(key)?.state ?? null) !== null);
  } catch (error) {
    // One that does not parse records nothing that could be relied on.
    if (error instanceof ConfigError) return false;
    throw error;
  }
}

async function bookmarkSteps(
  ctx: Context,
  request: {
    readonly found: Findings;
    readonly dataset: RecoveredDataset;
    readonly bookmarks: ReadonlyMap<string, string | null>;
  },
): Promise<Step[]> {
  const { found, dataset, bookmarks } = request;
  const steps: Step[] = [];
  for (const { slug, branches } of dataset.bookmarks) {
    const name = [...bookmarks.keys()].find((b) => bookmarkSlug(b) === slug);
    const holders = found.objects.filter((o) => holds(o, branches));
    if (name !== undefined && await isRecorded(ctx, bookmarks.get(name), holders)) continue;
    const go = name === undefined
      ? `tether new -b ${shellQuote(slug)} --adopt ${operands([found.trunk])}`
      : `tether new --adopt ${operands([name])}`;
    steps.push({
      command: `${go} && tether commit -m ${shellQuote(`Recover ${name ?? slug}`)}`,
      note: `takes the branches of ${
        holders.map((o) => o.key).join(", ")
      } as they are, with writes nobody committed, and records them`,
    });
  }
  return steps;
}

function holds(object: RecoverReport["objects"][number], branches: readonly string[]): boolean {
  return object.datasets.some((d) => d.bookmarks.some((b) => b.branches.some((ref) => branches.includes(ref))));
}

function legacySteps(
  found: Findings,
  dataset: RecoveredDataset,
  bookmarks: ReadonlyMap<string, string | null>,
): Step[] {
  return dataset.legacy.map(({ workspace, branches }) => {
    const stem = `recover-${workspace}`;
    let name = stem;
    for (let n = 2; bookmarks.has(name); n++) name = `${stem}-${n}`;
    const restores = branches.map((ref) => {
      const keys = found.objects.filter((o) => o.datasets.some((d) => d.legacy.some((l) => l.branches.includes(ref))))
        .map((o) => o.key);
      return `tether restore --at ${shellQuote(ref)} -- ${keys.map(shellQuote).join(" ")}`;
    });
    const commands = [
      `tether new -b ${name} ${operands([found.trunk])}`,
      ...restores,
      `tether commit -m ${shellQuote(`Recover ${name}`)}`,
    ];
    return {
      command: commands.join(" && "),
      note: `copies the branches that checkout ${workspace} had before there were bookmarks; they stay as they are`,
    };
  });
}
