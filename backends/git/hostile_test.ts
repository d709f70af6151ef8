import { strict as assert } from "node:assert";
import { type TempRepo, tempRepo } from "../../tests/helpers/repo.ts";
import { DEFAULT_SETTINGS, type Locator } from "../backend.ts";
import { GitBackend } from "./git.ts";

const PIN = "0a1b2c3d.0123456789abcdef";
const REF = "tether.ws.0a1b2c3d.exp";

/** A repository that starts a program, which leaves its name behind, at every chance git offers. */
interface Trap {
  readonly repo: TempRepo;
  /** Returns what was started since the last call. */
  sprung(): Promise<string[]>;
  /** Makes the checkout look changed, so that git has to compare contents. */
  stir(): Promise<void>;
}

async function setTraps(repo: TempRepo): Promise<Trap> {
  const caught = `${repo.outer}/caught`;
  await Deno.mkdir(caught);
  async function program(name: string): Promise<string> {
    // A filter passes its input on; anything else would wait for the other side of a conversation.
    const body = /^(clean|smudge)/.test(name) ? "cat" : "exit 0";
    const path = await repo.write(`../traps/${name}`, `#!/bin/sh\ntouch '${caught}/${name}'\n${body}\n`);
    await Deno.chmod(path, 0o755);
    return path;
  }
  const settings: [string, string][] = [
    ["core.fsmonitor", await program("fsmonitor")],
    ["core.sshCommand", await program("ssh")],
    ["core.pager", await program("pager")],
    ["core.editor", await program("editor")],
    ["core.askPass", await program("askpass")],
    ["credential.helper", await program("credential")],
    ["gpg.program", await program("gpg")],
    ["log.showSignature", "true"],
    ["commit.gpgSign", "true"],
    ["tag.gpgSign", "true"],
    ["filter.evil.clean", await program("clean")],
    ["filter.evil.smudge", await program("smudge")],
    ["filter.evil.required", "true"],
    ["filter.a=b.clean", await program("clean-equals")],
    ["filter.long.process", await program("process")],
    ["diff.external", await program("external-diff")],
    ["diff.evil.command", await program("diff-command")],
    ["diff.evil.textconv", await program("textconv")],
    ["merge.evil.driver", await program("merge-driver")],
    ["branch.main.mergeOptions", "--squash"],
    ["alias.status", `!${await program("alias")}`],
    ["remote.evil.url", repo.path],
    ["remote.evil.uploadpack", await program("upload-pack")],
    ["remote.evil.promisor", "true"],
    ["extensions.partialClone", "evil"],
    ["core.repositoryFormatVersion", "1"],
  ];
  for (const [name, value] of settings) await repo.git(["config", name, value]);
  for (
    const hook of [
      "reference-transaction",
      "post-merge",
      "pre-merge-commit",
      "post-checkout",
      "post-index-change",
      "pre-push",
      "pre-auto-gc",
    ]
  ) await Deno.copyFile(await program(hook), `${repo.path}/.git/hooks/${hook}`);
  return {
    repo,
    async sprung() {
      const names = (await Array.fromAsync(Deno.readDir(caught))).map((e) => e.name).sort();
      for (const name of names) await Deno.remove(`${caught}/${name}`);
      return names;
    },
    async stir() {
      const now = Date.now() / 1000;
      for await (const entry of Deno.readDir(repo.path)) {
        if (entry.isFile) await Deno.utime(`${repo.path}/${entry.name}`, now, now);
      }
    },
  };
}

async function trapped(): Promise<Trap & AsyncDisposable> {
  const repo = await tempRepo({
    files: {
      "a.txt": "1\n",
      "b.txt": "1\n",
      "c.txt": "1\n",
      ".gitattributes": [
        "a.txt filter=evil diff=evil merge=evil",
        "b.txt filter=a=b diff=evil merge=evil",
        "c.txt filter=long diff=evil merge=evil",
        "",
      ].join("\n"),
    },
  });
  // A commit that claims to be signed: showing it would check the signature.
  const head = await repo.git(["cat-file", "commit", "HEAD"]);
  const signed = head.replace(
    /\n\n/,
    "\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----\n\n",
  );
  const file = await repo.write("../signed", signed + "\n");
  await repo.git(["update-ref", "refs/heads/main", await repo.git(["hash-object", "-t", "commit", "-w", file])]);
  const trap = await setTraps(repo);
  return { ...trap, [Symbol.asyncDispose]: () => repo[Symbol.asyncDispose]() };
}

