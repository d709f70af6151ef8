/**
 * Repositories that tether makes and takes away again (backends §3.3). A new one has one branch with one empty commit, always
 * the same, and names its owner in its own configuration.
 *
 * @module
 */

import type { Op } from "../backend.ts";
import { BackendError, type RefConflictError, StoreNotFoundError } from "../../engine/model/backend_errors.ts";
import { leafOf } from "../../engine/io/paths.ts";
import { deleteFolderAside, lstatOf } from "../storage/aside.ts";
import { keptStore, notOwned, placeTaken } from "../storage/created.ts";
import { fsError, isNotFound } from "../storage/fs_error.ts";
import { dirname, join } from "node:path";
import type { Git } from "./_program.ts";
import { branchRef, moveRef, readRefs, shortName } from "./_refs.ts";
import { type Address, KIND, type Repo } from "./_repo.ts";

const OWNER = "tether.owner";
/** The first commit of every repository tether makes: formats §6.3 gives its content, and so its id. */
const ROOT = "5a2cfa770badaceb6c6de5171fdf82c871fa40de";
const ROOT_TEXT = [
  "tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904",
  "author tether <tether@localhost> 946684800 +0000",
  "committer tether <tether@localhost> 946684800 +0000",
  "",
  "tether: created store",
  "",
].join("\n");

/** What lies in `.git` of a repository in which nothing is under way and nothing foreign is kept. */
const LAYOUT: ReadonlySet<string> = new Set([
  "HEAD",
  "config",
  "description",
  "hooks",
  "info",
  "objects",
  "refs",
  "logs",
  "packed-refs",
  "index",
  "branches",
  "COMMIT_EDITMSG",
  "ORIG_HEAD",
]);

/**
 * Makes a repository at a path where nothing is, and the folders above it. What a failure leaves is removed again.
 *
 * @throws {InvalidLocatorError} if anything is there already.
 */
export async function createRepo(
  git: Git,
  address: Address,
  options: Op & { readonly owner: string },
): Promise<void> {
  const { owner, ...op } = options;
  const repo: Repo = { ...address, bare: false };
  const branch = address.ref ?? "main";
  const ref = branchRef(branch);
  await makeFolder(address);
  try {
    const call = (args: readonly string[], stdin?: string) =>
      git.call(repo, args, { ...op, action: "create", ...(stdin === undefined ? {} : { stdin }) });
    // Neither a template nor a format of the user's own: both kinds of tether must find the same repository.
    const format = ["-c", "init.defaultRefFormat=files"];
    await call([...format, "init", "--quiet", "--template=", "--object-format=sha1", `--initial-branch=${branch}`]);
    // Before anything else: whatever ends here is known to be this dataset's.
    await call(["config", "--local", OWNER, owner]);
    await call(["hash-object", "-t", "tree", "-w", "--stdin"], "");
    const sha = (await call(["hash-object", "-t", "commit", "-w", "--stdin"], ROOT_TEXT)).text().trim();
    if (sha !== ROOT) throw new BackendError(`Cannot create "${address.path}": git made commit ${sha}`, { kind: KIND });
    await moveRef(git, repo, { ref, to: sha, from: null, action: "create" });
  } catch (error) {
    await removeMade(address.root);
    throw error;
  }
}

async function makeFolder(address: Address): Promise<void> {
  const leaf = leafOf(address.path);
  if (await lstatOf(leaf)) throw placeTaken(address.path, KIND);
  try {
    await Deno.mkdir(dirname(leaf), { recursive: true });
    // Not recursive: the system itself refuses what appeared meanwhile.
    await Deno.mkdir(leaf);
  } catch (error) {
    if (error instanceof Deno.errors.AlreadyExists) throw placeTaken(address.path, KIND);
    throw fsError(error, { kind: KIND, action: "create", path: leaf, access: "write" });
  }
}

/** Removes what `createRepo` made; what others put beside it stays, and so does the folder then. */
async function removeMade(root: string): Promise<void> {
  try {
    await Deno.remove(join(root, ".git"), { recursive: true });
  } catch {
    // git may not have got that far.
  }
  try {
    await Deno.remove(root);
  } catch {
    // The failure that led here is what the caller must hear of.
  }
}

/** Returns the dataset that a repository's own configuration names; never that of the user or the system. */
export async function readOwner(git: Git, repo: Repo, op: Op = {}): Promise<string | undefined> {
  const args = ["config", "--local", "--no-includes", "--get", OWNER];
  const result = await git.call(repo, args, { ...op, action: "read the owner of", answers: [0, 1] });
  const owner = result.text().trim();
  return result.code === 0 && owner !== "" ? owner : undefined;
}

