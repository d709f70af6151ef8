import assert from "node:assert/strict";
import { lab } from "../cli/_tether.ts";
import { createLanceTable } from "../helpers/lance_data.ts";
import { inProcess, READING, WRITING } from "./_cli.ts";

Deno.test("[L33] without the Lance addon every command works, a table is versioned all the same, and how to get it is said", async (t) => {
  await using l = await lab({ init: true });
  await createLanceTable(l.beside("table.lance"));
  const empty = l.beside("empty");
  await Deno.mkdir(empty);
  // Where the addon is looked for; nothing lies beside the executable, which is Deno's own.
  const before = Deno.env.get("XDG_CACHE_HOME");
  Deno.env.set("XDG_CACHE_HOME", empty);
  try {
    const ok = async (...args: string[]) => {
      const ran = await inProcess(l.repo.path, args);
      assert.equal(ran.code, 0, `${args.join(" ")}: ${ran.stderr}`);
      return ran.stdout + ran.stderr;
    };
    await ok("add", "../code", "--kind", "git");
    await ok("add", "plate", "../plate", "--kind", "file");
    await ok("add", "table", "../table.lance", "--kind", "lance");
    assert.match(await ok("commit", "-m", "Baseline"), /pinned table -> /);
    await ok("new", "-b", "y");
    for (const args of READING) {
      await t.step(args.join(" "), async () => assert.doesNotMatch(await ok(...args), /error|addon/i));
    }
    for (
      const args of [["open", "table"], ["open", "table", "--read-only"], ["verify", "table", "--deep"], [
        "log",
        "table",
      ]]
    ) {
      await t.step(args.join(" "), async () => void await ok(...args));
    }
    for (const args of WRITING.filter(([name]) => !["undo", "abandon", "forget-workspace"].includes(name ?? ""))) {
      await t.step(args.join(" "), async () => {
        const { code, stderr } = await inProcess(l.repo.path, args);
        assert.ok(code === 0 || !/addon|native part/.test(stderr), stderr);
      });
    }
    const said = await ok("backends");
    assert.match(
      said,
      /^lance .*\(versioned here, and not opened by programs: @lancedb\/lancedb .* is not installed: /m,
    );
    assert.match(said, /npm install|deno run/);
  } finally {
    if (before === undefined) Deno.env.delete("XDG_CACHE_HOME");
    else Deno.env.set("XDG_CACHE_HOME", before);
  }
});
