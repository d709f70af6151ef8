import assert from "node:assert/strict";
import { assertUnchanged, everything } from "../helpers/evidence.ts";
import { type Lab, lab } from "../cli/_tether.ts";
import { ELSEWHERE, inProcess, READING, WRITING } from "./_cli.ts";

/** A dataset on bookmark `y` with the objects `code`, `plate` and `other`, which can be put back as it was. */
async function ready(): Promise<Lab & { rewind(): Promise<void> }> {
  const l = await lab({ init: true });
  const run = async (...args: string[]) => assert.equal((await inProcess(l.repo.path, args)).code, 0);
  await run("add", "../code", "--kind", "git");
  await run("add", "plate", "../plate", "--kind", "file");
  await run("add", "other", "../plate/a.txt", "--kind", "file");
  await run("commit", "-m", "Baseline");
  await run("new", "-b", "y");
  const copy = (from: string, to: string) => new Deno.Command("cp", { args: ["-a", from, to] }).output();
  await copy(l.repo.path, l.beside("kept"));
  return Object.assign(l, {
    async rewind() {
      for (const name of ["away", "other.toml"]) await Deno.remove(l.beside(name), { recursive: true }).catch(() => {});
      await Deno.remove(l.repo.path, { recursive: true });
      await copy(l.beside("kept"), l.repo.path);
    },
  });
}

/** Runs a command that must refuse with a sentence and a way out, and change nothing. */
async function refuses(l: Lab, args: readonly string[], message: RegExp): Promise<void> {
  const { code, stdout, stderr } = await inProcess(l.repo.path, args);
  assert.deepEqual([code, stdout], [1, ""], `${args.join(" ")}: ${stderr}`);
  assert.match(stderr, /^error: Cannot [^\n]*[^.\n]\n( {2}[^\n]*\n)*(hint: [^\n]+\n)+$/, args.join(" "));
  assert.match(stderr, message, args.join(" "));
}

type Breakage = (root: string) => Promise<unknown>;

const write = (path: string, text: string | Uint8Array): Breakage => (root) =>
  typeof text === "string" ? Deno.writeTextFile(`${root}/${path}`, text) : Deno.writeFile(`${root}/${path}`, text);

const conflict = (path: string): Breakage => async (root) => {
  const text = await Deno.readTextFile(`${root}/${path}`);
  await Deno.writeTextFile(`${root}/${path}`, `<<<<<<< HEAD\n${text}=======\n${text}>>>>>>> other\n`);
};

const folderAt = (path: string): Breakage => async (root) => {
  await Deno.remove(`${root}/${path}`, { recursive: true });
  await Deno.mkdir(`${root}/${path}`);
};

const edit = (path: string, from: RegExp, to: string): Breakage => async (root) => {
  const text = await Deno.readTextFile(`${root}/${path}`);
  assert.match(text, from);
  await Deno.writeTextFile(`${root}/${path}`, text.replace(from, to));
};

const NOT_UTF8 = new Uint8Array([0x23, 0xff, 0xfe, 0x0a]);
const HUGE = `# ${"x".repeat(5 * 1024 * 1024)}\n`;

