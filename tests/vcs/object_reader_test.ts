import assert from "node:assert/strict";
import fc from "fast-check";
import { tempRepo } from "../helpers/repo.ts";
import { VcsError } from "../../engine/model/errors.ts";
import { Git } from "../../vcs/_git_process.ts";
import { GitObjectReader, parseTree } from "../../vcs/object_reader.ts";

const MODES = { "100644": "file", "100755": "file", "40000": "folder", "120000": "other", "160000": "other" } as const;

Deno.test("parseTree() reads back every tree, with ids of 20 and of 32 bytes [L13]", () => {
  const entry = (idBytes: number) =>
    fc.record({
      mode: fc.constantFrom(...Object.keys(MODES) as (keyof typeof MODES)[]),
      name: fc.string({ unit: "grapheme", minLength: 1 }).filter((name) => !/[/\0]/.test(name)),
      id: fc.uint8Array({ minLength: idBytes, maxLength: idBytes }),
    });
  for (const idBytes of [20, 32]) {
    fc.assert(fc.property(fc.array(entry(idBytes)), (entries) => {
      const bytes = entries.flatMap(({ mode, name, id }) => [...new TextEncoder().encode(`${mode} ${name}\0`), ...id]);
      const expected = entries.map(({ mode, name, id }) => ({ name, id: id.toHex(), type: MODES[mode] }));
      assert.deepEqual(parseTree(new Uint8Array(bytes), idBytes), expected);
      // A tree that was cut short is an error, never a shorter tree.
      if (entries.length > 0) assert.throws(() => parseTree(new Uint8Array(bytes.slice(0, -1)), idBytes), VcsError);
    }));
  }
});

Deno.test("answers stay with their questions: many at once, missing, too large, wrong type and malformed ones between", async () => {
  await using repo = await tempRepo();
  const texts = Array.from({ length: 300 }, (_, i) => i % 50 === 0 ? "x".repeat(100_000 + i) : `blob ${i}\nmissing\n`);
  await Promise.all(texts.map((text, i) => repo.write(`f${i}`, text)));
  await repo.commit("all");
  const ids = (await repo.git(["hash-object", ...texts.map((_, i) => `f${i}`)])).split("\n");
  const tree = await repo.git(["rev-parse", "HEAD^{tree}"]);
  await using reader = new GitObjectReader(new Git("git", repo.path));
  const missing = "0".repeat(40);
  const answers = await Promise.all(ids.flatMap((id) => [
    reader.blob(id),
    reader.blob(missing),
    reader.blob(id, { maxBytes: 100 }).catch((error) => error),
    reader.blob(tree),
    reader.tree(id),
    reader.info("no such\tthing"),
  ]));
  for (const [i, text] of texts.entries()) {
    const [blob, absent, limited, notBlob, notTree, nothing] = answers.slice(i * 6, i * 6 + 6);
    const decode = (bytes: unknown) => bytes instanceof Uint8Array ? new TextDecoder().decode(bytes) : bytes;
    assert.equal(decode(blob), text);
    assert.deepEqual([absent, notBlob, notTree, nothing], [undefined, undefined, undefined, undefined]);
    if (text.length > 100) assert.ok(limited instanceof VcsError && limited.code === "object-too-large");
    else assert.equal(decode(limited), text);
  }
  assert.equal((await reader.tree(tree))?.length, 300);
  for (const id of ["HEAD", "", "0".repeat(39), "--batch", `${missing}\n${missing}`]) {
    await assert.rejects(reader.blob(id), VcsError, JSON.stringify(id));
  }
});

Deno.test("a process that died is reported with its words, and the next question starts another", async () => {
  await using repo = await tempRepo({ files: { a: "text" } });
  const flag = `${repo.outer}/once`;
  const program = `${repo.outer}/flaky`;
  const script =
    `#!/bin/sh\ntest -e '${flag}' && exec git "$@"\ntouch '${flag}'\necho 'fatal: the disk is gone' >&2\nexit 3\n`;
  await Deno.writeTextFile(program, script, { mode: 0o755 });
  await using reader = new GitObjectReader(new Git(program, repo.path));
  const failures = await Promise.allSettled([reader.info("HEAD"), reader.info("HEAD^{tree}")]);
  for (const failure of failures) {
    assert.equal(failure.status, "rejected");
    assert.match(String(failure.reason), /the disk is gone/);
  }
  assert.equal((await reader.info("HEAD^{tree}"))?.type, "tree");
});

Deno.test("what the process says on standard error never blocks it", async () => {
  await using repo = await tempRepo({ files: { a: "text" } });
  const program = `${repo.outer}/noisy`;
  await Deno.writeTextFile(program, `#!/bin/sh\nhead -c 1000000 /dev/zero | tr '\\0' x >&2\nexec git "$@"\n`, {
    mode: 0o755,
  });
  await using reader = new GitObjectReader(new Git(program, repo.path));
  assert.equal((await reader.info("HEAD:a"))?.size, 4);
});

Deno.test("refs and objects that came after the start are seen, packed or not", async () => {
  await using repo = await tempRepo({ files: { a: "1" } });
  await using reader = new GitObjectReader(new Git("git", repo.path));
  assert.ok(await reader.info("HEAD"));
  const next = await repo.commit("next", { a: "2" });
  assert.equal((await reader.info("refs/heads/main"))?.id, next);
  await repo.git(["gc", "-q", "--prune=now"]);
  await repo.git(["pack-refs", "--all"]);
  assert.equal((await reader.info("refs/heads/main"))?.id, next);
  assert.equal(new TextDecoder().decode(await reader.blob(await repo.git(["rev-parse", "HEAD:a"]))), "2");
});