/** Returns what a repository holds besides its first commit and its marker; `undefined` when there is nothing. */
export async function whatElse(
  git: Git,
  repo: Repo,
  options: Op & { readonly ignoring?: ReadonlySet<string> },
): Promise<string | undefined> {
  const { ignoring, ...op } = options;
  return await whatElseInFolders(repo) ?? await whatElseInRefs(git, repo, { ...op, ignoring: ignoring ?? new Set() });
}

async function whatElseInFolders({ root }: Repo): Promise<string | undefined> {
  const folder = join(root, ".git");
  if ((await lstatOf(folder))?.isDirectory !== true) return "its .git, which is no folder";
  for (const name of await namesIn(root)) if (name !== ".git") return `the file or folder "${name}"`;
  for (const name of await namesIn(folder)) if (!LAYOUT.has(name)) return `".git/${name}"`;
  for (const name of await namesIn(join(folder, "hooks"))) {
    if (!name.endsWith(".sample")) return `the hook "${name}"`;
  }
  for (const name of await namesIn(join(folder, "info"))) {
    if (name !== "exclude" && name !== "refs") return `".git/info/${name}"`;
  }
  return undefined;
}

async function whatElseInRefs(
  git: Git,
  repo: Repo,
  { ignoring, ...op }: Op & { readonly ignoring: ReadonlySet<string> },
): Promise<string | undefined> {
  const refs = (await readRefs(git, repo, [], op)).filter((r) => !ignoring.has(shortName(r.name)));
  const other = refs.find((r) => !r.name.startsWith("refs/heads/") || r.sha !== ROOT || r.alias !== undefined);
  if (other) return other.name.startsWith("refs/heads/") ? `work on branch "${shortName(other.name)}"` : other.name;
  // None at all: creation was cut short.
  if (refs.length > 1) return `branch "${shortName(refs[1]?.name ?? "")}"`;
  const head = await headOf(git, repo, op);
  if (head.sha !== undefined && head.sha !== ROOT && !ignoring.has(head.branch ?? "")) return "commits that HEAD names";
  const staged = await git.call(repo, ["ls-files", "--stage", "-z"], { ...op, action: "read the index of" });
  return staged.text() === "" ? undefined : "files in its index";
}

async function headOf(
  git: Git,
  repo: Repo,
  op: Op,
): Promise<{ readonly sha: string | undefined; readonly branch: string | undefined }> {
  const answers = [0, 1];
  const named = await git.call(repo, ["rev-parse", "--quiet", "--verify", "HEAD"], { ...op, action: "read", answers });
  const symbolic = await git.call(repo, ["symbolic-ref", "--quiet", "HEAD"], { ...op, action: "read", answers });
  return {
    sha: named.code === 0 ? named.text().trim() : undefined,
    branch: symbolic.code === 0 ? shortName(symbolic.text().trim()) : undefined,
  };
}

/**
 * Deletes a repository that the owner made and that holds nothing else. It is moved aside first, so that whoever knows its
 * path finds either all of it or nothing, and looked into once more there: what was written in between brings it back.
 *
 * @throws {StoreNotFoundError} if there is none.
 * @throws {RefConflictError} if it is another's, holds anything, or is reached through a link.
 */
export async function deleteRepo(git: Git, repo: Repo, options: Op & { readonly owner: string }): Promise<void> {
  const { owner, ...op } = options;
  const leaf = leafOf(repo.path);
  const info = await lstatOf(leaf);
  if (!info) throw new StoreNotFoundError(`Cannot delete "${repo.path}": it does not exist`, { kind: KIND });
  if (!info.isDirectory) throw refused(repo, info.isSymlink ? "it is a symbolic link" : "it is no folder");
  await requireEmpty(git, repo, { ...op, owner });
  await deleteFolderAside({
    kind: KIND,
    folder: repo.root,
    label: repo.path,
    check: (root) => requireEmpty(git, { ...repo, root }, { owner }),
  });
}

async function requireEmpty(git: Git, repo: Repo, options: Op & { readonly owner: string }): Promise<void> {
  const { owner, ...op } = options;
  const foreign = notOwned(await readOwner(git, repo, op), owner);
  if (foreign !== undefined) throw refused(repo, foreign);
  const held = await whatElse(git, repo, op);
  if (held !== undefined) throw refused(repo, `it holds ${held}`);
}

async function namesIn(folder: string): Promise<string[]> {
  const names: string[] = [];
  try {
    for await (const entry of Deno.readDir(folder)) names.push(entry.name);
  } catch (error) {
    if (!isNotFound(error)) throw fsError(error, { kind: KIND, action: "read", path: folder });
  }
  return names;
}

function refused(repo: Repo, why: string): RefConflictError {
  return keptStore(repo.path, { kind: KIND, why });
}
