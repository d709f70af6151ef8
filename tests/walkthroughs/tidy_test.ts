import assert from "node:assert/strict";
import { faults, mendAll, registerFlaky } from "../helpers/flaky_memory.ts";
import { appendLanceRows, createLanceTable } from "../helpers/lance_data.ts";
import { namedStore } from "../../backends/memory/store.ts";
import { writeArray } from "../helpers/icechunk_data.ts";
import { commitTo, git, gitStore, icechunkStore, scores, walk, writeScores } from "./_walk.ts";

registerFlaky();

walk("[commands 8.7] reviewed writes", async ({ t, ok, ends, beside }) => {
  const code = await gitStore(beside("code"));
  await ok(`add code ${code} --kind git`);
  const [c, g] = [beside("c.json"), beside("g.json")];
  await ok(`commit -m Load --plan ${c}`);
  await commitTo(code, "main", "two");
  assert.match(await ends(1, `commit --from-plan ${c}`), /code/);
  await ok(`commit -m Load --plan ${c}`);
  assert.match(await ok(`commit --from-plan ${c}`), /committed [0-9a-f]{12}/);
  await ok("new -b gone --eager");
  await ok("new main");
  await t.deleteBookmark("gone");
  await ok(`gc --prune-bookmarks --plan ${g}`);
  await t.commitFiles("a commit more", { "code.txt": "x\n" });
  assert.match(await ends(1, `gc --from-plan ${g}`), /commits appeared or vanished|stands on/);
  await ok(`gc --prune-bookmarks --plan ${g}`);
  const text = await Deno.readTextFile(g);
  await Deno.writeTextFile(g, text.replace('"created_at": "', '"created_at": "1'));
  assert.match(await ends(1, `gc --from-plan ${g}`), /edited/);
  await Deno.writeTextFile(g, text.replace(/"tether_version": ".*?"/, '"tether_version": "0.1.0b7"'));
  assert.match(await ends(1, `gc --from-plan ${g}`), /0\.1\.0b7/);
  await Deno.writeTextFile(g, text);
  assert.match(await ok(`gc --from-plan ${g}`), /deleted branches: 1/);
});

walk("[commands 8.8] keep the bill down", async ({ t, ok, branch, beside }) => {
  const [code, scratch] = [await gitStore(beside("code")), beside("scratch.lance")];
  await createLanceTable(scratch);
  await t.commitFiles("base", { "code.txt": "1\n" });
  await ok(`add code ${code} --kind git`);
  await ok(`add scratch ${scratch} --kind lance --pin record`);
  assert.match(await ok("commit -m Baseline"), /scratch -> \(addressable\)|recorded scratch/);
  for (const name of ["one-try", "two-try", "result"]) {
    await commitTo(code, "main", name);
    await ok(`commit -m ${name}`);
  }
  const before = await t.filesOf(await t.id("here"));
  const tags = (await git(code, "tag")).split("\n").length;
  assert.equal(tags, 4);
  assert.match(await ok(`abandon ${await t.id("here~2")} ${await t.id("here~1")} --gc`), /unpinned: 2/);
  assert.equal((await git(code, "tag")).split("\n").length, 2);
  const after = await t.filesOf(await t.id("here"));
  assert.equal(after[".tether/objects/code.toml"], before[".tether/objects/code.toml"]);
  assert.match(await ok("verify --all-history --deep"), /ok/);
  await ok("new -b feat");
  await appendLanceRows(scratch, [{ id: 2, name: "b" }], { branch: await branch("scratch") });
  await ok("new main");
  await t.deleteBookmark("feat");
  assert.match(await ok("gc --prune-bookmarks"), /keep-branch {2}scratch/);
  assert.match(await ok("gc --prune-bookmarks --force-prune"), /delete-branch {2}scratch .*FORCED/);
});