/** What makes a whole dataset unusable, and what the refusal says. */
const FATAL: Readonly<Record<string, readonly [Breakage, RegExp]>> = {
  "tether.toml is malformed": [write("tether.toml", "[tether\n"), /"tether\.toml": line 1, column \d+: /],
  "tether.toml is conflicted": [conflict("tether.toml"), /"tether\.toml": it holds conflict markers/],
  "tether.toml is too large": [write("tether.toml", HUGE), /"tether\.toml": it is larger than \d+ /],
  "tether.toml is not UTF-8": [write("tether.toml", NOT_UTF8), /"tether\.toml": it is not UTF-8/],
  "tether.toml is of the future": [edit("tether.toml", /version = 5/, "version = 6"), /version 6.*\nhint: .*newer/],
  "tether.toml names a program": [
    edit("tether.toml", /\[verify\]/, '[vcs]\ngit_path = "/bin/false"\n\n[verify]'),
    /git_path.*\nhint: .*secrets\.toml/,
  ],
  "workspace.toml is malformed": [write(".tether/workspace.toml", "a ="), /workspace\.toml": line 1.*\nhint: Move it/],
  "workspace.toml has a wrong value": [
    write(".tether/workspace.toml", "bookmark = 5\n"),
    /workspace\.toml": bookmark: /,
  ],
  "workspace.toml is a folder": [folderAt(".tether/workspace.toml"), /workspace\.toml": it is not a file/],
  "secrets.toml is malformed": [write(".tether/secrets.toml", "a ="), /secrets\.toml": line 1/],
  ".tether/objects is a file": [
    async (root) => {
      await Deno.remove(`${root}/.tether/objects`, { recursive: true });
      await Deno.writeTextFile(`${root}/.tether/objects`, "");
    },
    /Cannot list "\.tether\/objects"/,
  ],
  ".tether is a link": [
    async (root) => {
      await Deno.rename(`${root}/.tether`, `${root}/moved`);
      await Deno.symlink("moved", `${root}/.tether`);
    },
    /\.tether" is a symbolic link/,
  ],
  "HEAD is garbage": [write(".git/HEAD", "garbage\n"), /Cannot use the git repository at .*: not a git repository/],
  "the repository of a linked checkout is away": [
    async (root) => {
      await Deno.rename(`${root}/.git`, `${root}/../away`);
      await Deno.writeTextFile(`${root}/.git`, "gitdir: /nowhere\n");
    },
    /not a git repository: \/nowhere\nhint: git status\nhint: git worktree repair/,
  ],
  "there is no version control": [
    (root) => Deno.rename(`${root}/.git`, `${root}/../away`),
    /Cannot find a git or jj repository at or above .*\nhint: git init\n/,
  ],
  "a commit is corrupt": [
    async (root) => {
      const head = (await Deno.readTextFile(`${root}/.git/refs/heads/y`)).trim();
      const path = `${root}/.git/objects/${head.slice(0, 2)}/${head.slice(2)}`;
      await Deno.chmod(path, 0o644);
      await Deno.writeTextFile(path, "garbage");
    },
    /\nhint: git fsck/,
  ],
};

/** Commands that read it, change it, and go on from it: enough where all fail at the same place. */
const SOME: readonly (readonly string[])[] = [
  ["status"],
  ["verify", "--all-history"],
  ["diff"],
  ["commit", "-m", "x"],
  ["new", "main"],
  ["gc", "--no-dry-run"],
];

Deno.test("[L42, Δ17, commands 6] a dataset that cannot be opened is refused by every command, with a way out and nothing changed", async (t) => {
  await using l = await ready();
  for (const [what, [breakIt, message]] of Object.entries(FATAL)) {
    await t.step(what, async () => {
      await l.rewind();
      await breakIt(l.repo.path);
      const before = await everything(l.repo.path);
      const all = what === "tether.toml is malformed" || what === "there is no version control";
      for (const args of all ? [...READING, ...WRITING] : SOME) await refuses(l, args, message);
      for (const args of ELSEWHERE) {
        const { stderr } = await inProcess(l.repo.path, args);
        assert.doesNotMatch(stderr, /Unexpected failure/);
      }
      await assertUnchanged(l.repo.path, before, what);
    });
  }
});

Deno.test("[commands 1.1] outside a dataset every command says so, and names init", async () => {
  await using l = await lab();
  for (const args of [...READING, ...WRITING, ["root"]]) {
    await refuses(l, args, /^error: Cannot find a dataset: no tether\.toml at or above ".*"\nhint: tether init\n$/);
  }
});

const MANIFEST = ".tether/objects/other.toml";

/** What makes one manifest unusable. */
const PARTIAL: Readonly<Record<string, readonly [Breakage, RegExp]>> = {
  malformed: [write(MANIFEST, "x = =\n"), /line 1, column 5/],
  conflicted: [conflict(MANIFEST), /it holds conflict markers/],
  "too large": [write(MANIFEST, HUGE), /it is larger than/],
  "not UTF-8": [write(MANIFEST, NOT_UTF8), /it is not UTF-8/],
  "without a key": [write(MANIFEST, 'kind = "file"\n'), /key: it is missing/],
  "of a key that traverses": [edit(MANIFEST, /key = "other"/, 'key = "../../x"'), /other\.toml": key: it is no key/],
  "a dangling link": [
    async (root) => {
      await Deno.remove(`${root}/${MANIFEST}`);
      await Deno.symlink("/nowhere", `${root}/${MANIFEST}`);
    },
    /it is a symbolic link/,
  ],
  "a link out of the dataset": [
    async (root) => {
      await Deno.rename(`${root}/${MANIFEST}`, `${root}/../other.toml`);
      await Deno.symlink(`${root}/../other.toml`, `${root}/${MANIFEST}`);
    },
    /it is a symbolic link/,
  ],
  "a state that lacks a field": [edit(MANIFEST, /\nsha256 = .*/, ""), /other\.toml": state\.sha256: it is missing/],
  "a state of another type": [
    edit(MANIFEST, /\nsize = \d+/, '\nsize = "big"'),
    /state\.size: it is not a whole number/,
  ],
  "a state of another kind": [
    edit(MANIFEST, /(\[state\]\n)([^[\n]+\n)+/, '$1snapshot_id = "1CECHNKREP0F1RSTCMT0"\n'),
    /state\.type: it is none of "file", "dir", /,
  ],
  "the key of another": [edit(MANIFEST, /key = "other"/, 'key = "plate"'), /same key "plate"/],
};

Deno.test("[formats 19.2, L40] one manifest that cannot be used stops its own object and what needs all of them, and nothing else", async (t) => {
  await using l = await ready();
  for (const [what, [breakIt, message]] of Object.entries(PARTIAL)) {
    await t.step(what, async () => {
      await l.rewind();
      const root = l.repo.path;
      await breakIt(root);
      const before = await everything(root);
      const status = await inProcess(root, ["status", "--json"]);
      assert.equal(status.code, 1);
      const { objects } = JSON.parse(status.stdout) as {
        objects: { key: string; state: string; error: string | null }[];
      };
      const bad = objects.filter((o) => o.error !== null);
      // Nobody can tell which of two manifests with one key is meant.
      const stopped = what === "the key of another" ? ["other", "plate"] : ["other"];
      assert.deepEqual(bad.map((o) => o.key), stopped);
      for (const { error } of bad) assert.match(error ?? "", message);
      assert.match((await inProcess(root, ["status"])).stderr, /\nhint: /);
      assert.equal((await inProcess(root, ["verify"])).code, 1);
      const compared = await inProcess(root, ["diff", "--json"]);
      const diff = JSON.parse(compared.stdout) as { key: string; change: string }[];
      const differing = diff.filter((e) => e.change !== "unchanged").map((e) => [e.key, e.change]);
      assert.deepEqual(
        [compared.code, differing],
        [1, stopped.map((key) => [key, "unknown"])],
        "neither removed nor the same",
      );
      for (
        const args of [["verify", "code"], ["open", "code", "--read-only"], ["log", "code"], ["status", "code"], ["gc"]]
      ) {
        assert.equal((await inProcess(root, args)).code, 0, args.join(" "));
      }
      for (
        const args of [["commit", "-m", "x"], ["new", "-b", "z"], ["snapshot"], ["set", "--all", "--pin", "record"]]
      ) {
        await refuses(l, args, message);
      }
      await assertUnchanged(root, before, what);
      for (
        const args of [["set", "code", "--pin", "record"], ["commit", "code", "-m", "Others work"], [
          "snapshot",
          "code",
        ]]
      ) {
        assert.equal((await inProcess(root, args)).code, 0, args.join(" "));
      }
    });
  }
});

Deno.test("[formats 19.2] a manifest that cannot be used is taken out like any other, and a link with it", async () => {
  await using l = await ready();
  for (const what of ["malformed", "conflicted", "a dangling link"]) {
    await l.rewind();
    await PARTIAL[what]?.[0](l.repo.path);
    assert.equal((await inProcess(l.repo.path, ["remove", "other"])).stdout, "removed other\n");
    await assert.rejects(Deno.lstat(`${l.repo.path}/${MANIFEST}`), Deno.errors.NotFound);
    assert.match((await inProcess(l.repo.path, ["commit", "-m", "Without"])).stdout, /^ {2}removed other\ncommitted /);
  }
});

Deno.test("[formats 4] a misspelt key of tether.toml is named by every command, beside its result", async (test) => {
  await using l = await lab({ init: true });
  const config = `${l.repo.path}/tether.toml`;
  await Deno.writeTextFile(config, '\n[vcs]\ntrunkk = "develop"\n', { append: true });
  for (const line of ["status", "status --json", "ops --json", "diff --json", "gc --json", "verify", "permissions"]) {
    await test.step(line, async () => {
      const { code, stdout, stderr } = await inProcess(l.repo.path, line.split(" "));
      assert.equal(code, 0, stderr);
      assert.equal(
        stderr.split("\n")[0],
        'warning: Ignores "vcs.trunkk" in "tether.toml": there is no such key; did you mean "vcs.trunk"?',
      );
      if (line.endsWith("--json")) JSON.parse(stdout);
    });
  }
  assert.match(await Deno.readTextFile(config), /trunkk/);
});
