/**
 * What a command of tether may do to stores, history and files: the rules that keep data, as a function of what was there
 * before and after.
 *
 * @module
 */

import { parsePinRef, parseWorkingRef } from "../../engine/model/names.ts";
import { recordedAs, type Sight } from "./_sight.ts";
import type { Refs } from "./_stores.ts";

/** A step that a dataset took, as seen from outside. */
export interface Step {
  readonly command: string;
  readonly dataset: string;
  /** The checkout it was taken in. */
  readonly root: string;
  /** Whether the user gave data up: `--discard`, `--force-prune`. */
  readonly force: boolean;
  /** Whether branches of bookmarks that are gone may go. */
  readonly prune: boolean;
  readonly releaseForeign: boolean;
  /** `undefined`: it worked. `partial`: some of it. */
  readonly failure: "refused" | "partial" | undefined;
  /** Refs of all stores, by store. */
  readonly before: ReadonlyMap<string, Refs>;
  readonly after: ReadonlyMap<string, Refs>;
  /** The clone. */
  readonly was: Sight;
  readonly is: Sight;
  /** Native names of the pins that commands of this clone made. */
  readonly made: ReadonlySet<string>;
  /** The datasets that made stores, by store. */
  readonly owners: ReadonlyMap<string, string | undefined>;
  /** Tells whether a head is, or is an ancestor of, one of some others of its store. */
  reaches(store: string, heads: Iterable<string>, head: string): Promise<boolean>;
}

/** The only commands that release. */
const RELEASING = ["gc", "drop", "abandon"];
const PINNING = ["commit", "pull", "repair"];
const BRANCHING = ["new", "open", "restore", "undo", "gc", "drop", "repair", "promote"];

/** Returns a sentence for each rule that a step broke. */
export async function broken(step: Step): Promise<string[]> {
  const faults: string[] = [];
  for (const [store, before] of step.before) {
    const after = step.after.get(store) ?? new Map<string, string>();
    if (before.size > 0 && after.size === 0) {
      faults.push(...brokenByDeletion(step, store, before));
      continue;
    }
    for (const ref of new Set([...before.keys(), ...after.keys()])) {
      const [was, is] = [before.get(ref), after.get(ref)];
      if (was === is) continue;
      const change = `${store}: ${ref} ${was ?? "(none)"} -> ${is ?? "(none)"}`;
      if (step.failure === "refused") faults.push(`refused, and yet ${change}`);
      faults.push(...(await brokenBy(step, { store, ref, was, is })).map((why) => `${why}: ${change}`));
    }
  }
  if (step.failure === "refused") faults.push(...leftBehind(step));
  return faults;
}

/** Only a store that this dataset made goes, and only with nothing of anybody's in it. */
function brokenByDeletion(step: Step, store: string, before: Refs): string[] {
  const faults: string[] = [];
  if (step.failure === "refused") faults.push("refused, and yet a store went");
  if (step.was.away && step.command !== "undo") faults.push("a store went while a checkout could not be read");
  if (!["gc", "drop", "undo"].includes(step.command)) faults.push(`"${step.command}" deleted a store`);
  if (step.owners.get(store) !== step.dataset) faults.push("a store went that this dataset did not make");
  const base = before.get("branch main");
  for (const [ref, head] of before) {
    const name = ref.slice(ref.indexOf(" ") + 1);
    if (ref === "branch main") continue;
    const own = (ref.startsWith("tag ") ? parsePinRef(name) : parseWorkingRef(name))?.dataset === step.dataset;
    if (!own) faults.push(`a store went with ${ref}`);
    else if (ref.startsWith("tag ") && step.is.needed.has(name)) {
      faults.push(`a store went with ${ref}, which is needed`);
    } else if (ref.startsWith("branch ") && head !== base && !step.force && !isDropped(step, head)) {
      faults.push(`a store went with writes on ${ref}`);
    }
  }
  return faults.map((fault) => `${store}: ${fault}`);
}

interface Change {
  readonly store: string;
  /** `branch NAME` or `tag NAME`. */
  readonly ref: string;
  readonly was: string | undefined;
  readonly is: string | undefined;
}

async function brokenBy(step: Step, change: Change): Promise<string[]> {
  const { ref } = change;
  const name = ref.slice(ref.indexOf(" ") + 1);
  if (ref.startsWith("tag ")) return brokenByTag(step, { ...change, ref: name });
  if (name === "main") return await brokenByBase(step, change);
  return await brokenByBranch(step, { ...change, ref: name });
}