walk("[commands 8.9] undo and repair", async ({ t, ok, ends, branch, beside }) => {
  const [code, imaging] = [await gitStore(beside("code")), await icechunkStore(beside("imaging.icechunk"))];
  await ok(`add code ${code} --kind git`);
  await ok(`add zarr/imaging ${imaging} --kind icechunk`);
  await ok("commit -m Baseline");
  const commit = await t.id("here");
  await ok("new -b oops --eager");
  assert.match(await ok("undo"), /^undid [0-9a-f]{12} \(new/);
  assert.doesNotMatch(await git(code, "for-each-ref"), /oops/);
  assert.match(await ok("status"), /main/);
  await ok("new -b feat");
  const ref = await branch("zarr/imaging");
  await writeScores(imaging, ref, [7]);
  await ok("commit -m Feat");
  assert.match(await ok(`restore zarr/imaging --from ${commit}`), /restored zarr\/imaging/);
  assert.deepEqual(await scores(imaging, ref), [1, 2, 3]);
  assert.match(await ok("status --snapshot"), /modified {2}zarr\/imaging/);
  const theirs = await commitTo(code, "their-branch", "theirs");
  assert.match(await ok("restore code --at their-branch"), /restored code/);
  assert.equal(await git(code, "rev-parse", await branch("code")), theirs);
  assert.equal(await git(code, "rev-parse", "their-branch"), theirs);
  await ok("commit -m Restored");
  const [tag = ""] = (await git(code, "tag", "--points-at", theirs)).split("\n");
  await git(code, "tag", "-d", tag);
  assert.match(await ends(1, "verify code"), /missing {2}code/);
  assert.match(await ok("repair"), /repinned code/);
  await git(code, "tag", "-f", tag, "main");
  assert.match(await ends(1, "verify code"), /drifted {2}code/);
  assert.doesNotMatch(await ok("repair"), /repinned/);
  assert.equal(await git(code, "rev-parse", tag), await git(code, "rev-parse", "main"), "what drifted is never moved");
});

walk("[commands 8.11] preview environment per pull request, on branches that are storage", async (w) => {
  const { t, ok, json, beside } = w;
  const system = t.system("db");
  await t.commitFiles("base", { "code.txt": "1\n" });
  await ok(`add db/app --kind storage --set system=${system}`);
  await ok("commit -m Baseline");
  await ok("new -b pr7 --eager");
  const ref = String((await json("open db/app --writable"))["ref"]);
  const branches = (): string[] => [...namedStore().find(system)?.branches.keys() ?? []];
  assert.ok(branches().includes(ref));
  const head = namedStore().write(system, { served: 1 }, { branch: ref });
  await ok("commit -m 'Preview of seven'");
  const written = namedStore().write(system, { served: 2 }, { branch: ref });
  await ok("new pr7 --adopt");
  assert.equal(namedStore().find(system)?.head(ref).id, written.id, "services keep writing");
  await ok("new main");
  await t.deleteBookmark("pr7");
  assert.notEqual(head.id, written.id);
  assert.match(await ok("gc --prune-bookmarks"), /keep-branch {2}db\/app/);
  await ok("gc --prune-bookmarks --no-dry-run");
  assert.ok(branches().includes(ref));
  try {
    faults.blockers.set(ref, "two sessions are open");
    assert.match(await ok("gc --prune-bookmarks --force-prune"), /keep-branch {2}db\/app.*two sessions are open/);
    await ok("gc --prune-bookmarks --force-prune --no-dry-run");
    assert.ok(branches().includes(ref), "what the store refuses is kept even by force");
  } finally {
    mendAll();
  }
  const plan = beside("g.json");
  assert.match(await ok(`gc --prune-bookmarks --force-prune --plan ${plan}`), /delete-branch {2}db\/app.*FORCED/);
  await ok(`gc --from-plan ${plan}`);
  assert.ok(!branches().includes(ref));
});

walk("[commands 8.12] throwaway store", async ({ t, ok, branch, beside }, test) => {
  await t.commitFiles("base", { "code.txt": "1\n" });
  await ok("commit -m Baseline");
  const there = (path: string): Promise<boolean> => Deno.lstat(path).then(() => true, () => false);
  const write = {
    git: (store: string, ref: string) => commitTo(store, ref, "work"),
    icechunk: (store: string, ref: string) => writeArray(store, ref, { name: "probe", values: [1] }),
  };
  for (const [kind, stranger] of [["git", false], ["icechunk", false], ["git", true]] as const) {
    await test.step(`${kind}, ${stranger ? "with something of others in it" : "with nothing else in it"}`, async () => {
      const trunk = await t.line("main");
      await ok("new -b probe");
      const store = beside(`scratch-${kind}-${stranger}`);
      await ok(`add probe/emb ${store} --kind ${kind} --create`);
      assert.ok(await there(store));
      const ref = await branch("probe/emb");
      assert.match(ref, /^tether\.ws\.[0-9a-f]{8}\.probe$/);
      await write[kind](store, ref);
      await ok("commit -m Probe");
      // Upstream of a store is not the dataset's, whoever made it.
      if (stranger) await write[kind](store, "main");
      const shown = await ok("drop probe --delete-stores");
      const verbs = [...new Set([...shown.matchAll(/^ {2,}([a-z]+-[a-z-]+|unpin) {2}/gm)].map(([, verb]) => verb))];
      assert.deepEqual(verbs.slice(0, 3), ["leave-bookmark", "abandon-commit", "delete-bookmark"]);
      assert.deepEqual(
        verbs.slice(3).sort(),
        [stranger ? "keep-store" : "delete-store", "delete-branch", "unpin"].sort(),
      );
      if (!stranger) assert.equal(verbs.at(-1), "delete-store");
      assert.match(await ok("drop probe --delete-stores --no-dry-run"), /dropped probe/);
      assert.equal(await there(store), stranger, "deleted only if nothing else is in it");
      assert.deepEqual(await t.line("main"), trunk);
      assert.doesNotMatch(await ok("status"), /probe/);
      assert.equal((await ok("gc --prune-bookmarks --delete-stores")).includes("keep-store"), stranger);
    });
  }
});

walk("[commands 8.13] adopt an older state", async ({ ok, json, beside }) => {
  const x = await icechunkStore(beside("x.icechunk"));
  await writeScores(x, "main", [4]);
  const log = await json(`log ${x} --kind icechunk`) as unknown as { id: string }[] | { entries: { id: string }[] };
  const entries = Array.isArray(log) ? log : log.entries;
  const older = entries[1]?.id ?? "";
  await ok(`add x ${x} --kind icechunk --at ${older}`);
  await ok("commit -m 'Start at SNAP'");
  assert.match(await ok("status --snapshot"), /behind {2}x/);
  assert.match(await ok("pull"), /pulled x/);
  assert.match(await ok("status --snapshot"), /clean {2}x/);
});
