/**
 * A thread of the Icechunk library. The library starts and feeds it; it does no I/O of its own.
 *
 * @module
 */

/// <reference lib="deno.worker" />

import { instantiateNapiModuleSync, MessageHandler } from "@emnapi/core";
import { WASI } from "@napi-rs/wasm-runtime";

const handler = new MessageHandler({
  onLoad({ wasmModule, wasmMemory }) {
    return instantiateNapiModuleSync(wasmModule, {
      childThread: true,
      wasi: new WASI({ version: "preview1", print: ignore, printErr: ignore }),
      overwriteImports: (imports) => ({
        ...imports,
        env: { ...imports["env"], ...imports["napi"], ...imports["emnapi"], memory: wasmMemory },
      }),
    });
  },
});

self.onmessage = (event) => handler.handle(event);

// The library prints only when it panics, and that ends the thread with an error anyway.
function ignore(): void {}
