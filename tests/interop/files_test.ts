import assert from "node:assert/strict";
import { join } from "node:path";
import { writeAtomic } from "../../engine/files/atomic.ts";
import { newConfigText } from "../../engine/files/config.ts";
import { CloneIndexes } from "../../engine/files/indexes.ts";
import { inFlightPinIds, Journal, seedPins } from "../../engine/files/journal.ts";
import { type DatasetPaths, datasetPaths, ensureGitattributes, ensureGitignore } from "../../engine/files/layout.ts";
import { ManifestStore } from "../../engine/files/manifests.ts";
import { WorkspaceFile } from "../../engine/files/workspace.ts";
import { manifestHash, type ObjectManifest } from "../../engine/model/manifest.ts";
import { peerBin } from "../../scripts/peer.ts";
import { type TempRepo, tempRepo } from "../helpers/repo.ts";

const BIN = await peerBin();
/** Runs with the Python implementation, which `deno task test` installs. Its absence is a failure in CI. */
const OPTIONS = { ignore: BIN === undefined && !Deno.env.get("CI") };
const ID = "0badcafe";

/** A dataset in a fresh repository, made with the files' own writers and nothing else. */
class Dataset implements AsyncDisposable {
  readonly #repo: TempRepo;
  readonly store: ManifestStore;
  readonly workspace: WorkspaceFile;
  readonly journal: Journal;
  readonly indexes: CloneIndexes;

  private constructor(repo: TempRepo) {
    this.#repo = repo;
    this.store = new ManifestStore(repo.path);
    this.workspace = new WorkspaceFile(repo.path);
    this.journal = new Journal(this.paths.journal);
    this.indexes = new CloneIndexes(join(repo.path, ".git"), ID);
  }

  static async make(): Promise<Dataset> {
    const dataset = new Dataset(await tempRepo());
    const { paths, workspace } = dataset;
    await writeAtomic(paths.config, newConfigText({ datasetId: ID, trunk: "main" }));
    await Deno.mkdir(paths.objects, { recursive: true });
    await ensureGitignore(paths.root, "create");
    await ensureGitattributes(paths.root, "create");
    await workspace.write({ ...await workspace.read(), bookmark: "main" });
    return dataset;
  }

