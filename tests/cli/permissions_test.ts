import assert from "node:assert/strict";
import { lab } from "./_tether.ts";

Deno.test("[commands 5.29, L38] the flags that permissions prints are enough for the core loop", async () => {
  await using l = await lab({ init: true });
  await l.ok(["add", "../code", "--kind", "git"]);
  await l.ok(["add", "../plate", "--kind", "file"]);
  const { stdout, stderr } = await l.tether(["permissions", "--access", "refs"]);
  assert.equal(stderr, "note: Deno's flags do not bind what the systems of code do themselves\n");
  const flags = stdout.trim().split(" ");
  assert.ok(flags.length > 1 && flags.every((f) => f.startsWith("--allow-")));
  const loop = [
    ["status", "--snapshot"],
    ["commit", "-m", "Baseline"],
    ["new", "-b", "x"],
    ["open", "code"],
    ["status", "--snapshot"],
    ["verify", "--all-history", "--deep"],
    ["diff", "main", "--content"],
    ["log", "code"],
    ["ops"],
    ["root"],
  ];
  for (const args of loop) await l.ok(args, { flags });
});

Deno.test("[commands 5.29, L38] an object outside the granted paths is refused by name before it is touched", async () => {
  await using l = await lab({ init: true });
  await l.ok(["add", "../code", "--kind", "git"]);
  await l.ok(["add", "../plate", "--kind", "file"]);
  const flags = (await l.ok(["permissions", "code", "--access", "refs"])).trim().split(" ");
  const { code, stdout, stderr } = await l.tether(["commit", "-m", "x"], { flags });
  assert.deepEqual([code, stdout], [1, ""]);
  assert.match(
    stderr,
    new RegExp(`^error: \\[plate\\] .*"${l.beside("plate")}" not granted\\nhint: .*--allow-read=${l.beside("plate")}`),
  );
  assert.match(await l.ok(["commit", "code", "-m", "x"], { flags }), /^ {2}pinned code -> /);
});

Deno.test("[L38] a library that was not granted the dataset says which flag grants it", async (t) => {
  await using l = await lab({ init: true });
  const script = `
    import { Dataset, SandboxError } from "${new URL("../../mod.ts", import.meta.url).href}";
    for (const call of [() => Dataset.open(${JSON.stringify(l.repo.path)}), () => Dataset.find(${
    JSON.stringify(l.repo.path)
  }), () => Dataset.init(${JSON.stringify(l.beside("new"))})]) {
      try {
        await call();
        console.log("granted");
      } catch (error) {
        console.log(error instanceof SandboxError, error.flags.length, error.hints[0]);
      }
    }`;
  await Deno.writeTextFile(l.beside("script.ts"), script);
  await t.step("nothing granted", async () => {
    const { stdout } = await new Deno.Command(Deno.execPath(), {
      args: ["run", "--quiet", "--no-prompt", "--no-check", "--config=deno.json", l.beside("script.ts")],
      cwd: new URL("../..", import.meta.url),
    }).output();
    const lines = new TextDecoder().decode(stdout).trim().split("\n");
    assert.equal(lines.length, 3);
    for (const line of lines) assert.match(line, /^true 1 Run it with '?--allow-/);
  });
});
