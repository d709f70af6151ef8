import assert from "node:assert/strict";
import { type BothDataset, onBoth } from "../helpers/both.ts";

const SHOW = { git: "git sparse-checkout add .tether", jj: "jj sparse set --add .tether" };

/** Lets the checkout have only some files. */
async function keepOnly(t: BothDataset, ...paths: readonly string[]): Promise<void> {
  if (t.kind === "jj") await t.vcs(["sparse", "set", "--clear", ...paths.flatMap((path) => ["--add", path])]);
  else await t.vcs(["sparse-checkout", "set", "--no-cone", ...paths.map((path) => `/${path}`)]);
}

onBoth(
  "[commands 5.9, L14] what a sparse checkout leaves out is not removed: it is said, and a commit keeps it",
  async (t) => {
    await t.addMemory("a", "b");
    await t.with((ds) => ds.commit({ message: "both" }));
    await keepOnly(t, "tether.toml", ".tether/objects/a.toml", ".tether/.gitignore", ".tether/.gitattributes");
    await t.with(async (ds) => {
      const { objects, removed } = await ds.status();
      assert.deepEqual([objects.map((o) => o.key), removed], [["a"], []]);
      assert.match(
        ds.warnings.join(),
        new RegExp(`leaves out 1 object\\(s\\) of the last commit, such as "b".*${SHOW[t.kind]}`),
      );
    });
    await t.with(async (ds) => {
      await ds.setPolicy(["a"], { pin: "record" });
      const { removed, vcsCommit } = await ds.commit({ message: "only a" });
      assert.deepEqual(removed, []);
      const files = Object.keys(await t.filesOf(vcsCommit ?? "")).filter((path) => path.includes("/objects/"));
      assert.deepEqual(files, [".tether/objects/a.toml", ".tether/objects/b.toml"]);
    });
    await t.with((ds) =>
      assert.rejects(ds.add({ key: "b", kind: "memory", locator: { system: "other" } }), (error) => {
        assert.ok(error instanceof Error && "hints" in error);
        assert.match(error.message, /this sparse checkout leaves it out/);
        assert.deepEqual(error.hints, [SHOW[t.kind]]);
        return true;
      })
    );
  },
);

onBoth("[commands 5.9] an object can be added and committed where a sparse checkout leaves .tether out", async (t) => {
  await t.addMemory("a");
  await t.with((ds) => ds.commit({ message: "first" }));
  await keepOnly(t, "tether.toml");
  await t.addMemory("c");
  if (t.kind === "jj") {
    // jj takes in nothing that its workspace leaves out; it says how to.
    await t.with((ds) =>
      assert.rejects(ds.commit({ message: "second" }), { code: "ignored", message: /sparse workspace/ })
    );
    await t.vcs(["sparse", "set", "--add", ".tether"]);
  }
  const { vcsCommit } = await t.with((ds) => ds.commit({ message: "second" }));
  const files = Object.keys(await t.filesOf(vcsCommit ?? "")).filter((path) => path.includes("/objects/"));
  assert.deepEqual(files, [".tether/objects/a.toml", ".tether/objects/c.toml"]);
});
