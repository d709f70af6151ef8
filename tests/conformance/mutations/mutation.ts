/**
 * A way to break the contract, and a backend broken that way.
 *
 * @module
 */

import type { BackendStatics, ObjectBackend } from "../../../backends/backend.ts";
import type { BackendHarness } from "../../../backends/conformance/mod.ts";

type Full = Required<ObjectBackend>;
/** Replacements of methods; each gets the real backend first. */
export type Replacements = {
  readonly [K in keyof Full]?: Full[K] extends (...args: infer A) => infer R ? (real: Full, ...args: A) => R : never;
};

/** One way to break a backend. */
export interface Mutation {
  /** The check that must fail. */
  readonly check: string;
  readonly what: string;
  /** What the check's failure says, so that it fails for the right reason. */
  readonly says: string;
  readonly methods?: Replacements;
  readonly statics?: Partial<BackendStatics>;
  readonly harness?: Partial<BackendHarness>;
  /** Ends what the mutation left on purpose. */
  readonly cleanUp?: () => void;
}

/** Returns a backend with some methods and statics replaced. */
export function broken(backend: ObjectBackend, mutation: Mutation): ObjectBackend {
  const methods = mutation.methods as Readonly<
    Record<PropertyKey, (real: ObjectBackend, ...args: unknown[]) => unknown>
  >;
  const statics: BackendStatics = {
    ...backend.statics,
    open: async (settings) => broken(await backend.statics.open(settings), mutation),
    ...mutation.statics,
  };
  return new Proxy(backend, {
    get(target, name) {
      if (name === "statics") return statics;
      const replacement = methods?.[name];
      if (replacement) return (...args: unknown[]) => replacement(target, ...args);
      const member: unknown = Reflect.get(target, name, target);
      return typeof member === "function" ? member.bind(target) : member;
    },
  });
}
