/**
 * jj, called as a user calls it.
 *
 * @module
 */

import { jjPath } from "../../scripts/jj.ts";
import type { Called } from "./_git.ts";

/** Runs jj in a folder, whatever comes of it. */
export async function tryJj(cwd: string, args: readonly string[]): Promise<Called> {
  const output = await new Deno.Command(jjPath(), { args: ["--no-pager", "--quiet", ...args], cwd, stdin: "null" })
    .output();
  const [stdout = "", stderr = ""] = [output.stdout, output.stderr].map((b) => new TextDecoder().decode(b).trim());
  return { ok: output.success, stdout, stderr };
}

/** Runs jj in a folder and returns what it printed. Throws when it fails. */
export async function runJj(cwd: string, args: readonly string[]): Promise<string> {
  const { ok, stdout, stderr } = await tryJj(cwd, args);
  if (!ok) throw new Error(`jj ${args.join(" ")} failed: ${stderr}`);
  return stdout;
}

/** A workspace as jj knows it. */
export interface WorkspaceSight {
  readonly name: string;
  /** Change ids of what it stands on: commits are made again at any moment, and are the same changes. */
  readonly parents: string;
}

/** A jj repository as it is. */
export interface JjSight {
  readonly commits: readonly string[];
  /** Bookmarks and tags with their changes, a line each. */
  readonly refs: string;
  /** Those by which a revision can be named. */
  readonly names: readonly string[];
  readonly workspaces: readonly WorkspaceSight[];
}

/** Reads a repository, without a snapshot and without an operation. */
export async function lookAtJj(root: string): Promise<JjSight> {
  const read = (args: readonly string[]) => runJj(root, [...args, "--ignore-working-copy"]);
  const refs = `
    self.local_bookmarks().map(|b| "heads/" ++ b.name()).join(" ") ++ " " ++
    self.remote_bookmarks().map(|b| "remotes/" ++ b.name() ++ "@" ++ b.remote()).join(" ") ++ " " ++
    self.local_tags().map(|t| "tags/" ++ t.name()).join(" ")`;
  const log = await read([
    "log",
    "--no-graph",
    "-r",
    "::",
    "-T",
    `self.commit_id() ++ "\\t" ++ self.change_id() ++ "\\t" ++ ${refs} ++ "\\n"`,
  ]);
  const list = await read([
    "workspace",
    "list",
    "-T",
    `self.name() ++ "\\t" ++ self.target().parents().map(|p| p.change_id()).join(" ") ++ "\\n"`,
  ]);
  const commits: string[] = [];
  const found: string[] = [];
  for (const line of log.split("\n")) {
    const [commit = "", change = "", names = ""] = line.split("\t");
    if (!/^0*$/.test(commit)) commits.push(commit);
    // The remote "git" stands for the repository's own refs.
    const here = names.split(" ").filter((name) => name !== "" && !name.endsWith("@git"));
    found.push(...here.map((name) => `${name} ${change}`));
  }
  return {
    commits,
    refs: found.sort().join("\n"),
    names: found.map((line) => line.slice(line.indexOf("/") + 1, line.indexOf(" "))),
    workspaces: list.split("\n").filter((line) => line !== "").map((line) => {
      const [name = "", parents = ""] = line.split("\t");
      return { name, parents };
    }),
  };
}
