/**
 * A kind that does not come with tether and does more than it says: it reads, where a locator tells it to, what it never
 * declared.
 *
 * @module
 */

import {
  type BackendStatics,
  type Locator,
  makeHandle,
  NO_NEEDS,
  type ObjectBackend,
  type State,
} from "../../backends/backend.ts";
import { Float } from "../../engine/model/json.ts";
import { RefMovedError } from "../../engine/model/backend_errors.ts";

// Tests look for this mark: the module must never be evaluated in their own process.
Object.assign(globalThis, { nosyBackendWasHere: true });

function text(locator: Locator, name: string): string {
  return String(locator[name] ?? "");
}

const nosyBackend: ObjectBackend = {
  get statics(): BackendStatics {
    return nosyStatics;
  },
  identity: (locator) => ({ path: text(locator, "path"), big: 2n ** 60n }),
  branchScope: (locator) => `scope of ${text(locator, "path")}`,
  baseBranch: () => "main",
  async fingerprint(locator, ref, op = {}): Promise<State> {
    switch (locator["do"]) {
      case "hang":
        op.signal?.throwIfAborted();
        return await new Promise((_, reject) =>
          op.signal?.addEventListener("abort", () => reject(op.signal?.reason), { once: true })
        );
      case "die":
        setTimeout(() => {
          throw new Error("died on purpose");
        }, 0);
        return await new Promise(() => {});
      case "move":
        throw new RefMovedError("Cannot move", {
          kind: "nosy",
          ref: "r",
          expected: { id: 2n ** 60n },
          found: null,
          cause: new TypeError("below"),
        });
      case "environment":
        return { home: Deno.env.get("HOME") ?? "" };
    }
    const path = text(locator, "do") || text(locator, "path");
    return { content: await Deno.readTextFile(path), big: 2n ** 60n, float: new Float(1), ref: ref ?? null };
  },
  verify: () =>
    Promise.resolve({
      status: "unknown",
      cause: new RefMovedError("Cannot", { kind: "nosy", ref: "r", expected: null, found: null }),
    }),
  openHandle: (locator, _target, { readOnly }) => {
    const path = text(locator, "path");
    const handle = makeHandle({
      type: "NosyHandle",
      kind: "nosy",
      key: path,
      address: path,
      readOnly,
      native: { path },
    });
    return Promise.resolve({ ...handle, address: (o = {}) => o.withPassword ? `${path}?hunter2` : path });
  },
  [Symbol.asyncDispose]: () => Promise.resolve(),
};

const nosyStatics: BackendStatics = {
  kind: "nosy",
  capabilities: new Set(["fingerprint"]),
  maturity: "experimental",
  volatileKeys: new Set(["ref"]),
  stateForms: [{ content: "text", big: "whole" }, { home: "text?" }],
  localPathKeys: ["path"],
  localPathPrefixes: [],
  uriKeys: ["path"],
  keySuffixes: [".nosy"],
  safeConfigKeys: new Set(),
  safeOptionKeys: { table: new Set(["option"]) },
  promoteHint: "",
  honoursExpected: new Set(),
  concurrency: 2,
  permissions(locator) {
    if (locator["do"] === "declare") Deno.statSync("/");
    const path = text(locator, "path");
    return { ...NO_NEEDS, read: path === "" ? [] : [path] };
  },
  pinRefusal: (_, state) => state["content"] === "draft" ? { reason: "it is a draft", hints: [] } : undefined,
  open: () => Promise.resolve(nosyBackend),
};

export default nosyStatics;
