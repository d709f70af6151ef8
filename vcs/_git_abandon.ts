/**
 * Taking commits out of a line of git history that goes on (formats §15.3, §19.4): the commits above them are made again by
 * plumbing, each with the dataset's files as they were. Nothing moves before all of them exist.
 *
 * @module
 */

import { VcsError } from "../engine/model/errors.ts";
import { isJsonObject, type JsonObject } from "../engine/model/json.ts";
import type { Abandonment, Rewrites } from "./adapter.ts";
import { readIsAncestor } from "./_git_history.ts";
import type { Git } from "./_git_process.ts";
import { BRANCH_PREFIX, type Head, isParking } from "./_git_refs.ts";
import type { Worktree } from "./_git_worktrees.ts";
import { checkId, type GitObjectReader } from "./object_reader.ts";

const DOING = "abandon commits";

/** What is to be abandoned, and how the repository stands. */
export interface AbandonRequest {
  readonly commits: readonly string[];
  /** Files and folders that every commit keeps as it has them. */
  readonly keep: readonly string[];
  readonly head: Head;
  readonly refs: ReadonlyMap<string, string>;
  readonly worktrees: readonly Worktree[];
}

/**
 * Makes the commits above the abandoned ones again, as objects that no ref names yet.
 *
 * @throws {VcsError} if a commit is not in the history that is checked out, is its first one or a merge, or files other than
 * the dataset's would conflict.
 */
export async function prepareAbandon(
  git: Git,
  reader: GitObjectReader,
  request: AbandonRequest,
): Promise<Abandonment> {
  const { commits, head } = request;
  if (head.commit === null) throw new VcsError("Cannot abandon anything: there is no commit yet");
  await requireClean(git);
  const line = await readLine(git, head.commit);
  const wanted = new Set(commits);
  for (const id of wanted) requireAbandonable(id, line.get(id));
  const rewriter = new Rewriter(git, reader, request.keep);
  const moved = new Map<string, string>();
  for (const [id, parents] of line) {
    const next = parents.map((parent) => moved.get(parent) ?? parent);
    const [only] = next;
    if (wanted.has(id) && only !== undefined) moved.set(id, only);
    else if (next.join() !== parents.join()) moved.set(id, await rewriter.rewrite(id, parents, next));
  }
  const moves = refMoves(request, moved);
  return {
    kept: await stillReached(git, request, { moved, moves }),
    apply: async (begin) => {
      const to = moved.get(head.commit ?? "") ?? head.commit ?? "";
      const rewritten = new Map([...moved].filter(([id]) => !wanted.has(id)));
      const { commit: from, branch } = head;
      await begin({ branch, from, to, moves: moves.map((m) => ({ ...m })), rewritten: Object.fromEntries(rewritten) });
      await moveHead(git, { head, to });
      await moveRefs(git, moves);
      return { commits: rewritten, bookmarks: bookmarksOf(branch, to, moves) };
    },
  };
}

/** Moves what an abandonment whose process died had not moved; the checked-out branch goes first, so it tells what was done. */
export async function finishAbandon(
  git: Git,
  record: JsonObject,
  now: Pick<AbandonRequest, "head" | "refs" | "worktrees">,
): Promise<Rewrites | undefined> {
  const { branch, from, to, moves, rewritten } = record;
  if (typeof from !== "string" || typeof to !== "string" || !isJsonObject(rewritten)) return undefined;
  const own = typeof branch === "string" ? branch : null;
  const tip = own === null ? now.head.commit : now.refs.get(BRANCH_PREFIX + own);
  if (tip === null || tip === undefined) return undefined;
  if (await readIsAncestor(git, from, tip) || !await readIsAncestor(git, to, tip)) return undefined;
  const all = (Array.isArray(moves) ? moves : []).flatMap((move) => {
    if (!isJsonObject(move)) return [];
    return [{ ref: String(move["ref"]), from: checkId(String(move["from"])), to: checkId(String(move["to"])) }];
  });
  const held = new Set(now.worktrees.map((w) => BRANCH_PREFIX + w.head.branch));
  await moveRefs(git, all.filter((m) => now.refs.get(m.ref) === m.from && !held.has(m.ref)));
  const commits = Object.entries(rewritten).map(([old, made]) => [old, String(made)] as const);
  return { commits: new Map(commits), bookmarks: bookmarksOf(own, to, all) };
}

async function requireClean(git: Git): Promise<void> {
  const args = [
    "--no-optional-locks",
    "status",
    "--porcelain=v1",
    "-z",
    "--untracked-files=no",
    "--ignore-submodules=all",
  ];
  const [first = ""] = (await git.run(args, { doing: "find the changed files" })).text().split("\0");
  if (first === "") return;
  const path = first.slice(3);
  const own = /(^|\/)(\.tether\/|tether\.toml$)/.test(path);
  throw new VcsError(`Cannot abandon commits: the working tree has changes, such as in "${path}"`, {
    code: "dirty",
    hints: ["git stash", own ? "tether commit -m MESSAGE" : "git commit --all"],
  });
}

