import { strict as assert } from "node:assert";
import { DEFAULT_SETTINGS } from "../../backends/backend.ts";
import { BackendError } from "../model/backend_errors.ts";
import { openIsolated } from "./isolate.ts";

Deno.test("[commands 5.29] a kind that comes with tether runs in a worker under --isolate", async () => {
  const folder = await Deno.realPath(await Deno.makeTempDir());
  try {
    await Deno.writeTextFile(`${folder}/plate`, "abc");
    await using file = await openIsolated("file", DEFAULT_SETTINGS);
    const state = await file.fingerprint({ uri: `${folder}/plate` }, undefined);
    assert.equal(state["sha256"], "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    assert.deepEqual(file.identity({ uri: `file://${folder}/./plate` }), { uri: `${folder}/plate` });
    await assert.rejects(
      file.fingerprint({ uri: `${folder}/none` }, undefined),
      (e) => e instanceof BackendError && e.code === "store-not-found",
    );
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
