/**
 * Whether gc may delete a store that tether made: the five rules of the seed as a pure function of what was read.
 *
 * @module
 */

/** Whom the marker in a store names. */
export type OwnerFacts =
  | { readonly is: "ours" }
  | { readonly is: "other"; readonly dataset: string }
  | { readonly is: "none" }
  | { readonly is: "unknown"; readonly why: string };

/** What was read of a store. */
export interface StoreFacts {
  /** Rule 1. */
  readonly owner: OwnerFacts;
  /** Rule 2: which manifest needs it, or why that cannot be told; `undefined` when none does. */
  readonly named: string | undefined;
  /** Rule 3: refs of this dataset that this clone cannot account for. */
  readonly unaccounted: readonly string[];
  /** Rule 4: what of this dataset stays in it, each with its reason. */
  readonly staying: readonly string[];
  /** Whether its place is a symbolic link: what is behind it was put there by somebody else, and is never deleted. */
  readonly linked: boolean;
  /** Rule 5: whether nothing else is in it; `undefined` when that cannot be told. */
  readonly empty: boolean | undefined;
  /** `--force-prune`: overrides rule 3, and has had its say in what stays. */
  readonly force: boolean;
}

/** What to do with the store. */
export type StoreVerdict =
  | { readonly op: "delete-store" }
  /** `hands`: whether this dataset's dead refs in it are released all the same. */
  | { readonly op: "keep-store"; readonly why: string; readonly hands: "on" | "off" }
  /** Another dataset's. */
  | { readonly op: "leave"; readonly dataset: string }
  /** Never marked, or gone. */
  | { readonly op: "forget-store" };

/** Judges a store. Whatever is not known keeps it. */
export function judgeStore(facts: StoreFacts): StoreVerdict {
  const { owner } = facts;
  if (owner.is === "none") return { op: "forget-store" };
  if (owner.is === "other") return { op: "leave", dataset: owner.dataset };
  if (owner.is === "unknown") return keep(`its owner marker cannot be read: ${owner.why}`, "off");
  if (facts.named !== undefined) return keep(facts.named, "off");
  if (facts.unaccounted.length > 0 && !facts.force) {
    const refs = facts.unaccounted.join(", ");
    return keep(`another clone may be at work in it: this one did not make ${refs} (--force-prune goes on)`, "off");
  }
  if (facts.linked) return keep("its place is a symbolic link; tether deletes only the folder it made itself", "on");
  if (facts.staying.length > 0) return keep(facts.staying.join("; "), "on");
  if (facts.empty === undefined) return keep("it cannot be told whether anything else is in it", "on");
  return facts.empty ? { op: "delete-store" } : keep("something else than tether's own refs is in it", "on");
}

function keep(why: string, hands: "on" | "off"): StoreVerdict {
  return { op: "keep-store", why, hands };
}
