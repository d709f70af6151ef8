import assert from "node:assert/strict";
import { join } from "node:path";
import type { Locator } from "../../backends/backend.ts";
import { namedStore } from "../../backends/memory/store.ts";
import { MultiObjectError } from "../../engine/model/multi_object_error.ts";
import type { PromoteReport } from "../../engine/reports/moving.ts";
import { type TempDataset, tempDataset } from "../helpers/dataset.ts";
import { plainGit } from "../helpers/repo.ts";

/** A store with one line of work beside its upstream. */
interface Store {
  readonly kind: string;
  readonly locator: Locator;
  /** Writes one unit of it: what is written under one name on two branches conflicts. */
  write(branch: string, unit: string): Promise<void>;
  head(branch: string): Promise<string>;
  /** Tells whether upstream has all of a head. */
  has(head: string): Promise<boolean>;
  /** How a conflict names its units. */
  readonly conflict: string;
}

let written = 0;

const KINDS: Readonly<Record<string, (t: TempDataset) => Promise<Store>>> = {
  memory(t) {
    const name = t.system("s");
    const store = namedStore();
    store.create(name, { base: "main", now: new Date(0) });
    const head = (branch: string) => Promise.resolve(store.find(name)?.head(branch).id ?? "");
    return Promise.resolve({
      kind: "memory",
      locator: { system: name },
      conflict: "same",
      head,
      write: (branch, unit) => Promise.resolve(void store.write(name, { [unit]: written++ }, { branch })),
      has: async (wanted) => store.find(name)?.ancestry(await head("main")).some((s) => s.id === wanted) ?? false,
    });
  },
  async git(t) {
    const path = join(t.repo.outer, "code.git");
    const clone = join(t.repo.outer, "code");
    await plainGit(["init", "-q", "--bare", "--initial-branch=main", path]);
    await plainGit(["clone", "-q", path, clone], { mayFail: true });
    const git = (...args: string[]) => plainGit(args, { cwd: clone });
    const write = async (branch: string, unit: string): Promise<void> => {
      await git("fetch", "-q");
      await git("switch", "-q", "--detach", `origin/${branch}`);
      await Deno.writeTextFile(join(clone, unit), `${written++}\n`);
      await git("add", "--all");
      await git("commit", "-q", "-m", unit);
      await git("push", "-q", "origin", `HEAD:refs/heads/${branch}`);
    };
    await Deno.writeTextFile(join(clone, "first"), "");
    await git("add", "--all");
    await git("commit", "-q", "-m", "first");
    await git("push", "-q", "origin", "HEAD:refs/heads/main");
    return {
      kind: "git",
      locator: { uri: path },
      conflict: "same",
      write,
      head: (branch) => plainGit(["rev-parse", `refs/heads/${branch}`], { cwd: path }),
      has: async (wanted) =>
        (await plainGit(["rev-list", "refs/heads/main"], { cwd: path })).split("\n").includes(wanted),
    };
  },
};

/** What upstream did since the branch was made. */
const UPSTREAM: Readonly<Record<string, (store: Store) => Promise<void>>> = {
  "did not move": () => Promise.resolve(),
  "moved elsewhere": (store) => store.write("main", "elsewhere"),
  "moved in the same place": (store) => store.write("main", "same"),
};

type Outcome = "fast-forward" | "merge" | "conflict" | "refuse";

const TABLE: readonly (readonly [upstream: string, auto: Outcome, ff: Outcome, merge: Outcome])[] = [
  ["did not move", "fast-forward", "fast-forward", "merge"],
  ["moved elsewhere", "merge", "refuse", "merge"],
  ["moved in the same place", "conflict", "refuse", "conflict"],
];

for (const [kind, make] of Object.entries(KINDS)) {
  Deno.test(`[commands 5.24] promote --strategy: what lands, and how, by what upstream did (${kind})`, async (test) => {
    for (const [upstream, auto, ff, merge] of TABLE) {
      for (const [strategy, outcome] of Object.entries({ auto, ff, merge })) {
        await test.step(`upstream ${upstream}, ${strategy}: ${outcome}`, async () => {
          await using t = await tempDataset();
          await check(t, await make(t), { upstream, strategy: strategy as "auto" | "ff" | "merge", outcome });
        });
      }
    }
  });
}

interface Case {
  readonly upstream: string;
  readonly strategy: "auto" | "ff" | "merge";
  readonly outcome: Outcome;
}

async function check(t: TempDataset, store: Store, { upstream, strategy, outcome }: Case): Promise<void> {
  await t.with((ds) => ds.add({ key: "s", kind: store.kind, locator: store.locator }));
  await t.with((ds) => ds.commit({ message: "first" }));
  await t.with((ds) => ds.new({ bookmark: "feat", eager: true }));
  const ref = await t.with((ds) => Promise.resolve(ds.workspace.workingRefs["s"] ?? assert.fail()));
  await store.write(ref, "same");
  const reviewed = await store.head(ref);
  await t.with((ds) => ds.commit({ message: "second" }));
  await UPSTREAM[upstream]?.(store);
  const before = await store.head("main");
  const trunk = await t.repo.git(["rev-parse", "main"]);

  const plan = await t.with((ds) => ds.plan.promote({ strategy }));
  assert.deepEqual(plan.actions.map((a) => a.op), [outcome === "conflict" ? "merge" : outcome]);
  let report: PromoteReport | undefined;
  let error: unknown;
  try {
    report = await t.with((ds) => ds.apply(plan)) as unknown as PromoteReport;
  } catch (thrown) {
    error = thrown;
  }
  const after = await store.head("main");
  if (report !== undefined) {
    assert.equal(outcome, Object.keys(report.merged).length > 0 ? "merge" : "fast-forward");
    assert.deepEqual([await store.has(before), await store.has(reviewed)], [true, true]);
    assert.equal(after === reviewed, outcome === "fast-forward");
    // What a merge made is another state, which a commit records before the trunk goes there.
    const moved = await t.repo.git(["rev-parse", "main"]) !== trunk;
    assert.deepEqual([moved, report.trunkMoved !== null], [outcome === "fast-forward", outcome === "fast-forward"]);
    return;
  }
  assert.ok(error instanceof MultiObjectError && error.code === "refused", String(error));
  assert.equal(after, before, "what is refused leaves upstream alone");
  assert.equal(await t.repo.git(["rev-parse", "main"]), trunk);
  const refused = error.report as PromoteReport | undefined;
  assert.deepEqual(Object.keys(refused?.refused ?? {}), ["s"]);
  assert.deepEqual(refused?.conflicts, outcome === "conflict" ? { s: [store.conflict] } : {});
  assert.equal(outcome === "conflict" || outcome === "refuse", true);
}
