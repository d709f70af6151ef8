import { strict as assert } from "node:assert";
import type { Repository } from "@earthmover/icechunk-wasm32-wasi";
import { createRepository, writeArray } from "../../tests/helpers/icechunk_data.ts";
import { LocalStorage } from "../storage/local.ts";
import { libraryError, type Refusal, refusalOf } from "./_errors.ts";
import { Lease } from "./library.ts";
import { libraryStorage, ThrownErrors } from "./library_storage.ts";

const NO_SNAPSHOT = "ZZZZZZZZZZZZZZZZZZZG";

/** What to ask for, and what the library's refusal means in format 1 and in format 2. */
const QUESTIONS: readonly (readonly [string, (r: Repository, head: string) => Promise<unknown>, Refusal, Refusal])[] = [
  ["a branch that is not there", (r) => r.lookupBranch("nope"), "no-ref", "no-ref"],
  ["a tag that is not there", (r) => r.lookupTag("nope"), "no-ref", "no-ref"],
  ["a tag that was deleted", (r) => r.lookupTag("burnt"), "no-ref", "no-ref"],
  ["deleting a branch that is not there", (r) => r.deleteBranch("nope"), "no-ref", "no-ref"],
  ["deleting a tag that was deleted", (r) => r.deleteTag("burnt"), "no-ref", "no-ref"],
  ["a session on no branch", (r) => r.writableSession("nope"), "no-ref", "no-ref"],
  ["a snapshot that is not there", (r) => r.lookupSnapshot(NO_SNAPSHOT), "no-object", "no-snapshot"],
  ["a tag on no snapshot", (r) => r.createTag("t", NO_SNAPSHOT), "no-object", "no-snapshot"],
  ["a branch on no snapshot", (r) => r.createBranch("b", NO_SNAPSHOT), "no-object", "no-snapshot"],
  ["what is no snapshot id", (r) => r.lookupSnapshot("nope"), "bad-id", "bad-id"],
  ["making a branch twice", (r, head) => r.createBranch("main", head), "moved", "ref-exists"],
  ["making a tag twice", (r, head) => r.createTag("kept", head), "ref-exists", "ref-exists"],
  ["making a deleted tag again", (r, head) => r.createTag("burnt", head), "ref-exists", "ref-exists"],
  ["moving a branch from elsewhere", (r, head) => r.resetBranch("main", head, NO_SNAPSHOT), "moved", "moved"],
  ["moving no branch", (r, head) => r.resetBranch("nope", head, head), "moved", "no-ref"],
  [
    "comparing backwards",
    (r, head) => r.diff({ fromSnapshotId: head, toSnapshotId: "1CECHNKREP0F1RSTCMT0" }),
    "unrelated",
    "unrelated",
  ],
];

const DAMAGES: readonly (readonly [string, (bytes: Uint8Array) => Uint8Array])[] = [
  ["of nothing but zeros", (bytes) => new Uint8Array(bytes.length)],
  ["cut to a piece of its header", (bytes) => bytes.slice(0, 20)],
  ["without its end", (bytes) => bytes.slice(0, -5)],
  ["with other bytes in it", (bytes) => bytes.map((byte, i) => i > 60 && i % 7 === 0 ? byte ^ 0x55 : byte)],
];

for (const format of [1, 2] as const) {
  Deno.test(`[backends 1.9] refusalOf() knows the library's wording for format ${format}`, async (t) => {
    const path = await Deno.makeTempDir({ prefix: "tether-icechunk-" });
    await using lease = new Lease();
    const runtime = await lease.runtime();
    const open = () =>
      runtime.call((l) =>
        l.Repository.open(libraryStorage(l, new LocalStorage(path, { kind: "icechunk" }), new ThrownErrors()))
      );
    try {
      await t.step("no repository", async () => {
        assert.equal(refusalOf(await failure(open)), "no-store");
      });
      await createRepository(path, { format });
      const head = await writeArray(path, "main", { name: "a", values: [1] });
      const intact = await Deno.readFile(`${path}/snapshots/${head}`);
      const repository = await open();
      await repository.createTag("kept", head);
      await repository.createTag("burnt", head);
      await repository.deleteTag("burnt");
      for (const [what, ask, ...meanings] of QUESTIONS) {
        await t.step(what, async () => {
          const error = await failure(() => ask(repository, head));
          assert.equal(refusalOf(error), meanings[format - 1], String(error));
          assert.equal(refusalOf(libraryError(error, "do it")), meanings[format - 1], "also once it is mapped");
        });
      }
      if (format === 1) {
        await t.step("a name that format 1 refuses", async () => {
          assert.equal(refusalOf(await failure(() => repository.lookupBranch("a/b"))), "bad-name");
        });
      }
      for (const [what, damage] of DAMAGES) {
        await t.step(`a snapshot ${what}`, async () => {
          await Deno.writeFile(`${path}/snapshots/${head}`, damage(intact));
          const fresh = await open();
          assert.equal(refusalOf(await failure(() => fresh.lookupManifestFiles(head))), "corrupt");
        });
      }
    } finally {
      await Deno.remove(path, { recursive: true });
    }
  });
}

Deno.test("[backends 1.9] libraryError() says what could not be done and keeps the library's error", () => {
  const cause = new Error("no such thing yet\n\ncontext:\n  0: icechunk::somewhere");
  const error = libraryError(cause, `read branch "x" of "/data/a"`);
  assert.equal(error.code, "library");
  assert.equal(error.message, `[icechunk] Cannot read branch "x" of "/data/a": no such thing yet`);
  assert.equal(error.cause, cause);
});

async function failure(call: () => Promise<unknown>): Promise<Error> {
  try {
    await call();
  } catch (error) {
    if (error instanceof Error) return error;
  }
  throw new assert.AssertionError({ message: "it did not fail" });
}
