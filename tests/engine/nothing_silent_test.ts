import assert from "node:assert/strict";
import type { Dataset } from "../../engine/dataset.ts";
import { ConfigError } from "../../engine/model/errors.ts";
import { tempDataset } from "../helpers/dataset.ts";

async function makePipe(path: string): Promise<void> {
  const { success } = await new Deno.Command("mkfifo", { args: [path] }).output();
  assert.ok(success, "mkfifo must work here");
}

Deno.test("[lessons, commands 5.6, 5.9] a removed object is named by status, by the plan's commit and by the commit", async (test) => {
  const ways: Readonly<Record<string, { keys?: string[]; removed: string[] }>> = {
    "all of the dataset": { removed: ["x/b", "x/c"] },
    "one key": { keys: ["x/b"], removed: ["x/b"] },
    "a prefix that holds another object": { keys: ["x/"], removed: ["x/b", "x/c"] },
  };
  for (const [name, { keys, removed }] of Object.entries(ways)) {
    for (const saved of [false, true]) {
      await test.step(`${name}${saved ? ", from a saved plan" : ""}`, async () => {
        await using t = await tempDataset({ at: "data" });
        await t.addMemory("a", "x/b", "x/c", "x/d");
        await t.with((ds) => ds.commit({ message: "first" }));
        assert.deepEqual((await t.with((ds) => ds.status())).removed, []);
        await t.with((ds) => ds.remove("x/b"));
        await Deno.remove(`${t.root}/.tether/objects/x/c.toml`);
        const status = await t.with((ds) => ds.status(keys === undefined ? {} : { keys }));
        assert.deepEqual(status.removed, removed);
        assert.deepEqual((status.toJSON() as { removed: unknown }).removed, removed);
        const options = { message: "second", ...(keys === undefined ? {} : { keys }) };
        const report = saved
          ? await t.with(async (ds) => await ds.apply(await ds.plan.commit(options)))
          : await t.with((ds) => ds.commit(options));
        assert.ok("removed" in report);
        assert.deepEqual(report.removed, removed);
        assert.deepEqual(
          (await t.with((ds) => ds.status())).removed,
          ["x/b", "x/c"].filter((k) => !removed.includes(k)),
        );
      });
    }
  }
});

Deno.test("[lessons, formats 5] whatever lies in a manifest's place is an error, never an object less", async (test) => {
  const places: Readonly<Record<string, (path: string) => Promise<void>>> = {
    "a pipe": makePipe,
    "an empty folder": (path) => Deno.mkdir(path),
    "a folder of other files": async (path) => {
      await Deno.mkdir(path);
      await Deno.writeTextFile(`${path}/notes.txt`, "x");
    },
    "a link to nothing": (path) => Deno.symlink("nowhere", path),
  };
  for (const [name, place] of Object.entries(places)) {
    await test.step(name, async () => {
      await using t = await tempDataset();
      await t.addMemory("a", "b");
      await t.with((ds) => ds.commit({ message: "first" }));
      const path = `${t.root}/.tether/objects/b.toml`;
      await Deno.remove(path);
      await place(path);
      const status = await t.with((ds) => ds.status());
      assert.deepEqual(status.objects.map((o) => [o.key, o.state]), [["a", "clean"], ["b", "error"]]);
      assert.match(status.objects[1]?.error ?? "", /b\.toml/);
      await assert.rejects(t.with((ds) => ds.commit({ message: "second" })), ConfigError);
      assert.equal((await t.with((ds) => ds.diff())).entries[1]?.change, "unknown");
    });
  }
});

Deno.test("[lessons, backends 3.1] what a folder holds besides files, folders and links is named wherever it is read", async (test) => {
  await using t = await tempDataset();
  await t.repo.write("../plate/a.txt", "a");
  const plate = `${t.repo.outer}/plate`;
  await t.with((ds) => ds.add({ key: "raw", kind: "file", locator: { uri: plate }, policy: { file: "versioned" } }));
  for (const name of ["p1", "p2", "p3", "p4"]) await makePipe(`${plate}/${name}`);
  const expected = /^Not recorded of ".*plate": "p1", "p2", "p3" and 1 more, neither files, folders nor links$/;
  const warned = (warnings: readonly string[]): void => {
    assert.equal(warnings.length, 1, warnings.join());
    assert.match(warnings[0] ?? "", expected);
  };
  await test.step("status", async () => warned((await t.with((ds) => ds.status({ snapshot: true }))).warnings));
  await test.step("snapshot", async () => warned((await t.with((ds) => ds.snapshot())).warnings));
  await test.step("commit", async () => warned((await t.with((ds) => ds.commit({ message: "first" }))).warnings));
  await test.step("verify", async () => warned((await t.with(async (ds) => await ds.verify())).warnings));
  await test.step("pull", async () => {
    await t.repo.write("../plate/b.txt", "b");
    warned((await t.with((ds) => ds.pull())).warnings);
  });
});

