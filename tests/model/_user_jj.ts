/**
 * What the user does with jj beside tether. jj asks for a newer git than some have, so git itself fetches and pushes.
 *
 * @module
 */

import { join } from "node:path";
import { tryGit } from "./_git.ts";
import { tryJj } from "./_jj.ts";
import { type Numbers, pick } from "./_numbers.ts";
import { workspaceOf } from "./_sight.ts";
import { bookmark, BOOKMARKS, revision, type Scene } from "./_tether.ts";
import type { Do } from "./_user.ts";

/** Runs jj where the user is; whether it works is jj's and the user's business. */
function jj(...args: string[]): Do {
  return (_, { place }) => tryJj(place.root, args);
}

function jjWith(args: (n: Numbers, scene: Scene) => string[]): Do {
  return (n, scene) => tryJj(scene.place.root, args(n, scene));
}

/** Names in revsets mean what they say. */
function named(n: number, scene: Scene): string {
  const rev = revision(n, scene);
  return /^@-*$|^\w+-$/.test(rev) ? rev : rev.replace(/^[^@]+/, (name) => JSON.stringify(name));
}

/** What is done with jj, by name. */
export const WITH_JJ: Readonly<Record<string, Do>> = {
  "commit by hand": jj("commit", "-m", "by hand"),
  async "commit on a bookmark"(n, scene) {
    await tryJj(scene.place.root, ["commit", "-m", "by hand"]);
    await tryJj(scene.place.root, ["bookmark", "set", pick(["main", bookmark(n.b, scene)], n.a), "-r", "@-"]);
  },
  snapshot: jj("status"),
  describe: jjWith((n) => ["describe", ...n.f[0] ? ["@-"] : [], "-m", `described ${n.a}`]),
  "restore the working tree": jjWith((n, s) => ["restore", "--from", named(n.b, s), "root:.tether"]),
  "new change": jjWith((n, s) => ["new", named(n.b, s), ...n.f[0] ? [named(n.c, s)] : []]),
  edit: jjWith((n, s) => ["edit", named(n.b, s)]),
  abandon: jjWith((n, s) => ["abandon", ...n.f[0] ? ["--retain-bookmarks"] : [], named(n.b, s)]),
  squash: jjWith((n) => ["squash", ...n.f[0] ? ["-r", "@-"] : [], "-u"]),
  duplicate: jjWith((n, s) => ["duplicate", named(n.b, s)]),
  rebase: jjWith((n, s) => ["rebase", pick(["-r", "-s", "-b"], n.a), "@", "-o", named(n.b, s)]),
  "abandon what conflicts": jj("abandon", "conflicts()"),
  "set a bookmark": jjWith((n, s) => ["bookmark", "set", pick(BOOKMARKS, n.a), "-r", named(n.b, s), "-B"]),
  "delete a bookmark": jjWith((
    n,
    s,
  ) => ["bookmark", pick(["delete", "forget"], n.b), JSON.stringify(bookmark(n.a, s))]),
  "rename a bookmark": jjWith((n, s) => ["bookmark", "rename", bookmark(n.a, s), pick(BOOKMARKS, n.b)]),
  "settle a bookmark": jjWith((n, s) => ["bookmark", "set", pick(["main", bookmark(n.a, s)], n.b), "-r", "@-", "-B"]),
  tag: jjWith((n, s) => ["tag", "set", "v1", "-r", named(n.b, s), "--allow-move"]),
  "delete the tag": jj("tag", "delete", "v1"),
  async fetch(_, { place }) {
    await tryGit(place.root, [`--git-dir=${place.clone.gitDir}`, "fetch", "-q", "--prune", "origin"]);
    await tryJj(place.root, ["git", "import"]);
  },
  async push(n, s) {
    const { root, clone } = s.place;
    const force = n.f[0] ? ["--force"] : [];
    await tryJj(root, ["git", "export"]);
    await tryGit(root, [
      `--git-dir=${clone.gitDir}`,
      "push",
      "-q",
      ...force,
      "origin",
      pick(["main", bookmark(n.b, s)], n.a),
    ]);
    await tryJj(root, ["git", "import"]);
    if (n.c % 2 === 0) await tryJj(root, ["bookmark", "track", "*", "--remote=origin"]);
  },
  async "delete at origin"(n, s) {
    const origin = join(s.world.outer, "origin.git");
    await tryGit(origin, ["update-ref", "-d", `refs/heads/${bookmark(n.b, s)}`]);
  },
  undo: jj("undo"),
  redo: jj("redo"),
  "update the working copy": jj("workspace", "update-stale"),
  async "forget what is hidden"(_, { place }) {
    await tryJj(place.root, ["op", "abandon", "..@-"]);
    await tryJj(place.root, ["util", "gc", "--expire=now"]);
  },
  async "add a workspace"(n, scene) {
    const { checkouts, away, name } = scene.place.clone;
    if (checkouts.length + away.length > 1) return;
    const root = join(scene.world.outer, `${name}-tree`);
    const { ok } = await tryJj(scene.place.root, ["workspace", "add", root, "-r", named(n.b, scene)]);
    if (ok) checkouts.push(await Deno.realPath(root));
  },
  async "forget the workspace"(_, { place }) {
    const { checkouts } = place.clone;
    const [main = "", second] = checkouts;
    if (second === undefined) return;
    const { ok } = await tryJj(main, ["workspace", "forget", workspaceOf(place.clone, second)]);
    if (ok) await Deno.remove(second, { recursive: true });
  },
};
