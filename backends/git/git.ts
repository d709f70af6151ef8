/**
 * The kind `git`: repositories of their own (backends §3.3). Pins are tags, working refs branches, and every move is made
 * by git from the value the caller saw.
 *
 * @module
 */

import {
  ABSENT,
  type BackendSettings,
  type BackendStatics,
  type Expected,
  type Handle,
  type HistoryEntry,
  type Locator,
  makeHandle,
  type ObjectBackend,
  type ObjectDiff,
  type Op,
  type Pin,
  type Retention,
  type Source,
  type State,
  type Target,
  type Verdict,
  withoutAt,
} from "../backend.ts";
import {
  BackendError,
  CommitStateUnknownError,
  RefConflictError,
  RefMovedError,
  StateGoneError,
  StoreNotFoundError,
} from "../../engine/model/backend_errors.ts";
import { canonicalUri } from "../../engine/io/paths.ts";
import { parsePinRef, parseWorkingRef, refForPin, WORKING_REF_PREFIX } from "../../engine/model/names.ts";
import { baseOfHead, headBranch } from "./_checkout.ts";
import { createRepo, deleteRepo, readOwner, whatElse } from "./_create.ts";
import { diffOf, historyOf } from "./_history.ts";
import { fastForward, type Landing, merge } from "./_landing.ts";
import { findMissing, hasCommit, isAncestor } from "./_objects.ts";
import { Git } from "./_program.ts";
import { pinRef, readCommit, readSource, readState } from "./_reading.ts";
import {
  branchRef,
  checkFree,
  movedError,
  moveRef,
  readRef,
  readRefNames,
  readRefs,
  type Ref,
  shortName,
  tagRef,
} from "./_refs.ts";
import { deleteFromRemote, pushTag, remoteOf } from "./_remote.ts";
import { exists, KIND, openRepo, parseLocator, pathOf, type Repo, shaOf } from "./_repo.ts";
import { retentionOf } from "./_retention.ts";
import { gitStatics } from "./statics.ts";
import { join } from "node:path";

const PINS = `${tagRef(refForPin("x")).slice(0, -1)}*`;
const WORKING_REFS = `${branchRef(`${WORKING_REF_PREFIX}x`).slice(0, -1)}*`;

/** Backend of the kind `git`. */
export class GitBackend implements ObjectBackend {
  readonly statics: BackendStatics = gitStatics;
  readonly #settings: BackendSettings;
  readonly #git: Git;

  constructor(settings: BackendSettings) {
    this.#settings = settings;
    this.#git = new Git(settings);
  }

  identity(locator: Locator): Locator {
    return { path: canonicalUri(pathOf(locator)) };
  }