Deno.test("[L40] nothing that a repository configures is started", async (t) => {
  await using trap = await trapped();
  const { repo } = trap;
  const { path } = repo;
  const backend = new GitBackend(DEFAULT_SETTINGS);
  const locator: Locator = { path, ref: "main" };

  await t.step("the traps work: git itself springs them", async () => {
    await trap.stir();
    await repo.git(["status"], { mayFail: true });
    const byStatus = await trap.sprung();
    for (const name of ["clean", "clean-equals", "fsmonitor", "process"]) {
      assert.ok(byStatus.includes(name), `${byStatus}`);
    }
    await repo.git(["log", "-1"], { mayFail: true });
    assert.deepEqual(await trap.sprung(), ["gpg"]);
    await repo.git(["update-ref", "refs/heads/probe", "HEAD"]);
    assert.deepEqual(await trap.sprung(), ["reference-transaction"]);
    await repo.git(["cat-file", "-e", "7".repeat(40)], { mayFail: true });
    assert.ok((await trap.sprung()).includes("upload-pack"));
  });

  const base = await backend.fingerprint({ path }, undefined);
  await t.step("by reading", async () => {
    await trap.stir();
    assert.equal((await backend.fingerprint({ path }, undefined))["dirty"], false);
    await trap.stir();
    await backend.fingerprint(locator, undefined);
    await backend.history(locator, { limit: 5 });
    await backend.retention(locator, base, {});
    await backend.openHandle(locator, { on: "base" }, { readOnly: true });
    assert.equal((await backend.verify(locator, base, undefined, { deep: true })).status, "ok");
    const gone = { sha: "8".repeat(40) };
    assert.notEqual((await backend.verify(locator, gone, undefined, { deep: true })).status, "ok");
    await assert.rejects(backend.fingerprint({ path, at: gone.sha }, undefined));
    await assert.rejects(backend.diff(locator, base, gone));
    await assert.rejects(backend.fork(locator, { on: "state", state: gone }, REF));
    await backend.ancestorOf(locator, gone, { on: "state", state: base }).catch(() => {});
    assert.deepEqual(await trap.sprung(), []);
  });
  await t.step("by moving refs", async () => {
    const pin = await backend.pin(locator, base, PIN);
    await backend.fork(locator, { on: "pin", pin }, REF);
    await backend.unpin(locator, pin);
    await backend.deleteWorkingRef(locator, REF);
    assert.deepEqual(await trap.sprung(), []);
  });
  await t.step("by landing where nothing is checked out", async () => {
    await land(trap, backend, locator);
    assert.deepEqual(await trap.sprung(), []);
  });
});

