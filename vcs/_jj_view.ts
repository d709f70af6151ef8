/**
 * What a jj repository says at one operation: its working copies, refs and visible commits (formats §15.3, §15.4).
 *
 * Templates call every keyword as a method of `self` and use operators only, and revsets that judge what is referenced
 * consist of ids and operators, so that no alias can change what they mean.
 *
 * @module
 */

import { VcsError } from "../engine/model/errors.ts";
import { GS, type Jj, RS, US } from "./_jj_process.ts";

/** The commit that every repository begins with; git has none such. */
export const ROOT_COMMIT: string = "0".repeat(40);

/** A commit that some workspace has checked out. */
export interface WorkingCopy {
  readonly id: string;
  readonly changeId: string;
  /** Whether it changes nothing, as of its last snapshot. */
  readonly empty: boolean;
  /** Local bookmarks with one target. */
  readonly bookmarks: readonly string[];
  readonly parents: readonly { readonly id: string; readonly bookmarks: readonly string[] }[];
}

/** A workspace and where it is. */
export interface Workspace {
  readonly name: string;
  /** As jj recorded it; empty when it did not, or the folder is gone. */
  readonly root: string;
  readonly workingCopy: WorkingCopy;
}

/** A bookmark, tag or remote bookmark. */
export interface JjRef {
  readonly name: string;
  /** Empty for a local one. */
  readonly remote: string;
  readonly conflict: boolean;
  /** One for a ref without conflict; none for a deleted one that is still followed elsewhere. */
  readonly targets: readonly string[];
}

/** A visible commit. */
export interface VisibleCommit {
  readonly id: string;
  readonly changeId: string;
  readonly parents: readonly string[];
  readonly conflict: boolean;
  /** Whether some workspace has it checked out. */
  readonly workingCopy: boolean;
}

const NAMES = `.filter(|b| !b.conflict()).map(|b| b.name().trim()).join("\\0")`;

/** Returns the template of a {@link WorkingCopy}. */
export function workingCopyTemplate(subject = "self"): string {
  const fields = [
    `${subject}.commit_id()`,
    `${subject}.change_id()`,
    `${subject}.empty()`,
    `${subject}.local_bookmarks()${NAMES}`,
    `${subject}.parents().map(|p| p.commit_id() ++ "\\0" ++ p.local_bookmarks()${NAMES}).join("${GS}")`,
  ];
  return fields.join(` ++ "${US}" ++ `);
}

/** Parses what {@link workingCopyTemplate} gave. */
export function parseWorkingCopy(fields: readonly string[]): WorkingCopy {
  const [id = "", changeId = "", empty = "", bookmarks = "", parents = ""] = fields;
  return {
    id,
    changeId,
    empty: empty === "true",
    bookmarks: items(bookmarks, "\0"),
    parents: items(parents, GS).map((text) => {
      const [parent = "", ...names] = text.split("\0");
      return { id: parent, bookmarks: names.filter((name) => name !== "") };
    }),
  };
}

const REF_TEMPLATE = [
  "self.name().trim()",
  "self.remote()",
  "self.conflict()",
  `self.added_targets().map(|c| c.commit_id()).join(" ")`,
].join(` ++ "${US}" ++ `) + ` ++ "${RS}"`;

const COMMIT_TEMPLATE = [
  "self.commit_id()",
  "self.change_id()",
  `self.parents().map(|p| p.commit_id()).join(" ")`,
  "self.conflict()",
  "self.current_working_copy()",
  // Empty while there is one workspace only.
  `self.working_copies().map(|w| w.name()).join(" ")`,
].join(` ++ "${US}" ++ `) + ` ++ "${RS}"`;

/** A jj repository at one operation. What was read once is not asked again. */
export class JjView {
  readonly operation: string;
  readonly #jj: Jj;
  readonly #known = new Map<string, Promise<unknown>>();

  constructor(jj: Jj, operation: string) {
    this.#jj = jj;
    this.operation = operation;
  }