/** Returns the commits a commit reaches, parents first, with their parents. */
async function readLine(git: Git, tip: string): Promise<Map<string, readonly string[]>> {
  const args = ["--no-replace-objects", "rev-list", "--topo-order", "--reverse", "--parents", checkId(tip)];
  const result = await git.run(args, { doing: "list the commits of the checked-out history" });
  return new Map(
    result.text().split("\n").filter((line) => line !== "").map((line) => {
      const [id = "", ...parents] = line.split(" ");
      return [id, parents];
    }),
  );
}

function requireAbandonable(id: string, parents: readonly string[] | undefined): void {
  if (parents === undefined) {
    throw new VcsError(`Cannot abandon commit "${id}": it is not in the history that is checked out`, {
      code: "elsewhere",
      hints: ["tether new NAME"],
    });
  }
  if (parents.length > 1) {
    throw new VcsError(`Cannot abandon commit "${id}": it is a merge, and what it merged would go with it`, {
      code: "merge",
      hints: [`git revert -m 1 ${id.slice(0, 12)}`],
    });
  }
}

/** Makes commits again on other parents. */
class Rewriter {
  readonly #git: Git;
  readonly #reader: GitObjectReader;
  readonly #keep: readonly string[];
  readonly #trees = new Map<string, string>();

  constructor(git: Git, reader: GitObjectReader, keep: readonly string[]) {
    this.#git = git;
    this.#reader = reader;
    this.#keep = keep;
  }

  /** Returns a commit that is another one on other parents: its author, date and message stay, a signature cannot. */
  async rewrite(id: string, from: readonly string[], to: readonly string[]): Promise<string> {
    const own = await this.#treeOf(id);
    let tree = own;
    // What each parent loses is taken out of the tree, one after the other.
    for (const [i, parent] of from.entries()) {
      const next = to[i];
      if (next !== undefined && next !== parent) tree = await this.#rebased(id, { tree, from: parent, to: next });
    }
    const raw = await this.#git.run(["--no-replace-objects", "cat-file", "commit", checkId(id)], {
      doing: `read commit "${id}"`,
    });
    const made = await this.#write(
      ["hash-object", "-t", "commit", "-w", "--stdin"],
      rebuilt(raw.stdout, tree, [...new Set(to)]),
    );
    if (tree !== own) this.#trees.set(made, tree);
    return made;
  }

  async #rebased(id: string, change: { tree: string; from: string; to: string }): Promise<string> {
    const [from, to] = [await this.#treeOf(change.from), await this.#treeOf(change.to)];
    if (from === to) return change.tree;
    // With the dataset's files alike on all sides, only others can differ.
    const [base, ours] = [await this.#withFilesOf(change.tree, from), await this.#withFilesOf(change.tree, to)];
    if (base === ours) return change.tree;
    const root = await this.#throwAway(base, []);
    const sides = [await this.#throwAway(ours, [root]), await this.#throwAway(change.tree, [root])];
    const merged = await this.#git.run(["merge-tree", "--write-tree", "--name-only", "--no-messages", ...sides], {
      doing: `make commit "${id}" again`,
      codes: [0, 1],
      writes: true,
    });
    const [tree = "", ...conflicted] = merged.text().split("\n").filter((line) => line !== "");
    if (merged.code === 0) return tree;
    throw new VcsError(
      `Cannot abandon commits: "${conflicted[0]}" would conflict in commit "${id}", which builds on what they changed`,
      { code: "conflict", hints: ["git rebase --interactive"], details: { commit: id, paths: conflicted } },
    );
  }

  /** Returns a tree with the kept files as another tree has them. */
  async #withFilesOf(source: string, target: string): Promise<string> {
    let tree = target;
    for (const path of this.#keep) tree = await this.#graft(tree, path.split("/"), await this.#entryAt(source, path));
    return tree;
  }

  async #graft(tree: string | undefined, [name = "", ...rest]: string[], entry: string | undefined): Promise<string> {
    const entries = tree === undefined ? [] : await this.#entries(tree);
    const own = entries.find((e) => nameOf(e) === name);
    let next = entry;
    if (rest.length > 0) {
      const below = own !== undefined && own.startsWith("040000 ") ? idOf(own) : undefined;
      if (below === undefined && entry === undefined) return await this.#make(entries);
      next = `040000 tree ${await this.#graft(below, rest, entry)}\t${name}`;
    }
    return await this.#make([...entries.filter((e) => e !== own), ...(next === undefined ? [] : [next])]);
  }

  async #entryAt(tree: string, path: string): Promise<string | undefined> {
    const args = ["--literal-pathspecs", "ls-tree", "-z", "--full-tree", checkId(tree), "--", path];
    const [entry] = records((await this.#git.run(args, { doing: `read "${path}" of a commit` })).text());
    return entry === undefined ? undefined : entry.slice(0, entry.indexOf("\t") + 1) + path.split("/").at(-1);
  }

  async #entries(tree: string): Promise<string[]> {
    return records(
      (await this.#git.run(["ls-tree", "-z", "--full-tree", checkId(tree)], { doing: "read a tree" })).text(),
    );
  }

  #make(entries: readonly string[]): Promise<string> {
    return this.#write(["mktree", "-z"], entries.map((entry) => entry + "\0").join(""));
  }

  #throwAway(tree: string, parents: readonly string[]): Promise<string> {
    const text = [
      `tree ${tree}`,
      ...parents.map((parent) => `parent ${parent}`),
      "author tether <> 0 +0000",
      "committer tether <> 0 +0000",
      "",
      "",
    ].join("\n");
    return this.#write(["hash-object", "-t", "commit", "-w", "--stdin"], text);
  }

  async #treeOf(commit: string): Promise<string> {
    const tree = this.#trees.get(commit) ?? (await this.#reader.commit(commit))?.tree;
    if (tree === undefined) throw new VcsError(`Cannot read commit "${commit}": the repository lacks it`);
    return tree;
  }

  async #write(args: readonly string[], stdin: string | Uint8Array): Promise<string> {
    return (await this.#git.run(args, { doing: "make commits again", stdin, writes: true })).text().trim();
  }
}

