/**
 * The one line that says how far a long command is: on a terminal, after half a second, redrawn in place (commands §1.2).
 *
 * @module
 */

import type { Progress } from "../engine/reports/report.ts";
import type { Stream } from "./stream.ts";

/** How long a command stays silent, in milliseconds. */
const PATIENCE_MS = 500;
/** How often the line may change, in milliseconds. */
const PERIOD_MS = 100;

/** Calls back later; the returned function prevents it. */
export type Later = (call: () => void, milliseconds: number) => () => void;

function timer(call: () => void, milliseconds: number): () => void {
  const id = setTimeout(call, milliseconds);
  return () => clearTimeout(id);
}

/** A progress line on a terminal. */
export class ProgressLine {
  readonly #stream: Stream;
  readonly #later: Later;
  #latest: Progress | undefined;
  #cancel: (() => void) | undefined;
  #patient = true;
  #visible = false;

  constructor(stream: Stream, later: Later = timer) {
    this.#stream = stream;
    this.#later = later;
  }

  /** Takes the newest report; it is drawn when its turn comes. */
  report(progress: Progress): void {
    this.#latest = progress;
    this.#cancel ??= this.#later(() => this.#draw(), this.#patient ? PATIENCE_MS : PERIOD_MS);
  }

  /** Removes the line so that something else can be printed; the next report brings it back. */
  clear(): void {
    if (this.#visible) this.#stream.write("\r\x1b[K");
    this.#visible = false;
  }

  /** Removes the line for good. */
  end(): void {
    this.#cancel?.();
    this.clear();
  }

  #draw(): void {
    this.#cancel = undefined;
    this.#patient = false;
    this.#visible = true;
    const text = this.#latest ? progressText(this.#latest) : "";
    this.#stream.write(`\r\x1b[K${text.slice(0, Math.max(0, (this.#stream.columns ?? 80) - 1))}`);
  }
}

/**
 * Returns what the line says: `verb done/total`, or `verb done` while the total is not known; the same of one object that takes
 * long, in parentheses.
 */
export function progressText({ within, ...progress }: Progress): string {
  const text = `${progress.verb} ${counted(progress)}`;
  return within === undefined ? text : `${text} (${within.key}: ${counted(within)} ${within.unit})`;
}

function counted({ done, total }: { readonly done: number; readonly total?: number }): string {
  return total === undefined ? String(done) : `${done}/${total}`;
}
