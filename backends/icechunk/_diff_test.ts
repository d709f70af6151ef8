import { strict as assert } from "node:assert";
import type { DiffResult } from "@earthmover/icechunk-wasm32-wasi";
import { across, nodeChanges } from "./_diff.ts";

const NOTHING: DiffResult = {
  newGroups: [],
  newArrays: [],
  deletedGroups: [],
  deletedArrays: [],
  updatedGroups: [],
  updatedArrays: [],
  updatedChunks: {},
  movedNodes: [],
};

/** What the left and the right line did since they parted, and what leads from the end of the one to that of the other. */
const CASES: readonly (readonly [string, Partial<DiffResult>, Partial<DiffResult>, readonly string[]])[] = [
  ["nothing", {}, {}, []],
  ["only right wrote", {}, { updatedChunks: { "/a": [[0], [1]] } }, ["/a modified 0 1"]],
  ["only left made", { newArrays: ["/a"] }, {}, ["/a removed"]],
  ["only left deleted", { deletedGroups: ["/g"] }, {}, ["/g added"]],
  ["both deleted", { deletedArrays: ["/a"] }, { deletedArrays: ["/a"] }, []],
  ["both made", { newArrays: ["/a"] }, { newArrays: ["/a"] }, ["/a modified metadata"]],
  ["left deleted, right wrote", { deletedArrays: ["/a"] }, { updatedChunks: { "/a": [[0]] } }, ["/a added 0"]],
  ["left wrote, right deleted", { updatedChunks: { "/a": [[0]] } }, { deletedArrays: ["/a"] }, ["/a removed"]],
  [
    "both wrote",
    { updatedChunks: { "/a": [[0, 1], [0, 2]] } },
    { updatedArrays: ["/a"], updatedChunks: { "/a": [[0, 2], [3, 0]] } },
    ["/a modified metadata 0/1 0/2 3/0"],
  ],
  ["left moved", { movedNodes: [{ from: "/a", to: "/b" }] }, {}, ["/b -> /a renamed"]],
  ["right moved", {}, { movedNodes: [{ from: "/a", to: "/b" }] }, ["/a -> /b renamed"]],
];

for (const [name, left, right, wanted] of CASES) {
  Deno.test(`[backends 3.4] across diverged lines: ${name}`, () => {
    const changes = across(nodeChanges({ ...NOTHING, ...left }), nodeChanges({ ...NOTHING, ...right }));
    const told = [...changes].map(([path, c]) =>
      [path, c.change, ...(c.metadata ? ["metadata"] : []), ...[...c.chunks].sort()].join(" ")
    );
    assert.deepEqual(told, wanted);
  });
}