function records(text: string): string[] {
  return text.split("\0").filter((record) => record !== "");
}

function nameOf(entry: string): string {
  return entry.slice(entry.indexOf("\t") + 1);
}

function idOf(entry: string): string {
  return entry.slice(0, entry.indexOf("\t")).split(" ")[2] ?? "";
}

/** Returns a commit's bytes with another tree and other parents, without its signature: that would not hold. */
function rebuilt(commit: Uint8Array, tree: string, parents: readonly string[]): Uint8Array<ArrayBuffer> {
  // One character a byte, so that no encoding of the message or the names is touched.
  const text = Array.from(commit, (byte) => String.fromCharCode(byte)).join("");
  const end = text.indexOf("\n\n");
  // A line that begins with a space goes on with the header before it.
  const headers = text.slice(0, end).split(/\n(?! )/);
  const rest = headers.filter((header) => !/^(tree|parent|gpgsig|gpgsig-sha256) /.test(header));
  const made = [`tree ${tree}`, ...parents.map((parent) => `parent ${parent}`), ...rest].join("\n") + text.slice(end);
  return Uint8Array.from(made, (char) => char.charCodeAt(0));
}

interface RefMove {
  readonly ref: string;
  readonly from: string;
  readonly to: string;
}

/** Branches at a commit that is gone or made again; those that a checkout is on stay, or its files would not fit. */
function refMoves({ refs, head, worktrees }: AbandonRequest, moved: ReadonlyMap<string, string>): RefMove[] {
  const held = new Set(worktrees.filter((w) => !w.current).map((w) => w.head.branch));
  return [...refs].flatMap(([ref, from]) => {
    const to = moved.get(from);
    const branch = ref.slice(BRANCH_PREFIX.length);
    const free = ref.startsWith(BRANCH_PREFIX) && branch !== head.branch && !held.has(branch);
    return to !== undefined && free ? [{ ref, from, to }] : [];
  });
}

/** Returns those of the commits that some ref or checkout reaches even then. */
async function stillReached(
  git: Git,
  request: AbandonRequest,
  after: { readonly moved: ReadonlyMap<string, string>; readonly moves: readonly RefMove[] },
): Promise<string[]> {
  const { head, refs, worktrees, commits } = request;
  const moving = new Map(after.moves.map((m) => [m.ref, m.to]));
  const own = head.branch === null ? undefined : BRANCH_PREFIX + head.branch;
  const tips = new Set([...refs].filter(([ref]) => ref !== own).map(([ref, id]) => moving.get(ref) ?? id));
  for (const tree of worktrees) if (!tree.current && tree.head.commit !== null) tips.add(tree.head.commit);
  const next = after.moved.get(head.commit ?? "") ?? head.commit;
  if (next !== null) tips.add(next);
  const stdin = [...commits, ...[...tips].map((id) => `^${id}`)].map((line) => line + "\n").join("");
  const result = await git.run(["rev-list", "--stdin"], { doing: "find out what else reaches the commits", stdin });
  const gone = new Set(result.text().split("\n"));
  return commits.filter((id) => !gone.has(id));
}

/** Moves the checked-out branch, which git refuses while files are in the way. It goes before the others. */
async function moveHead(git: Git, { head, to }: { readonly head: Head; readonly to: string }): Promise<void> {
  if (to === head.commit) return;
  await git.run(["reset", "--quiet", "--keep", checkId(to)], { doing: DOING, writes: true });
}

/** Moves refs together: all of them or none. */
async function moveRefs(git: Git, moves: readonly RefMove[]): Promise<void> {
  if (moves.length === 0) return;
  const stdin = moves.map((m) => `update ${m.ref}\0${m.to}\0${m.from}\0`).join("");
  await git.run(["update-ref", "-m", "tether abandon", "-z", "--stdin"], { doing: DOING, stdin, writes: true });
}

function bookmarksOf(branch: string | null, to: string, moves: readonly RefMove[]): Map<string, string> {
  const found = moves.map((m) => [m.ref.slice(BRANCH_PREFIX.length), m.to] as const);
  if (branch !== null) found.push([branch, to]);
  return new Map(found.filter(([name]) => !isParking(name)).sort(([a], [b]) => a < b ? -1 : 1));
}
