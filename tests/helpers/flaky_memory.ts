/**
 * The kind `flaky`: memory systems whose answers can get lost and whose heads can be unreadable, as those of a service can.
 *
 * @module
 */

import type { BackendStatics, Capability, Locator, ObjectBackend } from "../../backends/backend.ts";
import { registerStatics } from "../../backends/catalog.ts";
import { MemoryBackend } from "../../backends/memory/memory.ts";
import { memoryStatics } from "../../backends/memory/statics.ts";
import { CommitStateUnknownError, UnavailableError } from "../../engine/model/backend_errors.ts";

/** A method that writes a ref. */
export type RefWrite = "pin" | "unpin" | "fork" | "deleteWorkingRef" | "promote" | "merge";

/** What goes wrong until it is set right again. */
export interface Faults {
  /** Writes whose answer is lost, and whether they took effect. */
  lost: Partial<Record<RefWrite, "done" | "not done">>;
  /** Branches whose head cannot be read; `base` is upstream. */
  unreadable: Set<string>;
  /** Why a branch cannot be deleted. */
  blockers: Map<string, string>;
  /** Whether tags cannot be listed. */
  unlistable: boolean;
}

/** The faults of all systems of the kind. */
export const faults: Faults = { lost: {}, unreadable: new Set(), blockers: new Map(), unlistable: false };

/** Ends all faults. */
export function mendAll(): void {
  faults.lost = {};
  faults.unreadable.clear();
  faults.blockers.clear();
  faults.unlistable = false;
}

const WRITES: readonly string[] = ["pin", "unpin", "fork", "deleteWorkingRef", "promote", "merge"] satisfies RefWrite[];

/** Registers the kinds `flaky` and `storage`; the branches of the latter are its storage. */
export function registerFlaky(): void {
  for (const kind of ["flaky", "storage"]) registerStatics(kind, () => Promise.resolve(staticsOf(kind)));
}

function staticsOf(kind: string): BackendStatics {
  const more: Capability[] = kind === "storage" ? ["branch_is_storage"] : [];
  const statics: BackendStatics = {
    ...memoryStatics,
    kind,
    capabilities: new Set([...memoryStatics.capabilities, ...more]),
    open: (settings) => Promise.resolve(flaky(new MemoryBackend(settings), () => statics)),
  };
  return statics;
}

function flaky(memory: MemoryBackend, statics: () => BackendStatics): ObjectBackend {
  return new Proxy<ObjectBackend>(memory, {
    get(target, name) {
      if (name === "statics") return statics();
      if (name === "workingRefBlockers") {
        return (_: Locator, ref: string) => Promise.resolve(faults.blockers.get(ref));
      }
      const value = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      // The others answer at once, and cannot fail.
      if (![...WRITES, "fingerprint", "listPins"].includes(String(name))) return value.bind(target);
      return async (...args: unknown[]) => {
        if (name === "fingerprint" && faults.unreadable.has(String(args[1] ?? "base"))) {
          throw new UnavailableError(`Cannot read "${args[1] ?? "base"}": no answer`, { kind: statics().kind });
        }
        if (name === "listPins" && faults.unlistable) {
          throw new UnavailableError("Cannot list tags: no answer", { kind: statics().kind });
        }
        const lost = WRITES.includes(String(name)) ? faults.lost[name as RefWrite] : undefined;
        if (lost !== "not done") {
          const result = await Reflect.apply(value, target, args);
          if (lost === undefined) return result;
        }
        throw new CommitStateUnknownError(`Cannot tell whether "${String(name)}" took effect: no answer`, {
          kind: statics().kind,
        });
      };
    },
  });
}