/** Only pins of this dataset that nothing visible names go, and only those of this clone. */
function brokenByTag(step: Step, { ref, was, is }: Change): string[] {
  const pin = parsePinRef(ref);
  if (pin?.dataset !== step.dataset) return ["a tag that is not this dataset's changed"];
  if (was !== undefined && is !== undefined) return ["a pin moved"];
  if (is !== undefined) return PINNING.includes(step.command) ? [] : [`"${step.command}" made a pin`];
  const faults: string[] = [];
  if (!RELEASING.includes(step.command)) faults.push(`"${step.command}" released a pin`);
  if (step.was.away) faults.push("a pin was released while a checkout could not be read");
  if (step.is.needed.has(ref)) faults.push("a pin was released that is needed");
  if (!step.made.has(ref) && !step.releaseForeign) faults.push("a pin of another clone was released");
  return faults;
}

async function brokenByBase(step: Step, { store, was, is }: Change): Promise<string[]> {
  const isMade = step.command === "add" && was === undefined && step.before.get(store)?.size === 0;
  if (isMade) return [];
  if (step.command !== "promote") return [`"${step.command}" moved an upstream branch`];
  if (was === undefined || is === undefined) return ["an upstream branch came or went"];
  return await step.reaches(store, [is], was) ? [] : ["an upstream branch lost commits"];
}

/** A branch goes, or leaves its head, only if that is held elsewhere or the user gave it up. */
async function brokenByBranch(step: Step, { store, ref, was, is }: Change): Promise<string[]> {
  if (parseWorkingRef(ref)?.dataset !== step.dataset) return ["a branch that is not this dataset's changed"];
  const isMade = step.command === "add" && was === undefined && step.before.get(store)?.size === 0;
  if (!BRANCHING.includes(step.command) && !isMade) return [`"${step.command}" changed a branch`];
  if (was === undefined) return [];
  const faults: string[] = [];
  if (is === undefined && step.command === "gc" && !step.prune) faults.push("gc deleted a branch unasked");
  if (is === undefined && step.was.away && RELEASING.includes(step.command)) {
    faults.push("a branch was deleted while a checkout could not be read");
  }
  if (step.force || wasAgreed(step, was)) return faults;
  const refs = step.before.get(store) ?? new Map<string, string>();
  // What the same step released or deleted holds nothing.
  const after = step.after.get(store) ?? new Map<string, string>();
  const others = [...after].filter(([other]) => other !== `branch ${ref}`).map(([, head]) => head);
  if (is !== undefined) others.push(is);
  const dropped = isDropped(step, was);
  if (!await step.reaches(store, others, was)) {
    if (!dropped) faults.push("writes were lost");
    if (recordedAs(was).some((text) => step.is.needed.has(text))) faults.push("a state was lost that a commit records");
  }
  const sweeps = step.command === "gc" || step.command === "drop";
  if (sweeps && is === undefined && !isHeld(step, refs, was) && !dropped) {
    faults.push("a branch with unpinned writes went");
  }
  return faults;
}

/** Whether the first writable open does what `new` was told to: it leaves the head that was given up then. */
function wasAgreed({ command, root, was }: Step, head: string): boolean {
  const tables = was.places.get(root)?.workspace.split("\n\n") ?? [];
  return command === "open" && tables.some((t) => t.startsWith("[pending_resets") && t.includes(`"${head}"`));
}

/** Whether a tag that commits of this clone name, or the base, is exactly there: the table of verdicts. */
function isHeld(step: Step, refs: Refs, head: string): boolean {
  return refs.get("branch main") === head ||
    [...refs].some(([ref, at]) => at === head && ref.startsWith(`tag tether.${step.dataset}.`));
}

/** Whether commits recorded the head that are dropped, or were there before: their loss is what was asked for. */
function isDropped(step: Step, head: string): boolean {
  return step.command === "drop" && recordedAs(head).some((text) => step.was.needed.has(text));
}

/** A refusal leaves history, files and the working state as they were. */
function leftBehind({ was, is }: Step): string[] {
  const faults: string[] = [];
  if (was.refs !== is.refs) faults.push(`refused, and yet the refs changed:\n${was.refs}\n->\n${is.refs}`);
  for (const [place, before] of was.places) {
    const after = is.places.get(place);
    if (!after) continue;
    for (const what of ["head", "index", "workspace"] as const) {
      // Whoever reads a checkout first gives it an id.
      const fresh = what === "workspace" && before.workspace === "";
      if (before[what] === after[what] || fresh) continue;
      faults.push(`refused, and yet ${what} of ${place} changed:\n${before[what]}\n->\n${after[what]}`);
    }
    if (JSON.stringify([...before.manifests]) !== JSON.stringify([...after.manifests])) {
      faults.push(`refused, and yet the manifests of ${place} changed`);
    }
  }
  return faults;
}
