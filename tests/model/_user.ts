/**
 * What the user does beside tether: writes into stores, and git or jj by hand.
 *
 * @module
 */

import { join } from "node:path";
import { tryGit } from "./_git.ts";
import { type Numbers, pick } from "./_numbers.ts";
import { readText } from "./_sight.ts";
import type { Store } from "./_stores.ts";
import { bookmark, BOOKMARKS, revision, type Scene } from "./_tether.ts";
import { WITH_JJ } from "./_user_jj.ts";
import type { System } from "./_world.ts";

/** Something the user does; what comes of it is his business. */
export type Do = (n: Numbers, scene: Scene) => Promise<unknown>;

/** Runs git where the user is; whether it works is git's and the user's business. */
function git(...args: string[]): Do {
  return (_, { place }) => tryGit(place.root, args);
}

function gitWith(args: (n: Numbers, scene: Scene) => string[]): Do {
  return (n, scene) => tryGit(scene.place.root, args(n, scene));
}

/** A branch of a store: upstream, or one of any dataset's. */
async function branchOf(n: Numbers, { world }: Scene): Promise<[store: Store, branch: string]> {
  const store = pick(world.stores, n.a);
  const branches = [...(await store.refs()).keys()].filter((ref) => ref.startsWith("branch ")).sort();
  // One store is made by a command; until then there is nothing in it.
  return [store, branches.length === 0 ? "main" : pick(branches, n.b).slice("branch ".length)];
}

/** What happens to stores and files. */
const ANYWHERE: Readonly<Record<string, Do>> = {
  async write(n, scene) {
    const [store, branch] = await branchOf(n, scene);
    await store.write(branch);
  },
  async "work here"(n, { world, place }) {
    const text = await readText(join(place.root, ".tether/workspace.toml"));
    const refs = /\[working_refs\]\n((?:.+\n)*)/.exec(text)?.[1] ?? "";
    for (const [i, line] of refs.split("\n").entries()) {
      const [, key = "", ref = ""] = /^(?:"?)([^"]+?)"? = "(.+)"$/.exec(line) ?? [];
      const store = world.stores.find((s) => key.endsWith(s.name));
      if (!store || (n.a + i) % 2 === 0) continue;
      if ((await store.refs()).has(`branch ${ref}`)) await store.write(ref);
    }
  },
  async "write upstream"(n, { world }) {
    await pick(world.stores, n.a).write("main");
  },
  async "branch of the store"(n, scene) {
    const [store, branch] = await branchOf(n, scene);
    const head = (await store.refs()).get(`branch ${branch}`) ?? null;
    await store.setRef("branch foreign", n.f[0] ? null : head);
  },
  async "delete a tag of the store"(n, { world }) {
    const store = pick(world.stores, n.a);
    const tags = [...(await store.refs()).keys()].filter((ref) => ref.startsWith("tag ")).sort();
    if (tags.length > 0) await store.setRef(pick(tags, n.b), null);
  },
  async "delete a branch of the store"(n, scene) {
    const [store, branch] = await branchOf(n, scene);
    if (branch !== "main") await store.setRef(`branch ${branch}`, null);
  },
  async "collect the store"(n, { world }) {
    await pick(world.stores, n.a).collect();
  },
  async "tear a manifest"(n, { place }) {
    const path = join(place.root, ".tether/objects", `${pick(["m1", "m2"], n.a)}.toml`);
    try {
      const text = await Deno.readTextFile(path);
      await Deno.writeTextFile(path, `<<<<<<< ours\n${text}`);
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    }
  },
  async "move a checkout away"(_, { place }) {
    const { checkouts, away } = place.clone;
    const [, second] = checkouts;
    if (second === undefined) return;
    await Deno.rename(second, `${second}-away`);
    away.push(...checkouts.splice(1, 1));
  },
  async "move it back"(_, { place }) {
    const { checkouts, away } = place.clone;
    const root = away.pop();
    if (root === undefined) return;
    await Deno.rename(`${root}-away`, root);
    checkouts.push(root);
  },
};

