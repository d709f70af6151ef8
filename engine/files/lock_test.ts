import assert from "node:assert/strict";
import { join } from "node:path";
import { LockError } from "../model/errors.ts";
import { inTempDir, plant, whileReadOnly } from "./_test_dirs.ts";
import { acquireLock } from "./lock.ts";

/** Holds the lock with Python's `fcntl.flock`, as the peer does, until `release`. */
async function holdInPython(path: string): Promise<{ pid: number; release: (signal?: Deno.Signal) => Promise<void> }> {
  const script = "import fcntl, sys\nf = open(sys.argv[1], 'a')\nfcntl.flock(f, fcntl.LOCK_EX)\n" +
    "sys.stdout.write('held\\n')\nsys.stdout.flush()\nsys.stdin.read()\n";
  const child = new Deno.Command("python3", { args: ["-c", script, path], stdin: "piped", stdout: "piped" }).spawn();
  const output = child.stdout.getReader();
  assert.equal(new TextDecoder().decode((await output.read()).value), "held\n");
  return {
    pid: child.pid,
    async release(signal) {
      if (signal) child.kill(signal);
      await child.stdin.close().catch(() => {});
      await output.cancel();
      await child.status;
    },
  };
}

/** Tells whether Python gets the lock at once. */
async function isFreeForPython(path: string): Promise<boolean> {
  const script = "import fcntl, sys\nfcntl.flock(open(sys.argv[1], 'a'), fcntl.LOCK_EX | fcntl.LOCK_NB)\n";
  const { success } = await new Deno.Command("python3", { args: ["-c", script, path], stderr: "null" }).output();
  return success;
}

function hintOf(folder: string): string {
  return join(folder, "cache", "lock.json");
}

function options(folder: string, timeoutMs = 0) {
  return { hintPath: hintOf(folder), command: "commit", timeoutMs };
}

Deno.test("[formats 17] the lock is flock: it excludes other processes and is excluded by them", async () => {
  await inTempDir(async (folder) => {
    const path = join(folder, "lock");
    {
      await using _lock = await acquireLock(path, options(folder));
      assert.equal(await isFreeForPython(path), false);
      assert.equal((await Deno.stat(path)).size, 0);
    }
    assert.equal(await isFreeForPython(path), true);
    const other = await holdInPython(path);
    await assert.rejects(acquireLock(path, options(folder)), { code: "locked" });
    const waiting = acquireLock(path, options(folder, 30_000));
    await other.release();
    await (await waiting)[Symbol.asyncDispose]();
  });
});

Deno.test("[L27] a killed holder holds nothing", async () => {
  await inTempDir(async (folder) => {
    const path = join(folder, "lock");
    const other = await holdInPython(path);
    await other.release("SIGKILL");
    await using _lock = await acquireLock(path, options(folder));
  });
});

Deno.test("[L27] the error names the holder, and never tells to delete the file", async (t) => {
  await inTempDir(async (folder) => {
    const path = join(folder, "lock");
    async function refusal(): Promise<LockError> {
      try {
        await using _lock = await acquireLock(path, { ...options(folder), command: "gc" });
      } catch (error) {
        assert.ok(error instanceof LockError);
        assert.doesNotMatch(error.message + error.hints.join(), /delete|remove|rm /i);
        assert.ok(error.message.startsWith(`Cannot lock "${path}" within 0 s: `), error.message);
        return error;
      }
      assert.fail("the lock was free");
    }
    await t.step("a tether of this kind: process, host, command, since when", async () => {
      await using _lock = await acquireLock(path, options(folder));
      const error = await refusal();
      assert.match(
        error.message,
        new RegExp(`process ${Deno.pid} on host ${Deno.hostname()} holds it, running "commit" since 2.*\\+00:00$`),
      );
      assert.equal((error.details["holder"] as { pid: number }).pid, Deno.pid);
    });
    await t.step("the hint goes with the lock", async () => {
      await assert.rejects(Deno.stat(hintOf(folder)), Deno.errors.NotFound);
    });
    const other = await holdInPython(path);
    const dead = new Deno.Command("true").spawn();
    await dead.status;
    const host = Deno.hostname();
    const hints: [string, string, RegExp][] = [
      ["no hint", "", /another tether holds it$/],
      ["half a hint", '{"pid": 1', /another tether/],
      ["a hint of something else", "[1]", /another tether/],
      ["a dead process", JSON.stringify({ pid: dead.pid, host, command: "x", since: "t" }), /another tether/],
      [
        "a live one",
        JSON.stringify({ pid: other.pid, host, command: "x", since: "t" }),
        RegExp(`process ${other.pid} `),
      ],
      ["another host", JSON.stringify({ pid: dead.pid, host: "far", command: "x", since: "t" }), /on host far/],
      [
        "control characters",
        JSON.stringify({ pid: other.pid, host: "far", command: "\u001b[2J", since: 1 }),
        /"\?\[2J" since 1/,
      ],
    ];
    for (const [name, hint, message] of hints) {
      await t.step(name, async () => {
        await plant(folder, { "cache/lock.json": hint });
        assert.match((await refusal()).message, message);
      });
    }
    await other.release();
  });
});

