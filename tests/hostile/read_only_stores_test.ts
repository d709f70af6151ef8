import assert from "node:assert/strict";
import { type Lab, lab, type Ran } from "../cli/_tether.ts";
import { createDelta } from "../helpers/delta_data.ts";
import { everything } from "../helpers/evidence.ts";
import { createRepository, writeArray } from "../helpers/icechunk_data.ts";
import { appendLanceRows, createLanceTable } from "../helpers/lance_data.ts";
import { setWritable, UNPRIVILEGED } from "../helpers/powers.ts";

/** Objects by key, and where their stores lie. */
const STORES = {
  arrays: "arrays.icechunk",
  code: "code",
  events: "events.delta",
  table: "table.lance",
} as const;
/** Those that pins are made in. */
const PINNED = ["arrays", "code", "table"] as const;

/** A dataset of one store per kind, each committed once and written to again; then nobody may write to the stores. */
async function shut(): Promise<Lab & { run(...args: string[]): Promise<Ran> }> {
  const l = await lab({ init: true });
  const [arrays, table] = [l.beside(STORES.arrays), l.beside(STORES.table)];
  await createRepository(arrays);
  await writeArray(arrays, "main", { name: "x", values: [1, 2] });
  await createLanceTable(table);
  const events = await createDelta(l.beside(STORES.events));
  await events.append([1, 2]);
  for (const [key, path] of Object.entries(STORES)) {
    await l.ok(["add", key, `../${path}`, "--kind", path.split(".")[1] ?? "git"]);
  }
  await l.ok(["commit", "-m", "Baseline"]);
  await writeArray(arrays, "main", { name: "y", values: [3] });
  await appendLanceRows(table, [{ id: 2, name: "b" }]);
  await events.append([3]);
  await l.advance("second");
  const writable = async (yes: boolean) => {
    for (const path of Object.values(STORES)) await setWritable(l.beside(path), yes);
  };
  await writable(false);
  return Object.assign(l, {
    run: (...args: string[]) => l.tether(args, { through: UNPRIVILEGED }),
    async [Symbol.asyncDispose]() {
      await writable(true);
      await l.repo[Symbol.asyncDispose]();
    },
  });
}

async function contents(l: Lab): Promise<ReadonlyMap<string, string>> {
  return new Map(
    (await Promise.all(Object.values(STORES).map((path) => everything(l.beside(path))))).flatMap((m) => [...m]),
  );
}

Deno.test("[L26, L06] stores that cannot be written are read, verified and compared, and what did not move is committed", async (t) => {
  await using l = await shut();
  const before = await contents(l);
  for (
    const args of [
      ["status", "--snapshot"],
      ["verify", "--deep"],
      ["verify", "--all-history", "--deep"],
      ["diff", "--content"],
      ["gc"],
      ["repair", "--dry-run"],
      ...Object.keys(STORES).flatMap((key) => [["log", key], ["open", key, "-r", "HEAD"]]),
    ]
  ) {
    await t.step(args.join(" "), async () => {
      const { code, stderr } = await l.run(...args);
      assert.deepEqual([code, stderr], [0, ""]);
    });
  }
  await t.step("a commit on a bookmark, where nothing can have moved", async () => {
    assert.equal((await l.run("new", "-b", "y")).code, 0);
    assert.equal((await l.run("set", "events", "--file", "versioned")).code, 0);
    const { code, stdout } = await l.run("commit", "-m", "A policy");
    assert.deepEqual([code, /^committed [0-9a-f]{12}$/m.test(stdout)], [0, true]);
  });
  assert.deepEqual(await contents(l), before);
});

Deno.test("[L43, backends 1.9] what must write to such a store names it and a way out, and leaves nothing half done", async (t) => {
  await using l = await shut();
  const before = await contents(l);
  const dataset = async () => [
    await l.repo.git(["rev-parse", "HEAD"]),
    await l.repo.git(["status", "--porcelain"]),
    (await l.tether(["status", "--json"])).stdout.includes("interrupted"),
  ];
  const start = await dataset();
  for (const key of PINNED) {
    await t.step(`a pin in ${key}`, async () => {
      const { code, stdout, stderr } = await l.run("commit", key, "-m", "Moved");
      assert.deepEqual([code, stdout], [1, ""]);
      assert.match(stderr, new RegExp(`^error: Cannot pin 1 object\\(s\\): \\(${key}: Cannot [^\\n]*/${STORES[key]}`));
      assert.match(stderr, new RegExp(`^hint: tether set --pin record -- ${key}\\n`, "m"));
      assert.match(stderr, /^hint: ls -ld /m);
      assert.deepEqual(await dataset(), start);
    });
  }
  await t.step("all of them at once", async () => {
    const { code, stderr } = await l.run("commit", "-m", "Moved");
    assert.equal(code, 1);
    for (const key of PINNED) assert.ok(stderr.includes(`/${STORES[key]}`), stderr);
    assert.deepEqual(await dataset(), start);
  });
  await t.step("the way out is one", async () => {
    assert.equal((await l.run("set", "--pin", "record", "code")).code, 0);
    const { code, stdout } = await l.run("commit", "code", "-m", "Without a pin");
    assert.deepEqual([code, /recorded code/.test(stdout)], [0, true]);
  });
  await t.step("branches", async () => {
    const { code, stderr } = await l.run("new", "-b", "z", "--eager");
    assert.equal(code, 1);
    assert.match(stderr, /^error: Cannot make 3 branch\(es\), the rest is done: /);
    for (const key of PINNED) assert.ok(stderr.includes(`/${STORES[key]}`), stderr);
    const { objects } = JSON.parse((await l.run("status", "--snapshot", "--json")).stdout) as {
      objects: { reason: string | null }[];
    };
    assert.equal(objects.filter((o) => o.reason?.includes("by the first writable open")).length, 3);
    for (const key of PINNED) {
      const opened = await l.run("open", key);
      assert.deepEqual([opened.code, opened.stdout], [1, ""]);
      assert.match(opened.stderr, new RegExp(`^error: [^\\n]*/${STORES[key]}[^\\n]*\\nhint: ls -ld `));
    }
  });
  assert.deepEqual(await contents(l), before);
});
