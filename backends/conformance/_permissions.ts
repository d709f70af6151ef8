/** What a backend declares is what it needs: no more is granted, and nothing less is noticed late. */

import { strict as assert } from "node:assert";
import { mapLimit } from "../../engine/io/pool.ts";
import { WorkerClient } from "../../engine/host/client.ts";
import { type BackendModule, openInWorker } from "../../engine/host/worker_backend.ts";
import { PERMISSION_CLASSES, type PermissionClass, unionNeeds } from "../../engine/permissions.ts";
import type { Access, Locator, ObjectBackend, PermissionNeeds } from "../backend.ts";
import type { Bench, Check } from "./_bench.ts";
import { ConformanceFailure, runChecks } from "./_run.ts";
import { type Addresses, addressesOf } from "./_worker.ts";
import type { BackendHarness } from "./harness.ts";

const LEVELS: readonly Access[] = ["read", "refs", "lifecycle"];
const ENTRY = new URL("./_worker.ts", import.meta.url);

/** C04 and C25, the latter over all other checks. */
export function permissionChecks(others: readonly Check[]): readonly Check[] {
  const hook = { member: "module", optional: false } as const;
  return [
    { id: "C04", name: "pure-addressing", hook, run: checkAddressing },
    {
      id: "C25",
      name: "permissions",
      hook,
      async run(bench, t) {
        await checkDeclaration(bench);
        await checkWithheld(bench);
        const { racers, signal } = bench;
        await using backend = await openConfined(bench);
        const confined = bench.harness.around?.(backend) ??
          exchange(bench.harness, { backend, secondClient: () => openConfined(bench) });
        const options = { racers, ...(t ? { t } : {}), ...(signal ? { signal } : {}) };
        const report = await runChecks(confined, others, options);
        if (report.checks.some((c) => c.status === "failed")) throw new ConformanceFailure(report);
      },
    },
  ];
}

function moduleOf(bench: Bench): BackendModule {
  assert.ok(bench.harness.module, "the harness must name the module of the statics");
  return bench.harness.module;
}

/** Calls a function of `_worker.ts` in a worker that holds exactly some needs. */
async function inWorker(bench: Bench, needs: PermissionNeeds, call: readonly [string, ...unknown[]]): Promise<unknown> {
  const { kind } = bench.bare.statics;
  const client = new WorkerClient(kind, { module: moduleOf(bench), needs, entry: ENTRY });
  try {
    const [method, ...args] = call;
    return await client.call(method, args);
  } finally {
    client.terminate();
  }
}

async function checkAddressing(bench: Bench): Promise<void> {
  const { statics } = bench.bare;
  const locator = await bench.object();
  const settings = bench.settings;
  const needs = statics.permissions(locator, "read", settings);
  const [reading, nothing] = await inWorker(bench, needs, ["addresses", settings, locator]) as [Addresses, Addresses];
  assert.deepEqual(reading, addressesOf(bench.bare, locator, settings), "addressing needs no more than reading links");
  assert.ok(Object.keys(nothing.identity).length > 0, "an identity needs no permission, though it may be less exact");
}

/** Asserts that each level includes the one before, and that each need has the form the runtime grants. */
function assertNeeds(levels: readonly PermissionNeeds[]): void {
  for (const [i, needs] of levels.entries()) {
    for (const name of PERMISSION_CLASSES) {
      for (const value of levels[i - 1]?.[name] ?? []) {
        assert.ok(
          needs[name].includes(value),
          `${LEVELS[i]} must include --allow-${name}=${value} of ${LEVELS[i - 1]}`,
        );
      }
    }
    for (const host of needs.net) assert.match(host, /:[0-9]+$/, `the host "${host}" must carry its port`);
    for (const path of [...needs.read, ...needs.write, ...needs.ffi]) {
      assert.ok(path.startsWith("/") || /^[A-Za-z]:[\\/]/.test(path), `the path "${path}" must be absolute`);
    }
  }
}

function levelsOf(bench: Bench, locator: Locator): PermissionNeeds[] {
  return LEVELS.map((access) => bench.bare.statics.permissions(locator, access, bench.settings));
}

async function checkDeclaration(bench: Bench): Promise<void> {
  const levels = levelsOf(bench, await bench.object());
  assertNeeds(levels);
  assert.equal(levelsOf(bench, {}).length, LEVELS.length, "an empty locator must not make permissions() throw");
  const kind = bench.bare.statics.kind;
  for (const needs of levels) await inWorker(bench, needs, ["require", { kind, needs }]);
}

/** With any one need withheld, the engine's check must name it. A need of several levels is withheld once. */
async function checkWithheld(bench: Bench): Promise<void> {
  const needs = unionNeeds(levelsOf(bench, await bench.object()));
  const { kind } = bench.bare.statics;
  await mapLimit(itemsOf(needs), 4, async ([name, value]) => {
    const less = { ...needs, [name]: needs[name].filter((v) => v !== value && !covers(name, v, value)) };
    const error = await bench.fails(
      () => inWorker(bench, less, ["require", { kind, needs }]),
      `the check without --allow-${name}=${value}`,
      ["sandbox"],
    );
    assert.ok(error.message.includes(`"${value}"`), `the error must name "${value}": ${error.message}`);
    assert.ok(error.hints.some((h) => h.includes(`--allow-${name}=`)), `the hints must hold --allow-${name}`);
  });
}

function itemsOf(needs: PermissionNeeds): [PermissionClass, string][] {
  return PERMISSION_CLASSES.flatMap((name) => needs[name].map((value): [PermissionClass, string] => [name, value]));
}

/** Whether granting one value grants another too: then that one has to be withheld with it. */
function covers(name: PermissionClass, granted: string, value: string): boolean {
  if (name === "read" || name === "write" || name === "ffi") return value.startsWith(granted.replace(/\/?$/, "/"));
  if (name === "env") return granted.endsWith("*") && value.startsWith(granted.slice(0, -1));
  if (name === "net") return granted.startsWith("*.") && value.endsWith(granted.slice(1));
  return false;
}

/** Opens the backend in workers that hold exactly what it declares. */
function openConfined(bench: Bench): Promise<ObjectBackend> {
  return openInWorker(bench.bare.statics, { module: moduleOf(bench), settings: bench.settings });
}

/** Returns a harness with some members exchanged. Hooks inside the backend's own process cannot reach a worker. */
function exchange(harness: BackendHarness, members: Partial<BackendHarness>): BackendHarness {
  const changed: Partial<Record<PropertyKey, unknown>> = { ...members, duringDelete: undefined, module: undefined };
  return new Proxy(harness, {
    get(target, name) {
      if (name in changed) return changed[name];
      const value = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}