Deno.test("[L40] landing in a checkout starts nothing, and is refused where files would be written by filters", async () => {
  await using trap = await trapped();
  const { repo } = trap;
  const { path } = repo;
  const backend = new GitBackend(DEFAULT_SETTINGS);
  await backend.fork({ path }, { on: "state", state: await backend.fingerprint({ path }, undefined) }, REF);
  const sha = await commitBeside(repo, REF, { "d.txt": "d\n" });
  await trap.sprung();
  const from = { on: "ref", ref: REF } as const;
  await assert.rejects(backend.promote({ path }, from), /names programs to write its files with: "/);
  assert.deepEqual(await trap.sprung(), []);
  for (const name of ["evil", "a=b", "long"]) await repo.git(["config", "--remove-section", `filter.${name}`]);
  assert.deepEqual(await backend.promote({ path }, from), { sha, dirty: false });
  assert.equal(await Deno.readTextFile(`${path}/d.txt`), "d\n");
  assert.deepEqual(await trap.sprung(), []);
});

Deno.test("[L40] filters of the user's own configuration do run", async () => {
  await using repo = await tempRepo({ files: { a: "kept\n", ".gitattributes": "a filter=mine\n" } });
  const settings = await repo.write(
    "../own-config",
    '[filter "mine"]\n\tclean = sed s/show/kept/\n\trequired = true\n',
  );
  const backend = new GitBackend({
    ...DEFAULT_SETTINGS,
    env: { PATH: Deno.env.get("PATH") ?? "", HOME: repo.outer, GIT_CONFIG_GLOBAL: settings },
  });
  await repo.write("a", "show\n");
  assert.equal((await backend.fingerprint({ path: repo.path }, undefined))["dirty"], false);
  // What the repository itself sets to the same is still the user's; what it sets otherwise is not.
  await repo.git(["config", "filter.mine.clean", "sed s/show/kept/"]);
  assert.equal((await backend.fingerprint({ path: repo.path }, undefined))["dirty"], false);
  await repo.git(["config", "filter.mine.clean", `touch '${repo.outer}/sprung'; cat`]);
  assert.equal((await backend.fingerprint({ path: repo.path }, undefined))["dirty"], false);
  await assert.rejects(Deno.lstat(`${repo.outer}/sprung`), Deno.errors.NotFound);
});

Deno.test("[L40] configuration that is included, or of a linked checkout or submodule, starts nothing either", async () => {
  await using repo = await tempRepo({ files: { a: "a\n", ".gitattributes": "a filter=evil\n" } });
  const backend = new GitBackend(DEFAULT_SETTINGS);
  const evil = `[filter "evil"]\n\tclean = touch '${repo.outer}/sprung'; cat\n`;
  const included = await repo.write("../included", evil);
  async function probe(path: string): Promise<void> {
    const now = Date.now() / 1000;
    await Deno.utime(`${path}/a`, now, now);
    await backend.fingerprint({ path }, undefined);
    await assert.rejects(Deno.lstat(`${repo.outer}/sprung`), Deno.errors.NotFound, path);
    await Deno.utime(`${path}/a`, now + 5, now + 5);
    await repo.git(["status"], { cwd: path });
    await Deno.remove(`${repo.outer}/sprung`);
  }
  await repo.git(["config", "include.path", included]);
  await probe(repo.path);
  await probe(await repo.worktree("linked"));
  await repo.git(["config", "--unset", "include.path"]);
  await repo.git(["config", "extensions.worktreeConfig", "true"]);
  await repo.git(["config", "--worktree", "filter.evil.clean", `touch '${repo.outer}/sprung'; cat`]);
  await probe(repo.path);

  await using outer = await tempRepo({ files: { x: "x\n" } });
  await outer.git(["submodule", "add", "--quiet", repo.path, "sub"]);
  await outer.commit("with a submodule");
  await outer.git(["config", "filter.evil.clean", `touch '${repo.outer}/sprung'; cat`], { cwd: `${outer.path}/sub` });
  const now = Date.now() / 1000;
  await Deno.utime(`${outer.path}/sub/a`, now, now);
  assert.equal((await backend.fingerprint({ path: outer.path }, undefined))["dirty"], false);
  await assert.rejects(Deno.lstat(`${repo.outer}/sprung`), Deno.errors.NotFound);
  await outer.git(["status"]);
  await Deno.remove(`${repo.outer}/sprung`);
});

Deno.test("[L26] reading changes nothing, not even git's index", async () => {
  await using repo = await tempRepo({ files: { a: "a\n" } });
  const backend = new GitBackend(DEFAULT_SETTINGS);
  const index = `${repo.path}/.git/index`;
  await Deno.utime(`${repo.path}/a`, 1, 1);
  const before = await Deno.readFile(index);
  const state = await backend.fingerprint({ path: repo.path }, undefined);
  await backend.verify({ path: repo.path }, state, undefined, { deep: true });
  await backend.diff({ path: repo.path }, state, state);
  assert.deepEqual(await Deno.readFile(index), before);
});

/** Lands one side by fast-forward, another by merge, and meets a conflict. */
async function land(trap: Trap, backend: GitBackend, locator: Locator): Promise<void> {
  const { repo } = trap;
  await repo.git(["update-ref", "--no-deref", "HEAD", "main"]);
  const start = await backend.fingerprint(locator, undefined);
  await backend.fork(locator, { on: "state", state: start }, REF);
  await trap.sprung();
  const tip = await commitBeside(repo, REF, { "side.txt": "side\n" });
  await trap.sprung();
  assert.equal((await backend.promote(locator, { on: "ref", ref: REF }))["sha"], tip);
  assert.deepEqual(await trap.sprung(), []);
  await commitBeside(repo, REF, { "side.txt": "more\n" });
  await commitBeside(repo, "main", { "own.txt": "own\n" });
  await trap.sprung();
  await backend.merge(locator, { on: "ref", ref: REF }, "both sides");
  assert.deepEqual(await trap.sprung(), []);
  await commitBeside(repo, REF, { "a.txt": "theirs\n" });
  await commitBeside(repo, "main", { "a.txt": "ours\n" });
  await trap.sprung();
  const before = await backend.fingerprint(locator, undefined);
  await assert.rejects(backend.merge(locator, { on: "ref", ref: REF }, "conflict"), { code: "merge-conflict" });
  assert.deepEqual(await backend.fingerprint(locator, undefined), before);
  const diff = await backend.diff(locator, start, before);
  assert.ok(diff.entries.some((e) => e.path === "a.txt"));
}

/** Commits files on a branch with plumbing that runs no filter. */
async function commitBeside(repo: TempRepo, branch: string, files: Record<string, string>): Promise<string> {
  const env = { GIT_INDEX_FILE: `${repo.outer}/index-${crypto.randomUUID()}` };
  const parent = await repo.git(["rev-parse", `refs/heads/${branch}`]);
  await repo.git(["read-tree", parent], { env });
  for (const [name, text] of Object.entries(files)) {
    const blob = await repo.git(["hash-object", "-w", "--no-filters", await repo.write(`../blob-${name}`, text)]);
    await repo.git(["update-index", "--add", "--cacheinfo", `100644,${blob},${name}`], { env });
  }
  const tree = await repo.git(["write-tree"], { env });
  const commit = await repo.git(["commit-tree", "--no-gpg-sign", tree, "-p", parent, "-m", `on ${branch}`]);
  await repo.git(["update-ref", `refs/heads/${branch}`, commit, parent]);
  return commit;
}