Deno.test("[lessons, Δ33] commit names what it did not look at, and the way to take it in", async (test) => {
  for (
    const [file, branch, hints] of [
      ["versioned", "main", ["tether pull"]],
      ["immutable", "main", ["tether set --file versioned -- raw", "tether pull"]],
      ["versioned", "x", ["tether new -- main && tether pull"]],
    ] as const
  ) {
    await test.step(`a ${file} file that changed, on ${branch}`, async () => {
      await using t = await tempDataset();
      await t.addMemory("a");
      const uri = await t.repo.write("../data/f", "one");
      await t.with((ds) => ds.add({ key: "raw", kind: "file", locator: { uri }, policy: { file } }));
      await t.with((ds) => ds.commit({ message: "first" }));
      const idle = await t.with((ds) => ds.commit({ message: "nothing" }));
      assert.deepEqual([idle.vcsCommit, idle.notRead, idle.hints], [null, ["raw"], ["tether pull"]]);
      await Deno.writeTextFile(uri, "two");
      await t.with((ds) => ds.status({ snapshot: true }));
      if (branch !== "main") {
        await t.with((ds) => ds.new({ bookmark: branch }));
        await t.with(async (ds) => await (await ds.open("a"))[Symbol.asyncDispose]());
        t.write("a", await t.inside((ctx) => Promise.resolve(ctx.workspace.workingRefs["a"] ?? "")));
      } else t.write("a");
      const report = await t.with((ds) => ds.commit({ message: "second" }));
      assert.deepEqual([Object.keys(report.pinned), report.notRead, report.hints], [["a"], ["raw"], hints]);
      assert.deepEqual((report.toJSON() as { not_read: unknown }).not_read, ["raw"]);
    });
  }
});

Deno.test("[L42, formats 5] of two manifests with one key neither counts, and every answer says so", async (test) => {
  const places: Readonly<Record<string, readonly [rename: string | null, copy: string, listed: string[]]>> = {
    "a copy after the original": [null, "dup", ["c", "dup"]],
    "a copy before the original": [null, "a", ["a", "c"]],
    "a copy below": [null, "c/copy", ["c", "c/copy"]],
    "two files that neither of them is where the key says": ["x", "y", ["c", "x"]],
  };
  const isDuplicate = (error: unknown): boolean => {
    assert.ok(error instanceof ConfigError);
    assert.equal(error.code, "duplicate-key");
    assert.match(error.message, /it has the same key "c" as "/);
    return true;
  };
  for (const [name, [rename, copy, listed]] of Object.entries(places)) {
    await test.step(name, async () => {
      await using t = await tempDataset();
      await t.addMemory("b", "c");
      await t.with((ds) => ds.commit({ message: "first" }));
      const file = (key: string): string => `${t.root}/.tether/objects/${key}.toml`;
      await Deno.mkdir(file(copy).replace(/\/[^/]*$/, ""), { recursive: true });
      await Deno.copyFile(file("c"), file(copy));
      if (rename !== null) await Deno.rename(file("c"), file(rename));
      const { objects } = await t.with((ds) => ds.status());
      assert.deepEqual(
        objects.map((o) => [o.key, o.state]),
        [["b", "clean"], ...listed.map((key) => [key, "error"])].sort(([a = ""], [b = ""]) => a < b ? -1 : 1),
      );
      const { entries } = await t.with((ds) => ds.diff());
      assert.deepEqual(
        entries.filter((e) => e.change !== "unchanged").map((e) => [e.key, e.change]),
        listed.map((key) => [key, "unknown"]),
      );
      assert.equal((await t.with(async (ds) => await ds.verify())).ok, false);
      const calls: Readonly<Record<string, (ds: Dataset) => Promise<unknown>>> = {
        snapshot: (ds) => ds.snapshot({ keys: ["c"] }),
        commit: (ds) => ds.commit({ message: "x", keys: ["c"] }),
        open: (ds) => ds.open("c", { readOnly: true }),
        log: (ds) => ds.log("c"),
        remove: (ds) => ds.remove("c"),
      };
      for (const [call, run] of Object.entries(calls)) await assert.rejects(t.with(run), isDuplicate, call);
      await assert.rejects(t.with((ds) => ds.commit({ message: "x" })), ConfigError);

      const bad = await t.repo.commit("both");
      await assert.rejects(t.with((ds) => ds.diff(`${bad}~1`, bad)), isDuplicate);
      await assert.rejects(t.with((ds) => ds.open("c", { rev: bad })), isDuplicate);

      // The copy goes by the name that its path stands for.
      await t.with((ds) => ds.remove(listed.find((key) => key !== "c") ?? ""));
      assert.deepEqual((await t.with((ds) => ds.status())).objects.map((o) => [o.key, o.state]), [
        ["b", "clean"],
        ["c", "clean"],
      ]);
      if (rename !== null) return;
      t.write("c");
      await t.with((ds) => ds.commit({ message: "mended" }));
      const mended = await t.with((ds) => ds.diff());
      assert.deepEqual(mended.entries.map((e) => e.change), ["unchanged", "unchanged"]);
    });
  }
});