/** What is done with git. */
const WITH_GIT: Readonly<Record<string, Do>> = {
  async "commit all"(n, { place }) {
    await tryGit(place.root, ["add", "--all"]);
    await tryGit(place.root, ["commit", "-q", ...n.f[0] ? ["--amend"] : [], "-m", "by hand"]);
  },
  stage: git("add", "--all"),
  unstage: git("reset", "-q", "--", ".tether"),
  "restore the working tree": gitWith((n, s) => [
    "restore",
    "--worktree",
    ...n.f[0] ? ["--staged"] : [],
    "--source",
    revision(n.b, s),
    "--",
    ".tether",
  ]),
  reset: gitWith((n, s) => ["reset", "-q", pick(["--hard", "--soft", "--mixed"], n.a), revision(n.b, s), "--"]),
  "reset one back": gitWith((n) => ["reset", "-q", pick(["--hard", "--soft", "--mixed"], n.a), "HEAD~1", "--"]),
  switch: gitWith((n, s) => ["switch", "-q", ...n.f[0] ? ["-f"] : [], pick(["main", bookmark(n.b, s)], n.a)]),
  detach: gitWith((n, s) => ["switch", "-q", "--detach", revision(n.b, s)]),
  "make a branch": gitWith((n, s) => ["branch", ...n.f[0] ? ["-f"] : [], pick(BOOKMARKS, n.a), revision(n.b, s)]),
  "delete a branch": gitWith((n, s) => ["branch", "-D", bookmark(n.a, s)]),
  "rename a branch": gitWith((n, s) => ["branch", "-m", bookmark(n.a, s), pick(BOOKMARKS, n.b)]),
  tag: gitWith((n, s) => ["tag", ...n.f[0] ? ["-a", "-m", "tag"] : [], "-f", "v1", revision(n.b, s)]),
  "delete the tag": git("tag", "-d", "v1"),
  "set a ref": gitWith((n, s) => ["update-ref", pick(["refs/weird/x", "refs/notes/y"], n.a), revision(n.b, s)]),
  "delete a ref": gitWith((n) => ["update-ref", "-d", pick(["refs/weird/x", "refs/notes/y"], n.a)]),
  stash: git("stash", "push", "-q", "--include-untracked"),
  "end the stash": gitWith((n) => ["stash", n.f[0] ? "pop" : "drop", "-q"]),
  fetch: gitWith((n) => ["fetch", "-q", ...n.f[0] ? ["--prune"] : [], "origin"]),
  push: gitWith((
    n,
    s,
  ) => ["push", "-q", ...n.f[0] ? ["--force"] : [], "origin", pick(["main", bookmark(n.b, s)], n.a)]),
  "delete at origin": gitWith((n, s) => ["push", "-q", "origin", "--delete", bookmark(n.b, s)]),
  async merge(n, s) {
    const { place } = s;
    const { ok } = await tryGit(place.root, ["merge", "-q", "-m", "merge", revision(n.b, s)]);
    if (!ok && n.f[0]) await tryGit(place.root, ["merge", "--abort"]);
  },
  async rebase(n, s) {
    const { place } = s;
    const { ok } = await tryGit(place.root, ["rebase", "-q", revision(n.b, s)]);
    if (!ok && n.f[0]) await tryGit(place.root, ["rebase", "--abort"]);
  },
  async "end what git is in"(_, { place }) {
    for (const what of ["merge", "rebase"]) await tryGit(place.root, [what, "--abort"]);
  },
  async "forget unreachable commits"(_, { place }) {
    await tryGit(place.root, ["reflog", "expire", "--expire=now", "--all"]);
    await tryGit(place.root, ["gc", "-q", "--prune=now"]);
  },
  async "add a worktree"(n, scene) {
    const { place } = scene;
    const { checkouts } = place.clone;
    if (checkouts.length + place.clone.away.length > 1) return;
    const root = `${checkouts[0]}-tree`;
    const args = n.f[0] ? ["-b", pick(BOOKMARKS, n.a), root, "HEAD"] : [root, bookmark(n.a, scene)];
    const { ok } = await tryGit(place.root, ["worktree", "add", "-q", ...args]);
    if (ok) checkouts.push(await Deno.realPath(root));
  },
  async "remove the worktree"(_, { place }) {
    const { checkouts } = place.clone;
    const [main = "", second] = checkouts;
    if (second === undefined) return;
    const { ok } = await tryGit(main, ["worktree", "remove", "--force", second]);
    if (ok) checkouts.pop();
  },
};

/** What can be done, by name. */
export const DEEDS: Readonly<Record<System, Readonly<Record<string, Do>>>> = {
  git: { ...ANYWHERE, ...WITH_GIT },
  jj: { ...ANYWHERE, ...WITH_JJ },
};