  /** Returns where this workspace is. @throws {VcsError} if jj does not know this workspace. */
  workingCopy(): Promise<WorkingCopy> {
    return this.#once("workingCopy", async () => {
      const [fields] = await this.log("@", { template: workingCopyTemplate(), doing: "read the working copy" });
      if (fields === undefined) throw new VcsError("Cannot read the working copy: jj has none here");
      return parseWorkingCopy(fields);
    });
  }

  /** Returns every workspace. */
  workspaces(): Promise<readonly Workspace[]> {
    return this.#once("workspaces", async () => {
      const fields = ["self.name().trim()", "self.root()", workingCopyTemplate("self.target()")];
      const records = await this.#records(["workspace", "list"], {
        template: `${fields.join(` ++ "${US}" ++ `)} ++ "${RS}"`,
        doing: "list the workspaces",
      });
      return records.map(([name = "", root = "", ...rest]) => ({ name, root, workingCopy: parseWorkingCopy(rest) }));
    });
  }

  /** Returns local and remote bookmarks. The remote `git` stands for the repository's own git refs and is left out. */
  bookmarks(): Promise<readonly JjRef[]> {
    return this.#once("bookmarks", () => this.#refs("bookmark"));
  }

  /** Returns local and remote tags. */
  tags(): Promise<readonly JjRef[]> {
    return this.#once("tags", () => this.#refs("tag"));
  }

  /** Returns every visible commit but the root, newest first. */
  visible(): Promise<readonly VisibleCommit[]> {
    return this.#once("visible", async () => {
      const records = await this.#records(["log", "--no-graph", "--revision=::"], {
        template: COMMIT_TEMPLATE,
        doing: "list the commits of history",
      });
      return records.map(([id = "", changeId = "", parents = "", conflict = "", current = "", others = ""]) => ({
        id,
        changeId,
        parents: items(parents, " "),
        conflict: conflict === "true",
        workingCopy: current === "true" || others !== "",
      })).filter((commit) => commit.id !== ROOT_COMMIT);
    });
  }

  /** Returns the fields of each commit of a revset. The options are those of `Jj.read`, and further arguments. */
  log(
    revset: string,
    options: {
      readonly template: string;
      readonly doing: string;
      readonly args?: readonly string[];
      readonly config?: string;
      readonly codes?: readonly number[];
    },
  ): Promise<string[][]> {
    return this.#records(["log", "--no-graph", ...options.args ?? [], `--revision=${revset}`], {
      ...options,
      template: `${options.template} ++ "${RS}"`,
    });
  }

  async #refs(kind: "bookmark" | "tag"): Promise<JjRef[]> {
    const records = await this.#records([kind, "list", "--all-remotes"], {
      template: REF_TEMPLATE,
      doing: `list the ${kind}s`,
    });
    return records.map(([name = "", remote = "", conflict = "", targets = ""]) => ({
      name,
      remote,
      conflict: conflict === "true",
      targets: items(targets, " "),
    })).filter((ref) => ref.remote !== "git");
  }

  async #records(
    args: readonly string[],
    options: {
      readonly template: string;
      readonly doing: string;
      readonly config?: string;
      readonly codes?: readonly number[];
    },
  ): Promise<string[][]> {
    const { template, ...rest } = options;
    const result = await this.#jj.read([...args, `--template=${template}`], { ...rest, operation: this.operation });
    return items(result.text(), RS).map((record) => record.split(US));
  }

  #once<T>(name: string, read: () => Promise<T>): Promise<T> {
    const known = this.#known.get(name) as Promise<T> | undefined;
    if (known) return known;
    const answer = read();
    this.#known.set(name, answer);
    // A failure is not remembered: the next question may find better times.
    answer.catch(() => this.#known.delete(name));
    return answer;
  }
}

function items(text: string, separator: string): string[] {
  return text.split(separator).filter((item) => item !== "");
}
