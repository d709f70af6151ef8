/**
 * Making, resetting and deleting branches (backends §3.5). A branch is made in Lance's own order: its transaction and first
 * manifest, then its ref, which decides who made it.
 *
 * @module
 */

import { ABSENT, type Expected, type Op, type Source } from "../backend.ts";
import {
  ConcurrentChangeError,
  InvalidLocatorError,
  RefConflictError,
  RefMovedError,
} from "../../engine/model/backend_errors.ts";
import { renderState } from "../../engine/model/render_state.ts";
import { sameContent } from "../../engine/model/manifest.ts";
import { parseWorkingRef } from "../../engine/model/names.ts";
import { type BranchFiles, cloneForBranch, sameClone } from "./_branch_manifest.ts";
import { parseManifestFile } from "./_manifest.ts";
import { headOf, locate, type Position, samePosition, sourceOf, stateOf } from "./_positions.ts";
import { branchNames, createBranchRef, deleteBranch, holdersOf, type Lineage, readBranch } from "./_refs.ts";
import {
  branchFolder,
  branchKey,
  branchUri,
  exclusively,
  KIND,
  listVersions,
  MAIN,
  manifestKey,
  readVersion,
  type Table,
  undamaged,
} from "./_table.ts";

/** How old the files of a branch without a ref must be before they count as left behind, in milliseconds. */
const LEFTOVER_AGE_MS = 60_000;

/** What {@link fork} makes and under which condition. */
export interface ForkOptions extends Op {
  readonly name: string;
  /** The head the caller reviewed. */
  readonly expected?: Expected | undefined;
  readonly now: () => Date;
}

/**
 * Makes `name` a branch at the source, or resets it onto the source, and returns the branch: a sibling `.<n>` where the old
 * branch cannot be deleted.
 *
 * @throws {RefMovedError} if the branch is not where it was expected; nothing moved.
 * @throws {StateGoneError} if the source is gone.
 */
export async function fork(table: Table, from: Source, options: ForkOptions): Promise<string> {
  const { name } = options;
  checkBranchName(name);
  return await exclusively(table, async (held) => {
    const source = await sourceOf(held, from, options);
    const head = await headOf(held, name, options);
    compareHead(name, head, options.expected);
    if (head && samePosition(head, source)) return name;
    const blocked = head !== undefined && await isHeld(held, name, source, options);
    const target = blocked ? await freeSibling(held, name, options) : name;
    const branch = await plan(held, source, { name: target, now: options.now() }, options);
    if (head && !blocked) {
      // Looked at again: what is deleted is what was compared.
      const again = await headOf(held, name, options);
      compareHead(name, again, stateOf(head));
      // From here on the call goes through: an abort in between would leave the name without a branch.
      options.signal?.throwIfAborted();
      await deleteBranch(held, name);
    } else options.signal?.throwIfAborted();
    await make(held, branch);
    return target;
  }, options);
}

/**
 * Deletes a branch, and what an interrupted deletion left of it. Main and an absent branch are left alone.
 *
 * @throws {RefConflictError} if something resolves into it.
 */
export async function removeBranch(table: Table, name: string, op: Op): Promise<void> {
  if (name === MAIN) return;
  checkBranchName(name);
  await exclusively(table, async (held) => {
    const [branch, versions] = [await readBranch(held, name, op), await listVersions(held, name, op)];
    if (!branch && versions.length === 0) return;
    const holders = await holdersOf(held, name, op);
    if (holders.length > 0) throw heldError(table, name, holders);
    op.signal?.throwIfAborted();
    await deleteBranch(held, name);
    if (await readBranch(held, name, {})) {
      throw new RefConflictError(`Cannot delete branch "${name}" of "${table.uri}": it is still there`, { kind: KIND });
    }
  }, op);
}

/** Returns why a branch cannot be deleted; `undefined` when it can, or could once the refs to ignore are gone. */
export async function blockersOf(
  table: Table,
  name: string,
  options: Op & { readonly ignoring?: ReadonlySet<string> },
): Promise<string | undefined> {
  if (name === MAIN) return "it is the main branch";
  const holders = await holdersOf(table, name, options);
  return holders.length === 0 ? undefined : `it is held by ${enumerate(holders)}`;
}

async function isHeld(table: Table, name: string, source: Position, op: Op): Promise<boolean> {
  // A source on the branch itself would go with it.
  return source.branch === name || (await holdersOf(table, name, op)).length > 0;
}

async function freeSibling(table: Table, name: string, op: Op): Promise<string> {
  const parsed = parseWorkingRef(name);
  const generation = parsed?.type === "bookmark" ? parsed.generation : 1;
  // The sibling of "x.2" is "x.3": a generation of a generation would be another bookmark's name.
  const stem = generation > 1 ? name.slice(0, -`.${generation}`.length) : name;
  const taken = new Set(await branchNames(table, op));
  for (let n = 2;; n++) {
    if (!taken.has(`${stem}.${n}`)) return `${stem}.${n}`;
  }
}

