/**
 * Opens a snapshot and looks for what it consists of: every manifest, and a sample of the chunks of every array (L06).
 *
 * @module
 */

import type { Store as ZarrStore } from "@earthmover/icechunk-wasm32-wasi";
import type { Op } from "../backend.ts";
import { StateGoneError } from "../../engine/model/backend_errors.ts";
import { type JsonObject, parseJson } from "../../engine/model/json.ts";
import { mapLimit } from "../../engine/io/pool.ts";
import { damagedError, refusalOf } from "./_errors.ts";
import { KIND } from "./_locator.ts";
import type { CallOptions, Store, View } from "./_repository.ts";

/** Which chunks of an array are read, as parts of their sorted list. */
const SAMPLE: readonly number[] = [0, 0.5, 1];
const PARALLEL = 8;
/** The document that every node has. */
const DOCUMENT = "zarr.json";

interface Tally {
  arrays: number;
  chunks: number;
  /** Chunks that lie in files outside the repository, which tether does not follow. */
  virtual: number;
}

/** A snapshot's nodes and chunks, to be read. */
interface Reading {
  readonly view: View;
  readonly nodes: ZarrStore;
  readonly call: CallOptions;
  readonly tally: Tally;
}

/**
 * Reads a sample of a snapshot and returns in words what was looked at.
 *
 * @throws {StateGoneError} if any of it is gone.
 */
export async function readSample(store: Store, snapshot: string, op: Op): Promise<string> {
  const call: CallOptions = { ...op, what: `read snapshot "${snapshot}"` };
  await store.requireSnapshot(snapshot, call);
  // A view of its own: nothing that this process read before may answer in place of the store.
  const view = await store.snapshotView(call);
  // This also reads the snapshot itself, whose damage the listing of nodes below would pass over.
  const manifests = await view.use(call, (r) => r.lookupManifestFiles(snapshot));
  await mapLimit(manifests, PARALLEL, ({ id }) => requireManifest(store, id, call), op.signal);
  const session = await view.use(call, (r) => r.readonlySession({ snapshotId: snapshot }));
  const tally: Tally = { arrays: 0, chunks: 0, virtual: 0 };
  await readNodes({ view, nodes: session.store, call, tally });
  const elsewhere = tally.virtual > 0 ? `, ${plural(tally.virtual, "chunk")} outside the repository not read` : "";
  return `${plural(manifests.length, "manifest")} found, ${plural(tally.chunks, "chunk")} of ` +
    `${plural(tally.arrays, "array")} read, at most ${SAMPLE.length} of each${elsewhere}`;
}

async function requireManifest(store: Store, id: string, call: CallOptions): Promise<void> {
  if (await store.storage.head(`manifests/${id}`, call)) return;
  throw new StateGoneError(`Cannot ${call.what}: its manifest "${id}" is gone`, { kind: KIND });
}

async function readNodes(reading: Reading): Promise<void> {
  const folders = [""];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    const path = folder;
    const children = await list(reading, path);
    if (children.includes(DOCUMENT) && await isArray(reading, below(path, DOCUMENT))) {
      reading.tally.arrays++;
      await readChunks(reading, below(path, "c"));
    } else {
      folders.push(...children.filter((name) => name !== DOCUMENT).map((name) => below(path, name)));
    }
  }
}

async function isArray(reading: Reading, key: string): Promise<boolean> {
  const bytes = await reading.view.use(reading.call, () => reading.nodes.get(key));
  const document = bytes && parseJson(new TextDecoder().decode(new Uint8Array(bytes))) as JsonObject;
  return document?.["node_type"] === "array";
}

/** Reads the last byte of some chunks of an array: of those that exist, which in a sparse array are few of all. */
async function readChunks(reading: Reading, root: string): Promise<void> {
  const keys = new Set<string>();
  const listed = new Map<string, readonly number[]>();
  for (const part of SAMPLE) keys.add(await pickChunk(reading, { root, part, listed }));
  for (const key of keys) {
    try {
      // Listing found no name below: an array without chunks, or the one chunk of a scalar.
      const bytes = await reading.view.use(reading.call, () => reading.nodes.getRange(key, { suffixLength: 1 }));
      if (bytes?.length === 0) throw damagedError(reading.call.what, `chunk "${key}" is cut short`);
      if (bytes) reading.tally.chunks++;
    } catch (error) {
      if (refusalOf(error) !== "virtual") throw error;
      reading.tally.virtual++;
    }
  }
}

/** Walks down one dimension after the other to the chunk at a part of the way. */
async function pickChunk(
  reading: Reading,
  o: { readonly root: string; readonly part: number; readonly listed: Map<string, readonly number[]> },
): Promise<string> {
  let key = o.root;
  for (;;) {
    const indices = o.listed.get(key) ?? (await list(reading, key)).map(Number).sort((a, b) => a - b);
    o.listed.set(key, indices);
    const index = indices[Math.round(o.part * (indices.length - 1))];
    if (index === undefined) return key;
    key = below(key, String(index));
  }
}

async function list(reading: Reading, path: string): Promise<readonly string[]> {
  return await reading.view.use(reading.call, () => reading.nodes.listDir(path));
}

function below(folder: string, name: string): string {
  return folder === "" ? name : `${folder}/${name}`;
}

function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
