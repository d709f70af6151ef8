/**
 * Moving branches: only from the head that was reviewed, and in one step (backends §3.4).
 *
 * @module
 */

import { ABSENT, type Expected, type Op, type Source, type State } from "../backend.ts";
import { RefConflictError, RefMovedError, UnavailableError } from "../../engine/model/backend_errors.ts";
import { renderState } from "../../engine/model/render_state.ts";
import { refusalOf } from "./_errors.ts";
import { isAncestor } from "./_history.ts";
import { KIND, MAIN, snapshotOf, stateOf } from "./_locator.ts";
import { branchHead, requireBranch, sourcePlace } from "./_refs.ts";
import type { Store } from "./_repository.ts";

/** How often a move without expectation is tried while others move the same branch. */
const ATTEMPTS = 20;

/**
 * Creates a branch at a source, or moves it there. With `expected` only from that head, in one step; without, from
 * whatever it is.
 *
 * @throws {RefMovedError} if the head is not the one expected; nothing moved.
 * @throws {StateGoneError} if the source does not exist.
 */
export async function forkBranch(
  store: Store,
  move: { readonly from: Source; readonly name: string },
  options: Op & { readonly expected?: Expected },
): Promise<void> {
  const { name } = move;
  const op: Op = options.signal ? { signal: options.signal } : {};
  const target = (await sourcePlace(store, move.from, op)).snapshot;
  await store.requireSnapshot(target, { ...op, what: `fork "${name}"` });
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const head = await branchHead(store, name, op);
    requireHead(head, { name, what: "fork", ...pick(options.expected) });
    if (head === target) return;
    const moved = head === undefined
      ? await createBranch(store, { name, target }, op)
      : await resetBranch(store, { name, target, head }, op);
    if (moved) return;
    // Somebody else moved it: what was expected is not there any more, and the next look says what is.
  }
  throw new UnavailableError(`Cannot fork "${name}": others keep moving it`, { kind: KIND });
}

/**
 * Moves the base forward to a source.
 *
 * @throws {RefMovedError} if the base is not at `expected`, or moved while the source was looked at.
 * @throws {RefConflictError} if the base is not in the source's history.
 */
export async function promoteBranch(
  store: Store,
  move: { readonly from: Source; readonly base: string; readonly hint: string },
  options: Op & { readonly expected?: State },
): Promise<State> {
  const { base } = move;
  const op: Op = options.signal ? { signal: options.signal } : {};
  const head = await requireBranch(store, base, op);
  requireHead(head, { name: base, what: "promote", ...pick(options.expected) });
  const target = (await sourcePlace(store, move.from, op)).snapshot;
  if (target === head) return stateOf(head);
  await store.requireSnapshot(target, { ...op, what: `promote "${base}"` });
  if (await isAncestor(store, { ancestor: head, descendant: target }, op) !== true) {
    throw new RefConflictError(`Cannot promote "${base}": its head "${head}" is not in the history of "${target}"`, {
      kind: KIND,
      hints: [move.hint],
    });
  }
  if (!await resetBranch(store, { name: base, target, head }, op)) {
    const found = await branchHead(store, base, op);
    requireHead(found, { name: base, what: "promote", expected: stateOf(head) });
    throw new UnavailableError(`Cannot promote "${base}": others keep moving it`, { kind: KIND });
  }
  return stateOf(target);
}

/**
 * Deletes a branch and looks again; already gone is success, and the branch every repository has stays.
 *
 * @throws {RefConflictError} if it is still there.
 */
export async function deleteBranch(store: Store, name: string, op: Op): Promise<void> {
  if (name === MAIN || await branchHead(store, name, op) === undefined) return;
  try {
    await store.use({ ...op, what: `delete branch "${name}"` }, (r) => r.deleteBranch(name));
  } catch (error) {
    if (refusalOf(error) !== "no-ref") throw error;
  }
  if (await branchHead(store, name, {}) === undefined) return;
  throw new RefConflictError(`Cannot delete branch "${name}" of "${store.uri}": it is still there`, { kind: KIND });
}

/** Returns whether the branch was made; `false` when there is one of this name already. */
async function createBranch(store: Store, o: { name: string; target: string }, op: Op): Promise<boolean> {
  return await unlessMoved(() =>
    store.use({ ...op, what: `create branch "${o.name}"` }, (r) => r.createBranch(o.name, o.target))
  );
}

/** Returns whether the branch was moved; `false` when it is not at `head` any more. */
async function resetBranch(
  store: Store,
  o: { readonly name: string; readonly target: string; readonly head: string },
  op: Op,
): Promise<boolean> {
  return await unlessMoved(() =>
    store.use({ ...op, what: `move branch "${o.name}"` }, (r) => r.resetBranch(o.name, o.target, o.head))
  );
}

async function unlessMoved(change: () => Promise<void>): Promise<boolean> {
  try {
    await change();
    return true;
  } catch (error) {
    if (["moved", "ref-exists", "no-ref"].includes(refusalOf(error) ?? "")) return false;
    throw error;
  }
}

function requireHead(
  head: string | undefined,
  o: { readonly name: string; readonly what: string; readonly expected?: Expected },
): void {
  if (o.expected === undefined) return;
  const wanted = o.expected === ABSENT ? undefined : snapshotOf(o.expected);
  if (head === wanted) return;
  const [expected, found] = [wanted, head].map((id) => id === undefined ? null : stateOf(id));
  throw new RefMovedError(
    `Cannot ${o.what} "${o.name}": head is ${head === undefined ? "absent" : renderState(found)}, expected ${
      wanted === undefined ? "absent" : renderState(expected)
    }`,
    { kind: KIND, ref: o.name, expected: expected ?? null, found: found ?? null },
  );
}

function pick(expected: Expected | undefined): { readonly expected?: Expected } {
  return expected === undefined ? {} : { expected };
}
