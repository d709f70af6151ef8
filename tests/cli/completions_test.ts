import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { type Lab, lab } from "./_tether.ts";

const MAIN = fileURLToPath(new URL("../../main.ts", import.meta.url));

/** What bash would offer for a line that ends in `words`, with the script that the program prints. */
async function bash(l: Lab, words: readonly string[]): Promise<string[]> {
  const script = `
    tether() { "$DENO" run --quiet --no-prompt -A "$MAIN" "$@"; }
    source <(tether completions bash)
    COMP_WORDS=(tether "$@"); COMP_CWORD=$#
    _tether
    printf '%s\\n' "\${COMPREPLY[@]}"
  `;
  const { stdout, stderr } = await new Deno.Command("bash", {
    args: ["-c", script, "bash", ...words],
    cwd: l.repo.path,
    env: { DENO: Deno.execPath(), MAIN },
  }).output();
  assert.equal(new TextDecoder().decode(stderr), "");
  return new TextDecoder().decode(stdout).split("\n").filter((w) => w !== "");
}

Deno.test("[commands 1.1] bash completes commands, options, keys and bookmarks, and contacts no store", async () => {
  await using l = await lab({ init: true });
  await l.ok(["add", "zarr/img", "../code", "--kind", "git"]);
  await l.ok(["add", "with space", "../plate", "--kind", "file"]);
  await l.ok(["commit", "-m", "x"]);
  await l.ok(["new", "-b", "relabel"]);
  // A store that is gone makes no difference.
  await Deno.remove(l.beside("code"), { recursive: true });
  assert.deepEqual(await bash(l, ["sn"]), ["snapshot"]);
  assert.deepEqual(await bash(l, ["open", "z"]), ["zarr/img"]);
  assert.deepEqual(await bash(l, ["open", "w"]), ["with\\ space"]);
  assert.deepEqual(await bash(l, ["open", "with\\ s"]), ["with\\ space"]);
  assert.deepEqual(await bash(l, ["new", ""]), ["main", "relabel"]);
  assert.deepEqual(await bash(l, ["verify", "--rev", "re"]), ["relabel"]);
  assert.deepEqual(await bash(l, ["add", "--kind", "gi"]), ["git"]);
  assert.deepEqual(await bash(l, ["set", "--pin", "=", "re"]), ["record"]);
});

Deno.test("[style 6] completion is silent outside a dataset and after nonsense", async () => {
  await using l = await lab();
  for (const words of [["open", ""], ["nonsense", ""], ["--", ""], []]) {
    const { code, stderr } = await l.tether(["__complete", "--", ...words]);
    assert.deepEqual([code, stderr], [0, ""], words.join(" "));
  }
  assert.equal((await l.tether(["__complete", "--", "new", ""])).stdout, "");
});
