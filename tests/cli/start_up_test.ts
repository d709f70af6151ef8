import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { runTether } from "./_tether.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

interface Graph {
  readonly modules: readonly {
    readonly specifier: string;
    readonly dependencies?: readonly {
      readonly isDynamic?: boolean;
      readonly code?: { readonly specifier?: string };
    }[];
  }[];
}

/** What a module and everything it imports eagerly load. */
async function eager(entry: string): Promise<string[]> {
  const { stdout } = await new Deno.Command(Deno.execPath(), { args: ["info", "--json", ROOT + entry] }).output();
  const { modules } = JSON.parse(new TextDecoder().decode(stdout)) as Graph;
  const loaded = new Set<string>();
  function visit(specifier: string): void {
    if (loaded.has(specifier)) return;
    loaded.add(specifier);
    for (const d of modules.find((m) => m.specifier === specifier)?.dependencies ?? []) {
      if (!d.isDynamic && d.code?.specifier !== undefined) visit(d.code.specifier);
    }
  }
  const start = modules.find((m) => m.specifier.endsWith(`/${entry}`))?.specifier;
  assert.ok(start);
  visit(start);
  return [...loaded].map((s) => s.startsWith("file:") ? fileURLToPath(s).slice(ROOT.length) : s).sort();
}

Deno.test("[style 13, architecture 6] --version and --help load nothing of the engine, and no parser", async () => {
  assert.deepEqual(await eager("main.ts"), ["cli/stream.ts", "engine/version.ts", "main.ts"]);
  assert.deepEqual(await eager("cli/overview.ts"), ["cli/commands.ts", "cli/overview.ts"]);
});

Deno.test("[L33] starting a command loads no other command, no driver and not the dataset", async () => {
  const loaded = await eager("cli/process.ts");
  for (const path of loaded) {
    assert.doesNotMatch(path, /^backends\/|^vcs\/|^engine\/(dataset|context|commands)/);
    assert.doesNotMatch(path, /^cli\/(commit|status|add|complete)\.ts$/);
  }
});

Deno.test("--version and the overview need no permission at all", async () => {
  const cwd = await Deno.makeTempDir();
  try {
    const version = await runTether(["--version"], { cwd, flags: [] });
    assert.deepEqual([version.code, version.stderr], [0, ""]);
    assert.match(version.stdout, /^tether \d+\.\d+\.\d+\n$/);
    for (const args of [["--help"], ["-h"]]) {
      const help = await runTether(args, { cwd, flags: [] });
      assert.deepEqual([help.code, help.stderr], [0, ""]);
      assert.match(help.stdout, /^Version control for datasets/);
    }
    const long = await runTether(["commit", "--help"], { cwd, flags: [] });
    assert.deepEqual([long.code, long.stderr], [0, ""]);
    assert.match(long.stdout, /^Usage: tether commit/);
  } finally {
    await Deno.remove(cwd);
  }
});
