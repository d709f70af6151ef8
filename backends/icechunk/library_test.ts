import { strict as assert } from "node:assert";
import { fileURLToPath } from "node:url";
import { BackendError } from "../../engine/model/backend_errors.ts";
import { createRepository, writeArray } from "../../tests/helpers/icechunk_data.ts";
import { DEFAULT_SETTINGS } from "../backend.ts";
import { IcechunkBackend } from "./icechunk.ts";
import { Lease } from "./library.ts";

const CONFIG = fileURLToPath(new URL("../../deno.json", import.meta.url));
const WORKER = fileURLToPath(new URL("./_worker.ts", import.meta.url));

/** Reads a repository, makes a branch, and ends without being told to. */
const SCRIPT = `
  import { icechunkStatics } from "${new URL("./statics.ts", import.meta.url)}";
  const locator = { uri: Deno.args[0] };
  await using backend = await icechunkStatics.open({ config: {}, rules: [] });
  try {
    const state = await backend.fingerprint(locator, undefined);
    await backend.fork(locator, { on: "state", state }, "tether.ws.0a1b2c3d.exp");
    const { status } = await backend.verify(locator, state, undefined, { deep: true });
    console.log(state.snapshot_id, status);
  } catch (error) {
    console.log(error.code, ...error.flags);
  }
`;

Deno.test("[backends 4] the library needs what is declared, says what it lacks, and ends with its process", async () => {
  const folder = await Deno.realPath(await Deno.makeTempDir({ prefix: "tether-icechunk-" }));
  const path = `${folder}/r.icechunk`;
  async function run(...flags: readonly string[]): Promise<string> {
    const { code, stdout } = await new Deno.Command(Deno.execPath(), {
      args: [
        "run",
        "--no-prompt",
        "--quiet",
        "--no-check",
        `--config=${CONFIG}`,
        ...flags,
        `${folder}/script.ts`,
        path,
      ],
      stdin: "null",
      stdout: "piped",
      stderr: "null",
    }).output();
    assert.equal(code, 0);
    return new TextDecoder().decode(stdout).trim();
  }
  try {
    await Deno.writeTextFile(`${folder}/script.ts`, SCRIPT);
    await createRepository(path, { format: 1 });
    const snapshot = await writeArray(path, "main", { name: "a", values: [1, 2, 3] });
    assert.equal(await run(`--allow-read=${path}`), `sandbox --allow-read=${WORKER}`);
    assert.equal(await run(`--allow-read=${WORKER}`), `sandbox --allow-read=${path}/repo`);
    const ref = `${path}/refs/branch.tether.ws.0a1b2c3d.exp/ref.json`;
    assert.equal(await run(`--allow-read=${path},${WORKER}`), `sandbox --allow-write=${ref}`);
    assert.equal(await run(`--allow-read=${path},${WORKER}`, `--allow-write=${path}`), `${snapshot} ok`);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("[architecture] one instance of the library serves all its users, and the last one ends it", async () => {
  await using first = new Lease();
  const runtime = await first.runtime();
  {
    await using second = new Lease();
    assert.equal(await second.runtime(), runtime);
  }
  assert.equal(runtime.dead, false);
  await first[Symbol.asyncDispose]();
  assert.equal(runtime.dead, true);
  await assert.rejects(runtime.call(() => Promise.resolve()), /it was closed/);
  assert.notEqual(await first.runtime(), runtime, "who asks again gets it again");
});

Deno.test("[backends 1.9] a crash fails the calls that wait, and the next one loads the library anew", async () => {
  const path = await Deno.makeTempDir({ prefix: "tether-icechunk-" });
  const threads = watchWorkers();
  try {
    await createRepository(path);
    await using backend = new IcechunkBackend(DEFAULT_SETTINGS);
    const state = await backend.fingerprint({ uri: path }, undefined);
    await using lease = new Lease();
    const waiting = (await lease.runtime()).call(() => new Promise(() => {}));
    // A thread that runs hears nothing that could make it fail: its last words are spoken for it.
    const words = { message: "Uncaught RuntimeError: unreachable", cancelable: true };
    threads.started.at(-1)?.dispatchEvent(new ErrorEvent("error", words));
    await assert.rejects(waiting, (error) => error instanceof BackendError && /library crashed/.test(error.message));
    assert.deepEqual(await backend.fingerprint({ uri: path }, undefined), state);
  } finally {
    threads.restore();
    await Deno.remove(path, { recursive: true });
  }
});

function watchWorkers(): { readonly started: Worker[]; restore(): void } {
  const started: Worker[] = [];
  const original = globalThis.Worker;
  globalThis.Worker = class extends original {
    constructor(...args: ConstructorParameters<typeof Worker>) {
      super(...args);
      started.push(this);
    }
  };
  return { started, restore: () => globalThis.Worker = original };
}
