import assert from "node:assert/strict";
import { join } from "node:path";
import { inFlightPinIds } from "../../engine/files/journal.ts";
import { parseJson } from "../../engine/model/json.ts";
import { type Lab, lab } from "./_lab.ts";
import { actions, DIRECTIONS, ended, listOf, objectOf, OPTIONS, type Ran } from "./_peer.ts";

for (const [holder, waiter] of DIRECTIONS) {
  Deno.test(`[formats 20] [formats 17] ${waiter.name} waits for both locks of ${holder.name}`, OPTIONS, async () => {
    await using l = await lab(holder);
    const worktree = await l.repo.worktree("side");
    await waiter.ok(["new"], worktree);
    await waiter.ok(["set", "code", "--file", "versioned"], worktree);
    await holder.ok(["set", "code", "--file", "versioned"], l.root);
    await using gate = await Gate.make(l);

    // A commit that runs the user's hook holds the checkout's lock and the repository's.
    const held = ended(holder.spawn(["commit", "-m", "held"], l.root));
    await gate.reached(held);
    const contenders = await Promise.all([
      contend(join(l.root, ".tether", "lock"), () => waiter.spawn(["set", "code", "--pin", "record"], l.root)),
      contend(join(l.root, ".git", "tether.lock"), () => waiter.spawn(["commit", "-m", "waited"], worktree)),
    ]);
    // Ten times the interval at which both look again.
    await sleep(500);
    assert.deepEqual(contenders.map((c) => c.done), [false, false]);
    await gate.open();
    for (const result of [held, ...contenders.map((c) => c.result)]) {
      const { code, stderr } = await result;
      assert.equal(code, 0, stderr);
    }
    assert.equal((await l.manifests()).get("code")?.policy.pin, "record");
    assert.deepEqual(await l.repo.git(["log", "-1", "--format=%s", "side"]), "waited");
    for (const lock of contenders.map((c) => c.lock)) {
      assert.equal((await Deno.stat(lock)).size, 0, "a lock says nothing");
    }
  });

  Deno.test(`[formats 20] [L37] ${waiter.name} ends what a killed ${holder.name} began`, OPTIONS, async () => {
    await using l = await lab(holder);
    const [store] = l.stores.all;
    assert.ok(store);
    await holder.ok(["new", "-b", "exp", "--eager"], l.root);
    await l.stores.append(l.stores.all, 4, { code: `tether.ws.${l.id}.exp` });
    const before = await l.pinsIn(store);
    await using gate = await Gate.make(l);
    const child = holder.spawn(["commit", "-m", "killed"], l.root);
    const result = ended(child);
    await gate.reached(result);
    child.kill("SIGKILL");
    await result;
    await gate.refuse();

    const [pin, ...others] = (await l.pinsIn(store)).filter((id) => !before.includes(id));
    assert.ok(pin !== undefined && others.length === 0);
    assert.deepEqual([...inFlightPinIds(await l.journal.read())], [pin]);
    const [newest] = listOf(parseJson(await waiter.ok(["ops", "--json"], l.root)));
    assert.deepEqual([newest?.["command"], newest?.["status"]], ["commit", "started"]);
    // With the manifests as they were, nothing but the journal names the pin.
    await l.repo.git(["checkout", "--quiet", "HEAD", "--", "."]);
    assert.deepEqual(actions(await waiter.gc(l.root)), []);

    const commit = await waiter.json(["commit", "-m", "again"], l.root);
    assert.deepEqual(objectOf(commit["pinned"]), { code: `tether.${pin}` });
    assert.deepEqual((await l.journal.read()).at(-1)?.progress.filter((p) => p["action"] === "pin"), []);
    assert.deepEqual(await l.pinsIn(store), [...before, pin].sort());
    await holder.ok(["verify", "--deep", "--all-history"], l.root);
  });
}

/** The user's hook of a repository: it stands in the way of a commit until told how to end. */
class Gate implements AsyncDisposable {
  readonly #folder: string;

  private constructor(folder: string) {
    this.#folder = folder;
  }

  static async make(l: Lab): Promise<Gate> {
    const gate = new Gate(l.repo.outer);
    await Deno.writeTextFile(gate.#closed, "");
    const hook = join(l.root, ".git", "hooks", "pre-commit");
    await Deno.mkdir(join(hook, ".."), { recursive: true });
    // It is git's child; the loop ends by itself should the test die.
    await Deno.writeTextFile(
      hook,
      `#!/bin/sh
echo $PPID > '${gate.#folder}/at'; mv '${gate.#folder}/at' '${gate.#folder}/reached'
for i in $(seq 1200); do [ -e '${gate.#closed}' ] || break; sleep 0.05; done
[ ! -e '${gate.#folder}/refuse' ]
`,
    );
    await Deno.chmod(hook, 0o755);
    return gate;
  }

  get #closed(): string {
    return join(this.#folder, "closed");
  }

  /** Waits until a commit has come to the hook. */
  async reached(commit: Promise<Ran>): Promise<void> {
    let over: Ran | undefined;
    commit.then((ran) => over = ran);
    while (await this.#git() === undefined) {
      assert.equal(over, undefined, `it ended before: ${over?.stderr}`);
      await sleep(20);
    }
  }

  /** Returns the id of the git whose hook runs, or ran. */
  async #git(): Promise<string | undefined> {
    return await Deno.readTextFile(join(this.#folder, "reached")).then((id) => id.trim(), () => undefined);
  }

  /** Lets every commit pass. */
  async open(): Promise<void> {
    await Deno.remove(this.#closed);
  }

  /** Makes git give up the commit that came, waits for its end, and lets later ones pass. */
  async refuse(): Promise<void> {
    const refuse = join(this.#folder, "refuse");
    await Deno.writeTextFile(refuse, "");
    await this.open();
    while (await Deno.stat(`/proc/${await this.#git()}`).then(() => true, () => false)) await sleep(20);
    await Deno.remove(refuse);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.open().catch(() => {});
  }
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

interface Contender {
  readonly lock: string;
  readonly result: Promise<Ran>;
  done: boolean;
}

/** Starts a process and waits until it has met a lock: it keeps the file open, or closes it again to come back. */
async function contend(lock: string, start: () => Deno.ChildProcess): Promise<Contender> {
  using watcher = Deno.watchFs(lock);
  const child = start();
  const contender: Contender = { lock, result: ended(child), done: false };
  contender.result.then(() => contender.done = true);
  const closed = (async () => {
    for await (const event of watcher) if (event.kind === "access") return true;
    return false;
  })();
  while (!contender.done && !await hasOpen(child.pid, lock)) {
    if (await Promise.race([closed, sleep(20)])) break;
  }
  return contender;
}

/** Tells whether a process has a file open. */
async function hasOpen(pid: number, path: string): Promise<boolean> {
  try {
    for await (const entry of Deno.readDir(`/proc/${pid}/fd`)) {
      if (await Deno.readLink(`/proc/${pid}/fd/${entry.name}`) === path) return true;
    }
  } catch {
    // Descriptors, and processes, come and go while they are listed.
  }
  return false;
}
