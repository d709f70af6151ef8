/**
 * Icechunk repositories with real arrays in them, for tests and the demonstration.
 *
 * @module
 */

import type { Session } from "@earthmover/icechunk-wasm32-wasi";
import { DEFAULT_SETTINGS, type Target } from "../../backends/backend.ts";
import { IcechunkBackend } from "../../backends/icechunk/icechunk.ts";
import { Lease } from "../../backends/icechunk/library.ts";
import { libraryStorage, ThrownErrors } from "../../backends/icechunk/library_storage.ts";
import { LocalStorage } from "../../backends/storage/local.ts";

/** A one-dimensional array of 32-bit integers. */
export interface ArrayData {
  /** Its path, such as `plate/scores`. Groups on the way are made. */
  readonly name: string;
  readonly values: readonly number[];
  /** Values per chunk. Chunks of 128 values and more become files of their own. @default {all of them} */
  readonly chunk?: number;
}

/** Options of {@link createRepository}. */
export interface RepositoryOptions {
  /** The format: 1 is what the 1.x libraries read. @default {2} */
  readonly format?: 1 | 2;
}

/** Makes an empty repository in a folder that may not exist yet. */
export async function createRepository(path: string, options: RepositoryOptions = {}): Promise<void> {
  await Deno.mkdir(path, { recursive: true });
  await using lease = new Lease();
  await (await lease.runtime()).call(async (library) => {
    const storage = libraryStorage(library, new LocalStorage(path, { kind: "icechunk" }), new ThrownErrors());
    await library.Repository.create(storage, null, options.format ?? 2);
  });
}

/** Writes an array to a branch, replacing one of the same name, and commits. Returns the new snapshot. */
export async function writeArray(path: string, branch: string, data: ArrayData): Promise<string> {
  return await write(path, branch, async (session) => {
    await putArray(session, data);
    return await session.commit(`Write ${data.name}`);
  });
}

/** Changes a repository through a session on a branch; `change` commits. */
export async function write<T>(path: string, branch: string, change: (session: Session) => Promise<T>): Promise<T> {
  return await withSession(path, { on: "ref", ref: branch }, change);
}

/** Reads an array that {@link writeArray} wrote, at a target such as `{ on: "ref", ref: "main" }`. */
export async function readArray(path: string, target: Target, name: string): Promise<number[]> {
  return await withSession(path, target, async ({ store }) => {
    const document = await store.get(`${name}/zarr.json`);
    if (!document) throw new TypeError(`No array "${name}"`);
    const { shape: [length], chunk_grid } = JSON.parse(new TextDecoder().decode(new Uint8Array(document)));
    const [size] = chunk_grid.configuration.chunk_shape;
    const values: number[] = [];
    for (let i = 0; i * size < length; i++) {
      const chunk = await store.get(`${name}/c/${i}`);
      values.push(...(chunk ? new Int32Array(new Uint8Array(chunk).buffer) : new Int32Array(size)));
    }
    return values.slice(0, length);
  });
}

/** Puts an array, and the groups above it, into a session. */
export async function putArray({ store }: Session, data: ArrayData): Promise<void> {
  const { name, values } = data;
  const size = Math.max(1, data.chunk ?? values.length);
  const parts = name.split("/");
  for (let depth = 0; depth < parts.length; depth++) {
    const key = [...parts.slice(0, depth), "zarr.json"].join("/");
    if (!await store.exists(key)) await store.set(key, json({ zarr_format: 3, node_type: "group", attributes: {} }));
  }
  await store.set(
    `${name}/zarr.json`,
    json({
      zarr_format: 3,
      node_type: "array",
      shape: [values.length],
      data_type: "int32",
      chunk_grid: { name: "regular", configuration: { chunk_shape: [size] } },
      chunk_key_encoding: { name: "default", configuration: { separator: "/" } },
      fill_value: 0,
      codecs: [{ name: "bytes", configuration: { endian: "little" } }],
      attributes: {},
    }),
  );
  for (let i = 0; i * size < values.length; i++) {
    const chunk = new Int32Array(size);
    chunk.set(values.slice(i * size, (i + 1) * size));
    await store.set(`${name}/c/${i}`, bytes(new Uint8Array(chunk.buffer)));
  }
}

async function withSession<T>(path: string, target: Target, fn: (session: Session) => Promise<T>): Promise<T> {
  await using backend = new IcechunkBackend(DEFAULT_SETTINGS);
  await using handle = await backend.openHandle({ uri: path }, target, { readOnly: false });
  return await fn(await handle.session);
}

function json(value: unknown): Buffer {
  return bytes(new TextEncoder().encode(JSON.stringify(value)));
}

/** The library declares Buffers and takes any view of bytes. */
function bytes(view: Uint8Array): Buffer {
  return view as Buffer;
}
