import assert from "node:assert/strict";
import { lab } from "../cli/_tether.ts";
import { inProcess } from "./_cli.ts";

/** Keys that look dangerous to a shell, to git or to a disk, and that formats §5 allows. */
const ODD = [
  "[ab]",
  "x (1)",
  "-x",
  ":!y",
  "*",
  "a.",
  "x ",
  " x",
  "con",
  "COM1",
  "a./b",
  ".gitignore/x",
  "sub/.git",
  "'",
  '"',
  "$(x)",
  "é",
];
/** Those that cannot be committed, or that lead elsewhere. */
const REFUSED = [
  ".git/x",
  "a/.GIT/x",
  "git~1/x",
  ".jj/x",
  ".git /x",
  "../x",
  "a/../../x",
  "/x",
  "a//b",
  "a\\b",
  "c:x",
  "x.toml/y",
  "",
];

Deno.test("[L20, L41, formats 5] a key is refused at add or can be committed, cloned and read", async () => {
  await using l = await lab({ init: true });
  for (const key of REFUSED) {
    const { code, stdout, stderr } = await inProcess(l.repo.path, ["add", "--kind", "file", "--", key, "../plate"]);
    assert.deepEqual([code, stdout], [1, ""], `${key}: ${stderr}`);
    assert.match(stderr, /^error: Cannot use (".*" as a key: |an empty value)/, key);
  }
  for (const key of ODD) {
    const ran = await inProcess(l.repo.path, ["add", "--kind", "file", "--", key, "../plate"]);
    assert.equal(ran.code, 0, `${key}: ${ran.stderr}`);
    assert.match(ran.stderr, /^(con|COM1|a\.\/b|\*|:!y|")$/.test(key) ? /^warning: A checkout on Windows/ : /^$/, key);
  }
  await l.ok(["commit", "-m", "All of them"]);
  const clone = l.beside("clone");
  await l.repo.git(["clone", "--quiet", l.repo.path, clone]);
  const status = await inProcess(clone, ["status", "--json"]);
  const { objects } = JSON.parse(status.stdout) as { objects: Record<string, { state?: string }> | { key: string }[] };
  const keys = Array.isArray(objects) ? objects.map((o) => o.key) : Object.keys(objects);
  assert.deepEqual(new Set(keys), new Set(ODD));
  assert.equal(await l.repo.git(["status", "--porcelain", "--", ".tether/objects"]), "");
});
