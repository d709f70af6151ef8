/**
 * What gc does with a pin and with a branch: the seed's verdict table as a pure function of what was read.
 *
 * @module
 */

/** What is known of a pin of this dataset that a store holds. */
export interface PinFacts {
  /** Whether any manifest anywhere, or an unfinished operation, names it. */
  readonly referenced: boolean;
  /** Whether this clone made it. */
  readonly ours: boolean;
  /** `--release-foreign`. */
  readonly releaseForeign: boolean;
}

/** What to do with a pin. */
export type PinVerdict = "reference" | "unpin" | "unpin-foreign" | "keep-pin";

/** Judges a pin. Only one that nothing names is released, and only if this clone made it or the user says so. */
export function judgePin(facts: PinFacts): PinVerdict {
  if (facts.referenced) return "reference";
  if (facts.ours) return "unpin";
  return facts.releaseForeign ? "unpin-foreign" : "keep-pin";
}

/** Where a stray branch's head stands. `unreadable` decides nothing (L10). */
export type HeadFacts =
  /** A tag holds it, for some commit. */
  | "pinned"
  /** Only commits that go recorded it: its loss is what was asked for. */
  | "given-up"
  /** Nothing was ever written: it is where the base is. */
  | "base"
  /** A commit recorded it without a pin: only this branch keeps it reachable. */
  | "recorded"
  /** Writes that no commit knows. */
  | "unpinned"
  | "unreadable";

/** What is known of a stray branch. */
export interface BranchFacts {
  readonly head: HeadFacts;
  /** Deleting it reclaims its data (Neon). */
  readonly isStorage: boolean;
  /** Why the store would refuse to delete it. */
  readonly blocked: string | undefined;
  /** `--force-prune`. */
  readonly force: boolean;
}

/** What to do with a stray branch, and why. */
export type BranchVerdict =
  | { readonly op: "delete-branch"; readonly forced: boolean; readonly why: string }
  | { readonly op: "keep-branch"; readonly forceable: boolean; readonly why: string };

/** Judges a stray branch. Force overrides what would lose data, never a store that refuses or a head that cannot be read. */
export function judgeBranch(facts: BranchFacts): BranchVerdict {
  if (facts.blocked !== undefined) {
    return { op: "keep-branch", forceable: false, why: `cannot be deleted: ${facts.blocked}` };
  }
  if (facts.head === "unreadable") return { op: "keep-branch", forceable: false, why: "its head cannot be read" };
  const loss = whatIsLost(facts);
  if (loss === undefined) {
    return { op: "delete-branch", forced: false, why: whyUnlost(facts.head) };
  }
  return facts.force
    ? { op: "delete-branch", forced: true, why: `FORCED although it ${loss}` }
    : { op: "keep-branch", forceable: true, why: loss };
}

function whyUnlost(head: HeadFacts): string {
  if (head === "given-up") return "what the commits recorded of it is given up";
  return head === "pinned" ? "its head is pinned" : "nothing was written to it";
}

function whatIsLost(facts: BranchFacts): string | undefined {
  if (facts.isStorage) return "is storage: deleting it reclaims its data";
  if (facts.head === "recorded") return "alone keeps a recorded state reachable";
  return facts.head === "unpinned" ? "has writes no commit pinned" : undefined;
}
