/** Counts the workers that are started, so that none is forgotten. */

/** The workers started since {@link watchWorkers}. Disposing ends the watch, and the workers that were forgotten. */
export interface WorkerWatch extends Disposable {
  /** How many were not terminated. */
  alive(): number;
}

/** Watches the workers this realm starts. */
export function watchWorkers(): WorkerWatch {
  const RealWorker = globalThis.Worker;
  const living = new Set<Worker>();
  globalThis.Worker = class extends RealWorker {
    constructor(url: string | URL, options?: WorkerOptions) {
      super(url, options);
      living.add(this);
    }

    override terminate(): void {
      living.delete(this);
      super.terminate();
    }
  };
  return {
    alive: () => living.size,
    [Symbol.dispose]() {
      globalThis.Worker = RealWorker;
      for (const worker of [...living]) worker.terminate();
    },
  };
}
