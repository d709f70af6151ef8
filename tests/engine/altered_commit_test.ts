import assert from "node:assert/strict";
import { VcsError } from "../../engine/model/errors.ts";
import { type TempDataset, tempDataset } from "../helpers/dataset.ts";

/** What comes between tether and the commit it makes. */
const BETWEEN: readonly {
  readonly name: string;
  readonly place: (t: TempDataset) => Promise<void>;
  readonly says: RegExp;
  readonly details: "missing" | "altered";
}[] = [
  {
    name: "a hook that takes the manifests out",
    place: (t) => hook(t, "git rm -q --cached -r .tether/objects"),
    says: /Cannot find 1 manifest\(s\) in commit .*hook/,
    details: "missing",
  },
  {
    name: "a hook that puts the last ones back",
    place: (t) => hook(t, "git reset -q -- .tether/objects"),
    says: /1 manifest\(s\) differ there.*a hook or a filter/,
    details: "altered",
  },
  {
    name: "a hook that writes something else",
    place: (t) =>
      hook(
        t,
        'sed -i \'s/^snapshot = .*/snapshot = "other"/; s/^id = .*/id = "other"/\' .tether/objects/a.toml; git add .tether/objects',
      ),
    says: /1 manifest\(s\) differ there/,
    details: "altered",
  },
  {
    name: "a filter that stores something else",
    async place(t) {
      await t.repo.git(["config", "filter.up.clean", "base64"]);
      await t.repo.git(["config", "filter.up.smudge", "base64 -d"]);
      await Deno.writeTextFile(`${t.repo.path}/.gitattributes`, "*.toml filter=up\n");
    },
    says: /1 manifest\(s\) differ there.*a hook or a filter/,
    details: "altered",
  },
];

Deno.test("[commands 5.9, L43] a commit that does not hold what was recorded is said, and its pins stay", async (test) => {
  for (const { name, place, says, details } of BETWEEN) {
    await test.step(name, async () => {
      await using t = await tempDataset();
      await t.addMemory("a");
      await t.with((ds) => ds.commit({ message: "first" }));
      t.write("a");
      await place(t);
      await using ds = await t.open();
      const path = ".tether/objects/a.toml";
      await assert.rejects(ds.pull(), (error) => {
        assert.ok(error instanceof VcsError, String(error));
        assert.equal(error.code, "incomplete-commit");
        assert.match(error.message, says);
        assert.deepEqual(error.details?.[details], [path]);
        return true;
      });
      const { entries } = await ds.verify();
      assert.deepEqual(entries.map((e) => e.status), ["ok"], "its pin is kept");
    });
  }
});

async function hook(t: TempDataset, script: string): Promise<void> {
  const path = `${t.repo.path}/.git/hooks/pre-commit`;
  await Deno.writeTextFile(path, `#!/bin/sh\n${script}\n`);
  await Deno.chmod(path, 0o755);
}

Deno.test("[commands 5.9] a hook that refuses without a word is named", async () => {
  await using t = await tempDataset();
  await t.addMemory("a");
  await hook(t, "exit 1");
  await assert.rejects(t.with((ds) => ds.commit({ message: "first" })), (error) => {
    assert.ok(error instanceof VcsError);
    assert.equal(error.code, "silent");
    assert.ok(error.hints.some((hint) => hint.includes("hook may have refused")), error.hints.join());
    return true;
  });
});

Deno.test("[formats 5] a manifest that lies where its key does not say is committed, alone and with the others", async () => {
  await using t = await tempDataset();
  await t.addMemory("a", "b");
  const folder = `${t.root}/.tether/objects`;
  await Deno.rename(`${folder}/a.toml`, `${folder}/elsewhere.toml`);
  for (const keys of [["a"], ["a", "b"], undefined]) {
    t.write("a");
    await using ds = await t.open();
    const report = keys ? await ds.commit({ message: "some", keys }) : await ds.pull();
    assert.ok(report.vcsCommit);
    assert.equal(
      await t.repo.git(["ls-files", "--", ".tether/objects/elsewhere.toml"]),
      ".tether/objects/elsewhere.toml",
    );
    assert.deepEqual((await ds.verify()).entries.find((e) => e.label === "a")?.status, "ok");
  }
});
