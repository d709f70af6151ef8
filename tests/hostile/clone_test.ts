import assert from "node:assert/strict";
import { type Lab, lab } from "../cli/_tether.ts";
import { assertUnchanged, everything } from "../helpers/evidence.ts";
import { ELSEWHERE, inProcess, READING, WRITING } from "./_cli.ts";

/** A folder that no clone names as a store, and that nothing may write. */
const PRECIOUS = "precious";

/** A clone of a dataset with the objects `code` and `plate`, with what an attacker committed to it upstream. */
async function hostile(l: Lab, plant: (root: string, precious: string) => Promise<void>): Promise<string> {
  const upstream = l.beside("upstream");
  const clone = l.beside("clone");
  for (const folder of [upstream, clone, l.beside(PRECIOUS)]) {
    await Deno.remove(folder, { recursive: true }).catch(() => {});
  }
  await Deno.mkdir(l.beside(`${PRECIOUS}/folder`), { recursive: true });
  const foreign = await Deno.readTextFile(`${l.repo.path}/.tether/objects/plate.toml`);
  await Deno.writeTextFile(l.beside(`${PRECIOUS}/foreign.toml`), foreign.replace('key = "plate"', 'key = "foreign"'));
  await Deno.writeTextFile(
    l.beside(`${PRECIOUS}/folder/inner.toml`),
    foreign.replace('key = "plate"', 'key = "inner"'),
  );
  await Deno.writeTextFile(l.beside(`${PRECIOUS}/.old.toml.1a2b3c4d.tmp`), "old");
  await Deno.utime(l.beside(`${PRECIOUS}/.old.toml.1a2b3c4d.tmp`), 1, 1);
  await l.repo.git(["clone", "--quiet", l.repo.path, upstream]);
  await plant(upstream, l.beside(PRECIOUS));
  await l.repo.git(["add", "--all", "--force", "."], { cwd: upstream });
  await l.repo.git(["commit", "--quiet", "-m", "Gift"], { cwd: upstream });
  await l.repo.git(["clone", "--quiet", upstream, clone]);
  return clone;
}

/** Runs every command in a clone, one after the other, and returns the first line of each that failed. */
async function everyCommand(l: Lab, clone: string): Promise<ReadonlyMap<string, string>> {
  const failed = new Map<string, string>();
  for (const args of [["new", "-b", "y"], ...READING, ...WRITING, ...ELSEWHERE]) {
    const before = await everything(l.beside(PRECIOUS));
    const { code, stdout, stderr } = await inProcess(clone, args);
    const line = args.join(" ");
    await assertUnchanged(l.beside(PRECIOUS), before, `${line} wrote outside`);
    assert.match(String(code), /^[013]$/, `${line}: ${stderr}`);
    assert.equal((stdout + stderr).match(/.*(Unexpected failure|foreign|"inner"| inner ).*/)?.[0], undefined, line);
    if (code === 1) failed.set(line, stderr);
  }
  return failed;
}

async function ready(): Promise<Lab> {
  const l = await lab({ init: true });
  await l.ok(["add", "../code", "--kind", "git"]);
  await l.ok(["add", "plate", "../plate", "--kind", "file"]);
  await l.ok(["commit", "-m", "Baseline"]);
  return l;
}

const link = (path: string, target: string) => async (root: string, precious: string): Promise<void> => {
  await Deno.remove(`${root}/${path}`, { recursive: true }).catch(() => {});
  await Deno.symlink(`${precious}/${target}`, `${root}/${path}`);
};

const file = (path: string, text: string) => async (root: string): Promise<void> => {
  await Deno.mkdir(`${root}/${path}`.replace(/\/[^/]*$/, ""), { recursive: true });
  await Deno.writeTextFile(`${root}/${path}`, text);
};

