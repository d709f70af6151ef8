import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("..", import.meta.url));

/** Which folders a folder may import, besides itself. The first entry that a path lies in counts. */
const MAY: readonly (readonly [string, readonly string[]])[] = [
  ["main.ts", ["cli/", "engine/version.ts"]],
  ["mod.ts", ["engine/", "backends/backend.ts", "backends/catalog.ts", "vcs/adapter.ts", "vcs/detect.ts"]],
  ["cli/", ["engine/", "backends/backend.ts", "backends/catalog.ts", "vcs/adapter.ts", "vcs/detect.ts"]],
  ["engine/model/", []],
  ["engine/io/", ["engine/model/"]],
  ["engine/", ["engine/", "backends/backend.ts", "backends/catalog.ts", "vcs/adapter.ts", "vcs/detect.ts"]],
  ["backends/conformance/", ["engine/", "backends/"]],
  ["backends/backend.ts", ["engine/model/", "engine/io/", "backends/_"]],
  // Parts of the contract: its face, backend.ts, re-exports them.
  ["backends/_", ["engine/model/"]],
  ["backends/native.ts", ["engine/model/", "engine/io/"]],
  ["backends/storage/", ["engine/model/", "engine/io/", "backends/backend.ts"]],
  // The catalogue reaches kinds by import() of their statics only; the exceptions below see to that.
  ["backends/catalog.ts", ["engine/model/", "backends/"]],
  ["vcs/", ["engine/model/", "engine/io/"]],
];
const KIND = ["engine/model/", "engine/io/", "backends/backend.ts", "backends/native.ts", "backends/storage/"];

interface Edge {
  readonly from: string;
  readonly to: string;
  readonly dynamic: boolean;
}

const edges = await importGraph();

Deno.test("[architecture] imports go in one direction only", () => {
  const forbidden = edges.filter((e) => !allowed(e)).map((e) => `${e.from} -> ${e.to}`);
  assert.deepEqual(forbidden, []);
});

Deno.test("[architecture, L33] kinds and the engine behind the command line are reached by import() only", () => {
  const eager = edges.filter((e) => !e.dynamic);
  const driver = (path: string): boolean =>
    /^backends\/[a-z]+\//.test(path) && !/^backends\/(conformance|storage)\//.test(path);
  const wrong = eager.filter((e) =>
    (driver(e.to) && !driver(e.from) && !e.from.startsWith("backends/conformance/")) ||
    (/^backends\/[a-z]+\/statics\.ts$/.test(e.from) && driver(e.to) && !e.to.endsWith("statics.ts")) ||
    (e.from.startsWith("engine/") && e.to.includes("/experimental/") && !e.from.includes("/experimental/"))
  );
  assert.deepEqual(wrong.map((e) => `${e.from} -> ${e.to}`), []);
});

Deno.test("[architecture] there are no import cycles between files", () => {
  const next = new Map<string, string[]>();
  for (const e of edges) if (!e.dynamic) next.set(e.from, [...next.get(e.from) ?? [], e.to]);
  const done = new Set<string>();
  const cycles: string[] = [];
  function visit(file: string, path: readonly string[]): void {
    if (path.includes(file)) {
      cycles.push([...path.slice(path.indexOf(file)), file].join(" -> "));
      return;
    }
    if (done.has(file)) return;
    for (const to of next.get(file) ?? []) visit(to, [...path, file]);
    done.add(file);
  }
  for (const file of next.keys()) visit(file, []);
  assert.deepEqual(cycles, []);
});

Deno.test("[architecture] the top level holds the folders that were decided on", async () => {
  const expected = ["backends", "cli", "docs", "engine", "scripts", "tests", "vcs"];
  const { stdout } = await new Deno.Command("git", {
    args: ["-C", ROOT, "ls-files", "-z"],
    env: { GIT_CONFIG_GLOBAL: "/dev/null" },
  }).output();
  const tracked = new TextDecoder().decode(stdout).split("\0").filter((p) => p.includes("/") && !p.startsWith("."));
  assert.deepEqual([...new Set(tracked.map((p) => p.split("/")[0]))].sort(), expected);
});

function allowed({ from, to, dynamic }: Edge): boolean {
  const owner = MAY.find(([part]) => lies(from, part));
  if (owner) {
    const [part, may] = owner;
    if (part.endsWith("/") && lies(to, part)) return true;
    return may.some((m) => lies(to, m)) && (from !== "backends/catalog.ts" || !to.endsWith("statics.ts") || dynamic);
  }
  const kind = /^backends\/[a-z]+\//.exec(from)?.[0] ?? "";
  return kind !== "" && (to.startsWith(kind) || KIND.some((m) => lies(to, m)));
}

/** Says whether a path is a file, or lies in a folder or among the files of one beginning. */
function lies(path: string, part: string): boolean {
  return part.endsWith(".ts") ? path === part : path.startsWith(part);
}

/** Every import between our own files, type-only ones left out: they cost nothing and bind nothing at run time. */
async function importGraph(): Promise<Edge[]> {
  const found = new Map<string, Edge>();
  for (const root of ["main.ts", "mod.ts", "backends/conformance/mod.ts"]) {
    const { stdout, success } = await new Deno.Command(Deno.execPath(), {
      args: ["info", "--json", `${ROOT}${root}`],
      stderr: "null",
    }).output();
    assert.ok(success, `deno info ${root}`);
    const graph = JSON.parse(new TextDecoder().decode(stdout)) as {
      modules: {
        specifier: string;
        dependencies?: { specifier: string; isDynamic?: boolean; code?: { specifier?: string } }[];
      }[];
    };
    for (const module of graph.modules) {
      for (const d of module.dependencies ?? []) {
        const from = own(module.specifier);
        const to = own(d.code?.specifier);
        if (from && to) found.set(`${from} ${to}`, { from, to, dynamic: d.isDynamic === true });
      }
    }
  }
  return [...found.values()];
}

function own(specifier: string | undefined): string | undefined {
  if (!specifier?.startsWith("file://")) return undefined;
  const path = fileURLToPath(specifier);
  return path.startsWith(ROOT) ? path.slice(ROOT.length) : undefined;
}