Deno.test("[formats 17] tasks of one process exclude each other, and each gets its turn", async () => {
  await inTempDir(async (folder) => {
    const path = join(folder, "lock");
    let inside = 0;
    let most = 0;
    await Promise.all(Array.from({ length: 5 }, async () => {
      await using _lock = await acquireLock(path, options(folder, 60_000));
      most = Math.max(most, ++inside);
      await new Promise((resolve) => setTimeout(resolve, 5));
      inside--;
    }));
    assert.equal(most, 1);
  });
});

Deno.test("[formats 17] a lock file that is replaced between opening and locking is not mistaken for the lock", async () => {
  await inTempDir(async (folder) => {
    const path = join(folder, "lock");
    const open = Deno.open;
    let replaced = false;
    Deno.open = async (file, how) => {
      const opened = await open(file, how);
      if (file === path && !replaced) {
        replaced = true;
        await Deno.rename(path, path + ".old");
      }
      return opened;
    };
    try {
      await using _lock = await acquireLock(path, options(folder));
      assert.ok(replaced);
      assert.equal(await isFreeForPython(path), false);
      assert.equal(await isFreeForPython(path + ".old"), true);
    } finally {
      Deno.open = open;
    }
  });
});

Deno.test("acquireLock() tells once that it waits, and stops waiting when told", async () => {
  await inTempDir(async (folder) => {
    const path = join(folder, "lock");
    await using _lock = await acquireLock(path, options(folder));
    const told: string[] = [];
    const stop = new AbortController();
    const waiting = acquireLock(path, {
      ...options(folder, 60_000),
      signal: stop.signal,
      onWait: (holder) => {
        told.push(holder);
        setTimeout(() => stop.abort(new Error("stopped")), 150);
      },
    });
    await assert.rejects(waiting, /stopped/);
    assert.equal(told.length, 1);
    assert.match(told[0] ?? "", /running "commit"/);
  });
});

Deno.test("[L26] [L27] no lock to be had is told apart from a busy one", async (t) => {
  await inTempDir(async (folder) => {
    const path = join(folder, "ds", "lock");
    await t.step("a tree that cannot be written", async () => {
      await plant(folder, { "ds/x": "" });
      await whileReadOnly(
        join(folder, "ds"),
        () => assert.rejects(acquireLock(path, options(folder)), { code: "read-only" }),
      );
    });
    await t.step("a file system without locks", async () => {
      const tryLock = Deno.FsFile.prototype.tryLock;
      Deno.FsFile.prototype.tryLock = () => Promise.reject(new Error("No locks available (os error 37)"));
      try {
        await assert.rejects(acquireLock(path, options(folder)), (error) => {
          assert.ok(error instanceof LockError);
          assert.equal(error.code, "no-locks");
          assert.match(error.message, /this file system has no locks: no locks available/);
          return true;
        });
      } finally {
        Deno.FsFile.prototype.tryLock = tryLock;
      }
    });
    await t.step("a hint that cannot be written costs nothing", async () => {
      await Deno.symlink("/nowhere", join(folder, "cache"));
      await using _lock = await acquireLock(path, options(folder));
    });
  });
});

Deno.test("[formats 17] where the runtime can only wait for a lock, it excludes and is excluded just the same", async () => {
  const tryLock = Deno.FsFile.prototype.tryLock;
  // As in Deno 2.6.
  Object.defineProperty(Deno.FsFile.prototype, "tryLock", { value: undefined, configurable: true, writable: true });
  try {
    await inTempDir(async (folder) => {
      const path = join(folder, "lock");
      {
        await using _lock = await acquireLock(path, options(folder));
        assert.equal(await isFreeForPython(path), false);
      }
      assert.equal(await isFreeForPython(path), true);
      const other = await holdInPython(path);
      await assert.rejects(acquireLock(path, options(folder)), { code: "locked" });
      await assert.rejects(acquireLock(path, options(folder, 200)), { code: "locked" });
      const stop = new AbortController();
      const stopped = acquireLock(path, { ...options(folder, 30_000), signal: stop.signal });
      stop.abort(new Error("enough"));
      await assert.rejects(stopped, /enough/);
      const waiting = acquireLock(path, options(folder, 30_000));
      await other.release();
      await (await waiting)[Symbol.asyncDispose]();
      // Locks that came too late went with their files.
      assert.equal(await isFreeForPython(path), true);
    });
  } finally {
    Deno.FsFile.prototype.tryLock = tryLock;
  }
});