/** A branch about to be made: everything that could refuse it has been read. */
interface PlannedBranch {
  readonly name: string;
  readonly source: Position;
  readonly files: BranchFiles;
  /** Size of the source's manifest file in bytes. */
  readonly manifestSize: number;
  /** Lineage of the source's branch. */
  readonly lineage: readonly Lineage[];
  readonly now: Date;
}

async function plan(
  table: Table,
  source: Position,
  target: { readonly name: string; readonly now: Date },
  op: Op,
): Promise<PlannedBranch> {
  const version = await locate(table, source, op);
  const file = await readVersion(table, version, op);
  const parent = source.branch === MAIN ? undefined : await readBranch(table, source.branch, op);
  const files = undamaged(table, version, () =>
    cloneForBranch(file, {
      branch: target.name,
      ...(source.branch === MAIN ? {} : { sourceBranch: source.branch }),
      sourceUri: branchUri(table, source.branch),
      transactionId: crypto.randomUUID(),
      now: target.now,
    }));
  return { ...target, source, files, manifestSize: file.bytes.length, lineage: parent?.lineage ?? [] };
}

async function make(table: Table, branch: PlannedBranch): Promise<void> {
  const { name, source, files, now, manifestSize } = branch;
  if (!await adoptLeftover(table, branch)) {
    await table.storage.put(branchKey(name, `_transactions/${files.transactionName}`), files.transaction);
    const { written } = await table.storage.putIfAbsent(manifestKey(name, source.version), files.manifest);
    if (!written) throw madeMeanwhile(name);
  }
  const id = crypto.randomUUID().replaceAll("-", "");
  const made = await createBranchRef(table, {
    name,
    parent: source.branch,
    parentVersion: source.version,
    lineage: [...branch.lineage, { version: source.version, id }],
    manifestSize,
    now,
  });
  if (!made) throw madeMeanwhile(name);
}

/**
 * Deals with files of a branch that has no ref: made by a call that was killed, or by a deletion that was. Returns true when
 * they are exactly what is wanted, so that the same command run again finishes what it began.
 *
 * @throws {ConcurrentChangeError} if they may be another writer's at work.
 * @throws {RefConflictError} if something resolves into them.
 */
async function adoptLeftover(table: Table, wanted: PlannedBranch): Promise<boolean> {
  const { name } = wanted;
  const versions = await listVersions(table, name, {});
  const [newest] = versions;
  if (!newest) return false;
  if (await readBranch(table, name, {})) throw madeMeanwhile(name);
  if (versions.length === 1) {
    const found = await readVersion(table, newest, {});
    if (sameClone(found.message, parseManifestFile(Uint8Array.from(wanted.files.manifest)).message)) return true;
  }
  const written = (await table.storage.head(newest.key))?.modified?.getTime() ?? 0;
  if (wanted.now.getTime() - written < LEFTOVER_AGE_MS) {
    throw new ConcurrentChangeError(
      `Cannot create branch "${name}" of "${table.uri}": another program is making or deleting it`,
      { kind: KIND, hints: ["Run the command again in a minute"] },
    );
  }
  const holders = await holdersOf(table, name, {});
  if (holders.length > 0) throw heldError(table, name, holders);
  await table.storage.deleteFolder(branchFolder(name));
  return false;
}

/** Checks a name against Lance's rules for branches, which tether's own names meet but for an end in `.lock`. */
function checkBranchName(name: string): void {
  const valid = name !== MAIN && !name.includes("..") && !name.endsWith(".lock") &&
    name.split("/").every((segment) => /^[\p{L}\p{N}._-]+$/u.test(segment));
  if (!valid) {
    throw new InvalidLocatorError(`Cannot use "${name}" as a branch: Lance does not allow the name`, { kind: KIND });
  }
}

function compareHead(name: string, head: Position | undefined, expected: Expected | undefined): void {
  if (expected === undefined) return;
  const found = head ? stateOf(head) : null;
  const wanted = expected === ABSENT ? null : expected;
  if (sameContent(found, wanted, new Set())) return;
  const [seen, reviewed] = [found, wanted].map((state) => state ? renderState(state) : "absent");
  throw new RefMovedError(`Cannot fork onto "${name}": head is ${seen}, expected ${reviewed}`, {
    kind: KIND,
    ref: name,
    expected: wanted,
    found,
  });
}

function madeMeanwhile(name: string): RefMovedError {
  return new RefMovedError(`Cannot create branch "${name}": another program made it meanwhile`, {
    kind: KIND,
    ref: name,
    expected: null,
    found: { branch: name },
  });
}

function heldError(table: Table, name: string, holders: readonly string[]): RefConflictError {
  return new RefConflictError(`Cannot delete branch "${name}" of "${table.uri}": it is held by ${enumerate(holders)}`, {
    kind: KIND,
    details: { holders },
  });
}

function enumerate(items: readonly string[]): string {
  const shown = items.slice(0, 5).join(", ");
  return items.length > 5 ? `${shown} and ${items.length - 5} more` : shown;
}