/** What makes a clone unusable, and what every command says then. */
const FATAL: Readonly<Record<string, readonly [(root: string, precious: string) => Promise<void>, RegExp]>> = {
  "a linked .tether": [link(".tether", "folder"), /\.tether" is a symbolic link/],
  "linked manifests": [link(".tether/objects", "folder"), /objects" is a symbolic link/],
  "linked listings": [link(".tether/listings", "folder"), /listings" is a symbolic link/],
  "a linked lock": [link(".tether/lock", "lock"), /lock" is a symbolic link/],
  "a linked journal": [link(".tether/ops.jsonl", "ops"), /ops\.jsonl" is a symbolic link/],
  "a linked working state": [link(".tether/workspace.toml", "workspace"), /workspace\.toml" is a symbolic link/],
  "linked secrets": [link(".tether/secrets.toml", "foreign.toml"), /git tracks ".tether\/secrets\.toml"/],
  "a linked tether.toml": [link("tether.toml", "foreign.toml"), /tether\.toml" is a symbolic link/],
  "a journal": [file(".tether/ops.jsonl", '{"id":"x"}\n'), /git tracks ".tether\/ops\.jsonl"/],
  "a working state": [file(".tether/workspace.toml", 'bookmark = "main"\n'), /git tracks ".tether\/workspace\.toml"/],
  "secrets": [file(".tether/secrets.toml", '[vcs]\ngit_path = "/bin/false"\n'), /git tracks ".tether\/secrets\.toml"/],
  "a program in the settings": [
    async (root) => {
      const path = `${root}/tether.toml`;
      await Deno.writeTextFile(path, (await Deno.readTextFile(path)) + '\n[vcs]\ngit_path = "./evil"\n');
    },
    /git_path/,
  ],
  "deep settings": [file("tether.toml", `a = ${"[".repeat(200_000)}`), /"tether\.toml": /],
  "settings of a long dotted key": [file("tether.toml", `${"a.".repeat(5_000)}a = 1\n`), /"tether\.toml": /],
};

Deno.test("[L40] a clone whose own folders, files or settings are not its own is refused by every command", async (t) => {
  await using l = await ready();
  for (const [name, [plant, message]] of Object.entries(FATAL)) {
    await t.step(name, async () => {
      const clone = await hostile(l, plant);
      const before = await everything(clone);
      const failed = await everyCommand(l, clone);
      await assertUnchanged(clone, before, "a refused clone was written");
      for (const args of [...READING, ...WRITING]) {
        const said = failed.get(args.join(" "));
        assert.match(said ?? "", message, args.join(" "));
        assert.match(said ?? "", /^error: Cannot [^\n]*\n( {2}[^\n]*\n)*(hint: [^\n]+\n)+$/, args.join(" "));
      }
    });
  }
});

/** Plants a manifest of its own. */
const manifest = (path: string, key: string, locator: string, kind = "file") =>
  file(`.tether/objects/${path}.toml`, `key = ${JSON.stringify(key)}\nkind = "${kind}"\n\n[locator]\n${locator}\n`);

/** What breaks one object at most. */
const PLANTED: readonly ((root: string, precious: string) => Promise<void>)[] = [
  link(".tether/cache", "folder"),
  link(".tether/objects/linked.toml", "foreign.toml"),
  link(".tether/objects/folder", "folder"),
  manifest("up", "../../../precious/up", 'uri = "/nowhere"'),
  manifest("absolute", "/etc/passwd", 'uri = "/nowhere"'),
  manifest("unknown", "unknown", 'uri = "/nowhere"', "no-such-kind"),
  manifest("proto", "__proto__", 'uri = "/nowhere"'),
  manifest("constructor", "constructor", 'uri = "/nowhere"'),
  manifest("relative", "relative", 'uri = "../precious"'),
  manifest("option", "option", 'path = "--upload-pack=touch executed"', "git"),
  manifest("remote", "remote", 'path = "/nowhere"\nremote = "ext::sh -c touch% executed"', "git"),
  file(".tether/objects/deep.toml", `key = "deep"\nkind = "file"\nx = ${"[".repeat(200_000)}`),
  file(".tether/objects/dotted.toml", `key = "dotted"\nkind = "file"\n${"a.".repeat(5_000)}a = 1\n`),
  file(".tether/objects/huge.toml", `# ${"x".repeat(5 * 1024 * 1024)}\n`),
  file(".gitattributes", "* filter=evil diff=evil merge=evil\n"),
  file(".tether/objects/.git-hooks/pre-commit", "#!/bin/sh\ntouch executed\n"),
  // A bare repository in the tree: git would take its settings for ours.
  file("bare/HEAD", "ref: refs/heads/main\n"),
  file("bare/config", '[core]\nrepositoryformatversion = 0\nbare = true\nfsmonitor = "touch executed;"\n'),
  file("bare/objects/info/packs", ""),
  file("bare/refs/heads/x", ""),
  (root) => manifest("bare", "bare", `path = "${root.replace(/upstream$/, "clone")}/bare"`, "git")(root),
  (root) => manifest("own", "own", `uri = "${root.replace(/upstream$/, "clone")}/.tether"`)(root),
];

Deno.test("[L40, L33] what a clone plants for single objects disables those alone, writes nothing outside and starts nothing", async () => {
  await using l = await ready();
  const clone = await hostile(l, async (root, precious) => {
    for (const plant of PLANTED) await plant(root, precious);
  });
  const failed = await everyCommand(l, clone);
  const found = await new Deno.Command("find", { args: [l.repo.outer, "-name", "executed*"] }).output();
  assert.equal(new TextDecoder().decode(found.stdout), "");
  // The objects of the honest author work, and each of the others is named.
  for (const line of ["open plate", "log code", "open code --read-only"]) {
    assert.equal(failed.get(line), undefined, line);
  }
  const status = await inProcess(clone, ["status"]);
  for (const name of ["up", "absolute", "deep", "dotted", "huge"]) {
    assert.match(status.stdout + status.stderr, new RegExp(`objects/${name}\\.toml`), name);
  }
});

Deno.test("[L40] a cache that a clone brings is never read", async () => {
  await using l = await ready();
  // The cache of an honest checkout, with another digest in it, committed by an attacker.
  await l.ok(["status", "--snapshot"]);
  const clone = await hostile(l, async (root) => {
    await new Deno.Command("cp", { args: ["-r", `${l.repo.path}/.tether/cache`, `${root}/.tether/cache`] }).output();
    await Deno.writeTextFile(`${root}/.tether/cache/git-version.json`, "{");
  });
  // An honest checkout does read its own, or this would show nothing.
  const own = await readsDuring(() => inProcess(l.repo.path, ["status", "--snapshot"]));
  assert.ok(
    own.some((path) => path.startsWith(`${l.repo.path}/.tether/cache/`) && path.includes("file-hashes")),
    own.join("\n"),
  );
  const reads = await readsDuring(() => inProcess(clone, ["status", "--snapshot"]));
  const tracked = (await l.repo.git(["ls-files", ".tether/cache"], { cwd: clone })).split("\n").map((p) =>
    `${clone}/${p}`
  );
  assert.ok(tracked.length > 0);
  assert.deepEqual(reads.filter((path) => tracked.includes(path)), []);
});

/** Returns the paths of all files that are read while something runs. */
async function readsDuring(run: () => Promise<{ readonly code: number }>): Promise<string[]> {
  const reads: string[] = [];
  const restore = watchReads((path) => reads.push(path));
  try {
    assert.equal((await run()).code, 0);
  } finally {
    restore();
  }
  return reads;
}

/** Reports the path of every file that is opened from now on; the returned function ends that. */
function watchReads(report: (path: string) => void): () => void {
  const original = {
    readFile: Deno.readFile,
    readTextFile: Deno.readTextFile,
    open: Deno.open,
    openSync: Deno.openSync,
  };
  const watched = Object.entries(original).map(([name, fn]) => [name, (...args: unknown[]) => {
    report(String(args[0]));
    return (fn as (...args: unknown[]) => unknown)(...args);
  }]);
  Object.assign(Deno, Object.fromEntries(watched));
  return () => void Object.assign(Deno, original);
}
