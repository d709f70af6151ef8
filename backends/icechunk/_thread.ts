/**
 * A web worker dressed as what the library's runtime expects a thread to be: a worker of Node's.
 *
 * @module
 */

import { EventEmitter } from "node:events";
import { WORKER_URL } from "./_assets.ts";

/**
 * A thread of the library. Deliberately no `Worker` itself: the runtime sets `onmessage`, listens to "message" as well and
 * calls the one from the other, so a real worker would deliver every message twice, and the second request for a thread
 * would start one on the first one's stack.
 */
export class Thread extends EventEmitter {
  readonly #worker: Worker;

  /** Starts a thread. Needs read permission for the worker's file. `onCrash` is called if it ends with an error. */
  constructor(onCrash: (reason: string) => void) {
    super();
    this.#worker = new Worker(WORKER_URL, { type: "module", name: "icechunk" });
    this.#worker.onmessage = (event) => this.emit("message", event.data);
    this.#worker.onerror = (event) => {
      // The runtime would rethrow it where nobody can catch it.
      event.preventDefault();
      onCrash(event.message);
    };
  }

  postMessage(message: unknown, transfer: Transferable[] = []): void {
    this.#worker.postMessage(message, transfer);
  }

  terminate(): void {
    this.#worker.terminate();
  }

  // A web worker keeps the process alive until it is terminated: there is nothing to count.
  ref(): void {}
  unref(): void {}
}