  get paths(): DatasetPaths {
    return datasetPaths(this.#repo.path);
  }

  /** Makes a git store and returns its path. */
  async gitStore(): Promise<string> {
    const path = join(this.#repo.outer, "code");
    await this.#repo.git(["init", "--quiet", "-b", "main", path], { cwd: this.#repo.outer });
    await this.#repo.git(["commit", "--quiet", "--allow-empty", "-m", "x"], { cwd: path });
    return path;
  }

  /** Makes a folder with one file and returns its path. */
  async folder(): Promise<string> {
    await this.#repo.write("../data/é.txt", "hi\n");
    return join(this.#repo.outer, "data");
  }

  git(args: readonly string[], cwd = this.#repo.path): Promise<string> {
    return this.#repo.git(args, { cwd });
  }

  /** Runs the peer in the dataset; returns both its streams. */
  async peer(...args: string[]): Promise<string> {
    const output = await new Deno.Command(`${BIN}/tether`, { args, cwd: this.#repo.path, stdin: "null" }).output();
    const text = [output.stdout, output.stderr].map((bytes) => new TextDecoder().decode(bytes)).join("");
    assert.ok(output.success, text);
    return text;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#repo[Symbol.asyncDispose]();
  }
}

function manifest(key: string, kind: string, locator: ObjectManifest["locator"]): ObjectManifest {
  return {
    key,
    kind,
    locator,
    policy: { file: "immutable", pin: "native" },
    state: null,
    pin: null,
    recoverable: true,
    origin: "adopted",
    capturedAt: null,
  };
}

Deno.test("[formats 20] the peer works in a dataset made here, and what it writes reads back", OPTIONS, async (t) => {
  await using dataset = await Dataset.make();
  const { store } = dataset;
  const code = await dataset.gitStore();
  const odd = 'raw/odd "k" é😀';
  await store.write(manifest(odd, "file", { uri: await dataset.folder() }));
  await store.write(
    manifest("code", "git", { uri: code, ref: "main", deep: { list: [1, { big: 2n ** 62n, gone: null }] } }),
  );

  await t.step("it sees both objects and commits them", async () => {
    assert.match(await dataset.peer("status"), /new +code[^]*new +raw\/odd "k" é😀/);
    await dataset.peer("commit", "-m", "one");
    assert.equal(await dataset.git(["status", "--porcelain", "--", ".tether/objects", "tether.toml"]), "");
  });
  await t.step("[formats 2.4] both sides have one manifest hash", async () => {
    const { objects, broken } = await store.read();
    assert.deepEqual([[...objects.keys()], broken], [["code", odd], []]);
    assert.match(await dataset.peer("status"), new RegExp(`^dataset ${manifestHash(objects.values()).slice(0, 12)};`));
    assert.ok((await dataset.workspace.read()).workspaceId);
  });
  await t.step("[L34] a manifest with remarks and unknown keys stays clean for it", async () => {
    await store.writeText("code", `# remark\n${await store.text("code")}\n[mine]\nx = 1 # one\n`);
    const before = (await store.read()).objects.get("code");
    assert.ok(before);
    await store.write({ ...before, capturedAt: "2026-11-30T03:36:53.566713+00:00" });
    assert.match(await store.text("code") ?? "", /^# remark\n[^]*\[mine\]\nx = 1 # one\n$/);
    assert.match(await dataset.peer("status"), /clean +code/);
  });
});

Deno.test("[formats 20] journal and indexes mean the same to both", OPTIONS, async (t) => {
  await using dataset = await Dataset.make();
  const { journal, indexes, store } = dataset;
  const code = await dataset.gitStore();
  await store.write(manifest("code", "git", { uri: code, ref: "main" }));
  await dataset.peer("commit", "-m", "one");
  const [inFlight, orphan] = [`${ID}.${"1".repeat(16)}`, `${ID}.${"2".repeat(16)}`] as const;
  const committed = (await store.read()).objects.get("code")?.pin?.id;
  assert.ok(committed);

  await t.step("what the peer pinned is in its journal and index", async () => {
    assert.deepEqual(seedPins(await journal.read()), [{ pinId: committed, kind: "git", key: "code" }]);
    assert.deepEqual([...await indexes.pinned()], [committed]);
    assert.deepEqual((await indexes.touched()).map((entry) => entry.identity), [{ path: code }]);
  });
  const action = {
    op: "pin",
    key: "code",
    kind: "git",
    target: `tether.${inFlight}`,
    detail: "",
    params: { pin_id: inFlight },
  };
  const op = await journal.start({ command: "commit", plan: { format: 3, command: "commit", actions: [action] } });
  for (const pinId of [inFlight, orphan]) {
    await dataset.git(["tag", `tether.${pinId}`, "main"], code);
    await indexes.addPin({ pinId, kind: "git", key: "code" });
  }
  await t.step("the peer keeps the pin of an operation started here, and would release the other", async () => {
    const plan = await dataset.peer("gc");
    assert.ok(plan.includes(orphan) && !plan.includes(inFlight), plan);
    assert.match(await dataset.peer("ops"), new RegExp(`^${op.id} .*commit .*INCOMPLETE`));
    assert.deepEqual([...inFlightPinIds(await journal.read())], [inFlight]);
  });
  await t.step("once the operation is done the peer releases both, and the index forgets them", async () => {
    await op.done({ failed: "interrupted", rolled_back: true });
    await dataset.peer("gc", "--no-dry-run");
    assert.deepEqual([...await indexes.pinned()], [committed]);
    assert.equal(await dataset.git(["tag"], code), `tether.${committed}`);
    assert.deepEqual((await journal.read()).map((entry) => [entry.command, entry.status]), [
      ["commit", "done"],
      ["commit", "done"],
      ["gc", "done"],
    ]);
  });
});