  async baseBranch(locator: Locator, op: Op = {}): Promise<string> {
    const { ref } = parseLocator(locator, this.#settings);
    if (ref !== undefined) return ref;
    return await baseOfHead(this.#git, await this.#open(locator, op), op);
  }

  async validateLocator(locator: Locator, op: Op = {}): Promise<readonly string[]> {
    const { remote, root } = parseLocator(locator, this.#settings);
    // A repository may be cloned later; its remotes are known only once it is there.
    if (remote?.type === "name" && await exists(root)) await remoteOf(this.#git, await this.#open(locator, op), op);
    return [];
  }

  async fingerprint(locator: Locator, ref: string | undefined, op: Op = {}): Promise<State> {
    const repo = await this.#open(locator, op);
    const { sha, dirty } = await readState(this.#git, repo, ref, op);
    const changeId = await exists(join(repo.root, ".jj")) ? await this.#git.changeId(repo, sha, op) : undefined;
    return { sha, dirty, ...(changeId === undefined ? {} : { change_id: changeId }) };
  }

  async verify(
    locator: Locator,
    state: State,
    pin: Pin | undefined,
    options: Op & { readonly deep: boolean },
  ): Promise<Verdict> {
    try {
      const repo = await this.#open(locator, options);
      const sha = shaOf(state);
      if (pin) {
        const verdict = verdictOf(await readRef(this.#git, repo, pinRef(pin), options), sha);
        if (verdict.status !== "ok" || !options.deep) return verdict;
      } else if (!await hasCommit(this.#git, repo, sha, options)) {
        return { status: "missing", message: `commit ${sha} does not exist` };
      }
      if (!options.deep) return { status: "unknown", message: "the commit exists; its files were not looked for" };
      const gone = await findMissing(this.#git, repo, sha, options);
      return gone === undefined ? { status: "ok" } : { status: "missing", message: `object ${gone} does not exist` };
    } catch (error) {
      return verdictFor(error);
    }
  }

  async verifyPins(
    locator: Locator,
    items: readonly { readonly state: State; readonly pin: Pin }[],
    op: Op = {},
  ): Promise<readonly Verdict[]> {
    try {
      const repo = await this.#open(locator, op);
      const tags = new Map((await readRefs(this.#git, repo, [PINS], op)).map((r) => [r.name, r]));
      return items.map(({ state, pin }) => verdictOf(tags.get(pinRef(pin)), shaOf(state)));
    } catch (error) {
      return items.map(() => verdictFor(error));
    }
  }

  async openHandle(locator: Locator, target: Target, options: Op & { readonly readOnly: boolean }): Promise<Handle> {
    const repo = await this.#open(locator, options);
    const isPast = target.on === "pin" || target.on === "state" || (target.on === "base" && repo.at !== undefined);
    const { sha, branch } = await this.#opened(repo, target, options);
    const isHead = target.on === "base" && repo.at === undefined && repo.ref === undefined && !repo.bare;
    const worktree = isHead ? repo.root : branch?.worktree;
    return makeHandle({
      type: "GitHandle",
      kind: KIND,
      key: repo.path,
      readOnly: options.readOnly || isPast,
      address: `${repo.path}@${sha}`,
      native: { path: repo.path, sha, ...(worktree === undefined ? {} : { worktree }) },
    });
  }

  async retention(locator: Locator, state: State, options: Op): Promise<Retention> {
    return await retentionOf(this.#git, await this.#open(locator, options), shaOf(state), options);
  }

  async pin(locator: Locator, state: State, pinId: string, op: Op = {}): Promise<Pin> {
    const repo = await this.#open(locator, op);
    const sha = shaOf(state);
    const refusal = this.statics.pinRefusal?.(locator, state);
    if (refusal) {
      throw new BackendError(`Cannot pin "${repo.path}": ${refusal.reason}`, { kind: KIND, hints: refusal.hints });
    }
    const remote = await remoteOf(this.#git, repo, op);
    const ref = refForPin(pinId);
    const created = await this.#tag(repo, tagRef(ref), sha);
    if (remote !== undefined) {
      try {
        await pushTag(this.#git, repo, { ...op, remote, ref: tagRef(ref), sha });
      } catch (error) {
        // Nobody knows what the remote has: the tag stays, and so does what it holds.
        if (created && !(error instanceof CommitStateUnknownError)) {
          await moveRef(this.#git, repo, { ref: tagRef(ref), to: undefined, from: sha, action: "release" });
        }
        throw error;
      }
    }
    return { id: pinId, ref, created };
  }

  async unpin(locator: Locator, pin: Pin, op: Op = {}): Promise<void> {
    const repo = await this.#open(locator, op);
    const ref = pinRef(pin);
    const remote = await remoteOf(this.#git, repo, op);
    if (remote !== undefined) await deleteFromRemote(this.#git, repo, { ...op, remote, ref });
    await this.#delete(repo, ref, op);
  }

  async listPins(locator: Locator, op: Op = {}): Promise<ReadonlySet<string>> {
    const tags = await readRefNames(this.#git, await this.#open(locator, op), [PINS], op);
    return new Set(tags.flatMap((tag) => parsePinRef(tag)?.id ?? []));
  }

  async fork(
    locator: Locator,
    from: Source,
    name: string,
    options: Op & { readonly expected?: Expected } = {},
  ): Promise<string> {
    const repo = await this.#open(locator, options);
    const to = await readSource(this.#git, repo, from, options);
    const ref = branchRef(name);
    const found = await readRef(this.#git, repo, ref, options);
    const expected = options.expected === undefined
      ? undefined
      : options.expected === ABSENT
      ? null
      : shaOf(options.expected);
    if (expected !== undefined && (found?.sha ?? null) !== expected) {
      throw movedError("fork", { ref, expected, found: found?.sha });
    }
    if (found?.sha === to) return name;
    if (found) checkFree(repo, found, "fork");
    await moveRef(this.#git, repo, { ref, to, ...(expected === undefined ? {} : { from: expected }), action: "fork" });
    return name;
  }

  async deleteWorkingRef(locator: Locator, ref: string, op: Op = {}): Promise<void> {
    const repo = await this.#open(locator, op);
    const branch = await readRef(this.#git, repo, branchRef(ref), op);
    const base = repo.ref ?? (parseWorkingRef(ref) ? undefined : await headBranch(this.#git, repo, op));
    if (!branch || ref === base) return;
    checkFree(repo, branch, "delete");
    await this.#delete(repo, branch.name, op);
  }

  async listWorkingRefs(locator: Locator, op: Op = {}): Promise<readonly string[]> {
    return await readRefNames(this.#git, await this.#open(locator, op), [WORKING_REFS], op);
  }

  async workingRefBlockers(locator: Locator, ref: string, op: Op = {}): Promise<string | undefined> {
    const branch = await readRef(this.#git, await this.#open(locator, op), branchRef(ref), op);
    return branch?.worktree === undefined ? undefined : `checked out in "${branch.worktree}"`;
  }

  async promote(locator: Locator, from: Source, options: Op & { readonly expected?: State } = {}): Promise<State> {
    const { repo, landing } = await this.#landing(locator, from, options);
    return { sha: await fastForward(this.#git, repo, landing), dirty: false };
  }

  async merge(
    locator: Locator,
    from: Source,
    message: string,
    options: Op & { readonly expected?: State } = {},
  ): Promise<State> {
    const { repo, landing } = await this.#landing(locator, from, options);
    return { sha: await merge(this.#git, repo, { ...landing, message }), dirty: false };
  }

  async ancestorOf(locator: Locator, ancestor: State, descendant: Source, op: Op = {}): Promise<boolean | undefined> {
    const repo = await this.#open(locator, op);
    try {
      const of = await readSource(this.#git, repo, descendant, op);
      return await isAncestor(this.#git, repo, { ...op, ancestor: shaOf(ancestor), of });
    } catch (error) {
      // A commit that is gone has no history to look in.
      if (error instanceof StateGoneError) return undefined;
      throw error;
    }
  }

  async history(
    locator: Locator,
    options: Op & { readonly ref?: string; readonly limit: number },
  ): Promise<readonly HistoryEntry[]> {
    const repo = await this.#open(locator, options);
    const from = (await readCommit(this.#git, repo, options.ref, options)).sha;
    return await historyOf(this.#git, repo, { ...options, from });
  }

  async diff(locator: Locator, a: State, b: State, op: Op = {}): Promise<ObjectDiff> {
    const repo = await this.#open(locator, op);
    const which = a["dirty"] === true ? "the first" : "the second";
    const note = a["dirty"] === b["dirty"] ? "" : `only ${which} state had work that no commit has`;
    return await diffOf(this.#git, repo, { ...op, a: shaOf(a), b: shaOf(b), note });
  }

  async create(locator: Locator, options: Op & { readonly owner: string }): Promise<State> {
    options.signal?.throwIfAborted();
    await createRepo(this.#git, parseLocator(locator, this.#settings), options);
    return await this.fingerprint(locator, undefined);
  }

  async owner(locator: Locator, op: Op = {}): Promise<string | undefined> {
    try {
      return await readOwner(this.#git, await this.#open(locator, op), op);
    } catch (error) {
      if (error instanceof StoreNotFoundError) return undefined;
      throw error;
    }
  }

  async isRefEmpty(
    locator: Locator,
    options: Op & { readonly ignoring?: ReadonlySet<string> } = {},
  ): Promise<boolean | undefined> {
    return await whatElse(this.#git, await this.#open(locator, options), options) === undefined;
  }

  async deleteStore(locator: Locator, options: Op & { readonly owner: string }): Promise<void> {
    await deleteRepo(this.#git, await this.#open(locator, options), options);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve();
  }

  async #open(locator: Locator, op: Op): Promise<Repo> {
    op.signal?.throwIfAborted();
    return await openRepo(locator, this.#settings);
  }

  async #opened(repo: Repo, target: Target, op: Op): Promise<{ readonly sha: string; readonly branch?: Ref }> {
    if (target.on === "base") return await readCommit(this.#git, repo, undefined, op);
    if (target.on === "ref") return await readCommit(this.#git, repo, target.ref, op);
    const sha = await readSource(this.#git, repo, target, op);
    if (target.on === "pin" || await hasCommit(this.#git, repo, sha, op)) return { sha };
    throw new StateGoneError(`Cannot open "${repo.path}": commit ${sha} does not exist`, { kind: KIND });
  }

  async #landing(
    locator: Locator,
    from: Source,
    options: Op & { readonly expected?: State },
  ): Promise<{ repo: Repo; landing: Landing }> {
    const { expected, ...op } = options;
    const repo = await this.#open(withoutAt(locator), op);
    const name = await this.baseBranch(locator, op);
    const base = await readRef(this.#git, repo, branchRef(name), op);
    if (!base) throw new BackendError(`Cannot land on "${name}" in "${repo.path}": it is no branch`, { kind: KIND });
    const source = await readSource(this.#git, repo, from, op);
    return { repo, landing: { ...op, base, source, ...(expected === undefined ? {} : { expected: shaOf(expected) }) } };
  }

  /** Returns whether this call made the tag. */
  async #tag(repo: Repo, ref: string, sha: string): Promise<boolean> {
    try {
      await moveRef(this.#git, repo, { ref, to: sha, from: null, action: "pin" });
      return true;
    } catch (error) {
      if (!(error instanceof RefMovedError)) throw error;
      const found = await readRef(this.#git, repo, ref);
      if (found?.sha === sha) return false;
      throw new RefConflictError(`Cannot pin ${sha} in "${repo.path}": "${shortName(ref)}" names another commit`, {
        kind: KIND,
        cause: error,
        details: { ref: shortName(ref), found: found?.sha ?? null },
      });
    }
  }

  /** Deletes a ref where it was found, and looks again. */
  async #delete(repo: Repo, ref: string, op: Op): Promise<void> {
    const found = await readRef(this.#git, repo, ref, op);
    if (!found) return;
    await moveRef(this.#git, repo, { ref, to: undefined, action: "delete" });
    if (!await readRef(this.#git, repo, ref)) return;
    throw new RefConflictError(`Cannot delete "${shortName(ref)}" in "${repo.path}": it is still there`, {
      kind: KIND,
    });
  }
}

function verdictOf(tag: Ref | undefined, sha: string): Verdict {
  if (!tag) return { status: "missing", message: "the tag does not exist" };
  return tag.sha === sha ? { status: "ok" } : { status: "drifted", message: `the tag names ${tag.sha}` };
}

function verdictFor(error: unknown): Verdict {
  if (!(error instanceof BackendError)) throw error;
  // Only the store itself can say that something is gone. One that is not there may be a disk that is not mounted.
  const missing = error instanceof StateGoneError;
  return { status: missing ? "missing" : "unknown", message: error.reason, cause: error };
}
