/**
 * What is known of the kind `git` before it loads (backends §3.3).
 *
 * @module
 */

import { type BackendStatics, NO_NEEDS } from "../backend.ts";
import { localPath, pathAndLinks } from "../../engine/io/paths.ts";
import { shellQuote } from "../../engine/io/shell.ts";
import { dirname, isAbsolute } from "node:path";

/** The variables git and jj get; a child sees no others, so none can point it at another repository (L16). */
export const GIT_VARIABLES: readonly string[] = [
  "PATH",
  "HOME",
  "USER",
  "LANG",
  "TZ",
  "XDG_CONFIG_HOME",
  "SSH_AUTH_SOCK",
  "SSH_ASKPASS",
  "GIT_SSH",
  "GIT_SSH_COMMAND",
  "GIT_ASKPASS",
  "GIT_CONFIG_GLOBAL",
  "GIT_CONFIG_SYSTEM",
  "GIT_CONFIG_NOSYSTEM",
  ...["NAME", "EMAIL", "DATE"].flatMap((what) => [`GIT_AUTHOR_${what}`, `GIT_COMMITTER_${what}`]),
  ...["http_proxy", "https_proxy", "all_proxy", "no_proxy"].flatMap((name) => [name, name.toUpperCase()]),
  "SystemRoot",
];

/** The kind `git`: repositories of their own, not the one the dataset is in. */
export const gitStatics: BackendStatics = {
  kind: "git",
  capabilities: new Set([
    "fingerprint",
    "addressable",
    "pin",
    "fork",
    "cheap_fingerprint",
    "atomic_ref",
    "diff",
    "history",
    "promote",
    "merge",
    "create",
    "conditional_ref",
  ]),
  maturity: "stable",
  volatileKeys: new Set(["dirty", "change_id"]),
  stateForms: [{ sha: "text", dirty: "flag?", change_id: "text?" }],
  localPathKeys: ["path", "uri"],
  localPathPrefixes: [],
  uriKeys: ["path", "uri"],
  keySuffixes: [".git"],
  safeConfigKeys: new Set(),
  safeOptionKeys: {},
  promoteHint: "Merge the working branch into the base branch with git, then run tether promote again",
  honoursExpected: new Set(["fork", "promote", "merge"]),
  concurrency: 4,
  permissions(locator, access, settings) {
    const text = locator["path"] ?? locator["uri"];
    const path = typeof text === "string" ? localPath(text) : undefined;
    const paths = path === undefined || !isAbsolute(path) ? [] : pathAndLinks(path);
    // A repository is moved aside, under another name in its folder, before it is deleted.
    const whole = access === "lifecycle" ? [...new Set(paths.flatMap((p) => [p, dirname(p)]))] : paths;
    return {
      ...NO_NEEDS,
      read: whole,
      write: access === "read" ? [] : whole,
      env: GIT_VARIABLES,
      // jj only adds a commit's change id. Asked for by name it would be a need that few machines can grant.
      run: [settings?.programs?.git ?? "git", ...(settings?.programs?.jj ? [settings.programs.jj] : [])],
      ambient: true,
    };
  },
  pinRefusal(locator, state) {
    const allowed = locator["allow_dirty"] === true || locator["allow_dirty"] === "true";
    if (state["dirty"] !== true || allowed) return undefined;
    const path = shellQuote(String(locator["path"] ?? locator["uri"]));
    return {
      reason: "its checkout holds work that no commit has",
      hints: [
        "Commit the work there",
        `To pin the commit without it: tether remove KEY && tether add KEY ${path} --kind git --set allow_dirty=true`,
      ],
    };
  },
  async open(settings) {
    const { GitBackend } = await import("./git.ts");
    return new GitBackend(settings);
  },
};
