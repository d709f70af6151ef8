/**
 * What `open` returns: a native address, never data (backends §2). Imported through `backend.ts`.
 *
 * @module
 */

import type { JsonObject } from "../engine/model/json.ts";

/**
 * The JSON of a handle: the peer's four fields, then ours. Always redacted.
 *
 * @example Read an address from another program's output
 * ```ts
 * import { type HandleJson, parseJson } from "@tether/tether";
 * import assert from "node:assert/strict";
 *
 * const json = parseJson('{"key": "a", "read_only": true, "address": "/a@v7", "type": "DeltaHandle", "kind": "delta"}');
 * const { address, read_only } = json as Partial<HandleJson>;
 * assert.deepEqual([address, read_only], ["/a@v7", true]);
 * ```
 */
export interface HandleJson {
  /** The store's own label, not the dataset key. */
  readonly key: string;
  /** Whether writing through this address is off limits. */
  readonly read_only: boolean;
  /** As {@link Handle.address}, without a password. */
  readonly address: string;
  /** Class name, such as `IcechunkHandle`. */
  readonly type: string;
  /** The backend kind. */
  readonly kind: string;
  /** What the system's own library needs, field by field (backends §2). */
  readonly native: JsonObject;
}

/**
 * A native address. tether steps aside: read and write with the system's own library.
 *
 * @example Get the native address of an object
 * ```ts
 * import { Dataset, type Handle } from "@tether/tether";
 * import assert from "node:assert/strict";
 * import { execSync } from "node:child_process";
 *
 * const cwd = await Deno.makeTempDir();
 * execSync("git init -q", { cwd });
 * await using ds = await Dataset.init(cwd);
 * const uri = await Deno.makeTempDir();
 * await ds.add({ key: "raw", kind: "file", locator: { uri } });
 * await using handle: Handle = await ds.open("raw");
 * assert.deepEqual([handle.type, handle.readOnly, handle.address()], ["FileHandle", true, uri]);
 * ```
 */
export interface Handle extends AsyncDisposable {
  /** Class name, such as `IcechunkHandle`. */
  readonly type: string;
  /** The store's own label (commands §5.11). */
  readonly key: string;
  /** Whether this address must not be written to; the store may allow it all the same. */
  readonly readOnly: boolean;
  /** The address as one line; a password in it is `***` unless asked for. */
  address(options?: { withPassword?: boolean }): string;
  /** The address as data, never with a password. */
  toJSON(): HandleJson;
}

/**
 * Returns a handle of plain data: all that a kind without live objects needs.
 *
 * @example Hand out the address of a file
 * ```ts
 * import { makeHandle } from "@tether/tether/backend";
 * import assert from "node:assert/strict";
 *
 * const uri = "/a.note";
 * const handle = makeHandle({ type: "NoteHandle", kind: "note", key: uri, readOnly: true, address: uri, native: { uri } });
 * assert.equal(handle.address(), "/a.note");
 * ```
 */
export function makeHandle(data: {
  readonly type: string;
  readonly kind: string;
  readonly key: string;
  readonly readOnly: boolean;
  readonly address: string;
  readonly native: JsonObject;
}): Handle {
  return {
    type: data.type,
    key: data.key,
    readOnly: data.readOnly,
    address: () => data.address,
    toJSON: () => ({
      key: data.key,
      read_only: data.readOnly,
      address: data.address,
      type: data.type,
      kind: data.kind,
      native: data.native,
    }),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}
