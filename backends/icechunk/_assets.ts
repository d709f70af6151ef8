/**
 * The two files the library consists of. A packaged program replaces this module by one that names its embedded copies.
 *
 * @module
 */

/**
 * Returns the compiled library. It is the npm package's own file and part of the module graph, so finding and reading it
 * needs no permission.
 */
export async function wasmModule(): Promise<WebAssembly.Module> {
  // @ts-expect-error: TypeScript does not know the source phase of imports, which the runtime has had since 2.6.
  return await import.source("@earthmover/icechunk-wasm32-wasi/icechunk.wasm32-wasi.wasm");
}

/** The module that each of the library's threads runs; starting one needs read permission for it. */
export const WORKER_URL: URL = new URL("./_worker.ts", import.meta.url);
