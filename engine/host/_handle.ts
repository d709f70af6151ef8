/** A handle whose backend lives in a worker. */

import type { Handle, HandleJson } from "../../backends/backend.ts";
import type { HandleData } from "./worker_entry.ts";

/** What a handle in a worker says of itself. */
export class RemoteHandle implements Handle {
  readonly type: string;
  readonly key: string;
  readonly readOnly: boolean;
  // Private, so that no inspection shows the address with its password.
  readonly #data: HandleData;
  readonly #close: () => Promise<void>;
  #closed: Promise<void> | undefined;

  constructor(data: HandleData, close: () => Promise<void>) {
    this.type = data.type;
    this.key = data.key;
    this.readOnly = data.readOnly;
    this.#data = data;
    this.#close = close;
  }

  /** Returns the native address, without its password unless asked for. */
  address(options: { readonly withPassword?: boolean } = {}): string {
    return options.withPassword ? this.#data.fullAddress : this.#data.address;
  }

  toJSON(): HandleJson {
    return this.#data.json;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#closed ??= this.#close();
  }
}
