/**
 * Which operation a jj repository is at, and whether a working copy keeps up with it (L17). Both are read from jj's files:
 * asking costs a process, and asking without naming an operation would merge concurrent ones.
 *
 * @module
 */

import { join } from "node:path";
import { VcsError } from "../engine/model/errors.ts";
import { lengthDelimited } from "./_jj_protobuf.ts";

/** While a command of jj ends there are two heads, the old and the new one, for a moment. */
const TRIES = 20;
const WAIT_MS = 25;

/**
 * Returns the id of the newest operation.
 *
 * @param repoDir The repository folder that all workspaces share.
 * @throws {VcsError} with code `divergent-operations` if commands ran at the same time and jj has not merged them yet.
 */
export async function currentOperation(repoDir: string): Promise<string> {
  const doing = `read the jj repository at "${repoDir}"`;
  for (let attempt = 1;; attempt++) {
    const heads = await operationHeads(repoDir, doing);
    const [head] = heads;
    if (head !== undefined && heads.length === 1) return head;
    if (attempt < TRIES) await new Promise((resolve) => setTimeout(resolve, WAIT_MS));
    else if (head === undefined) throw new VcsError(`Cannot ${doing}: it has no operation`, { hints: ["jj op log"] });
    else {
      throw new VcsError(
        `Cannot ${doing}: ${heads.length} operations ran at the same time, and jj has not merged them yet`,
        { code: "divergent-operations", hints: ["jj status"], details: { operations: heads } },
      );
    }
  }
}

async function operationHeads(repoDir: string, doing: string): Promise<string[]> {
  const heads: string[] = [];
  try {
    for await (const { name } of Deno.readDir(join(repoDir, "op_heads", "heads"))) {
      if (/^[0-9a-f]{64,}$/.test(name)) heads.push(name);
    }
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    throw new VcsError(`Cannot ${doing}: tether does not know how it keeps its operations`, {
      code: "vcs-unsupported",
      hints: ["jj op log"],
      cause: error,
    });
  }
  return heads;
}

/** What a workspace was last told. */
export interface WorkspaceState {
  /** The operation its files are of. */
  readonly operation: string;
  /** Its name. */
  readonly name: string;
}

/** Fields of jj's `Operation`, `Checkout` and `TreeState` messages. */
const PARENT = 2;
const OPERATION_ID = 2;
const WORKSPACE_NAME = 3;
const LEGACY_TREE_ID = 1;
const TREE_ID = 5;

/** Reads which workspace a folder is and which operation its files are of. */
export async function readWorkspaceState(root: string): Promise<WorkspaceState> {
  const fields = new Map(lengthDelimited(await Deno.readFile(join(root, ".jj", "working_copy", "checkout"))));
  return {
    operation: fields.get(OPERATION_ID)?.toHex() ?? "",
    name: new TextDecoder().decode(fields.get(WORKSPACE_NAME) ?? new TextEncoder().encode("default")),
  };
}

/** Returns the trees the files of a workspace were last seen as: one, or the sides and bases of a conflict. */
export async function readWorkspaceTrees(root: string): Promise<string[]> {
  const fields = [...lengthDelimited(await Deno.readFile(join(root, ".jj", "working_copy", "tree_state")))];
  const idsIn = (wanted: number): string[] => fields.flatMap(([field, id]) => field === wanted ? [id.toHex()] : []);
  const trees = idsIn(TREE_ID);
  return trees.length > 0 ? trees : idsIn(LEGACY_TREE_ID);
}

/**
 * Tells how an operation relates to a later one: `before` when that builds on it, `aside` when it does not, as after
 * `jj op abandon`, `gone` when it is not there any more.
 */
export async function relationOf(
  repoDir: string,
  operation: string,
  later: string,
): Promise<"before" | "aside" | "gone"> {
  const seen = new Set([later]);
  for (let level = [later]; level.length > 0;) {
    const parents = (await Promise.all(level.map((id) => parentsOf(repoDir, id)))).flatMap((ids) => ids ?? []);
    level = [...new Set(parents)].filter((id) => !seen.has(id));
    for (const id of level) seen.add(id);
    if (seen.has(operation)) return "before";
  }
  return await parentsOf(repoDir, operation) === undefined ? "gone" : "aside";
}

/** Returns the parents of an operation; `undefined` when it is not there. The one that all begin with is in no file. */
async function parentsOf(repoDir: string, id: string): Promise<string[] | undefined> {
  try {
    const message = await Deno.readFile(join(repoDir, "op_store", "operations", id));
    return [...lengthDelimited(message)].flatMap(([field, content]) => field === PARENT ? [content.toHex()] : []);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}
