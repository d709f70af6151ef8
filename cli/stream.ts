/**
 * Output streams as the command line uses them: synchronous, whole writes, deaf to a reader that went away (L36).
 *
 * @module
 */

/** Standard output takes no more, such as on a full disk. */
export class OutputError extends Error {
  /** Takes what the system said. */
  constructor(cause: unknown) {
    super(`Cannot write the output: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
    this.name = "OutputError";
  }
}

/** A place to write text to. */
export interface Stream {
  /** Writes all of a text, or drops it once the reader has gone. */
  write(text: string): void;
  /** Whether it is a terminal. */
  readonly terminal: boolean;
  /** Columns of the terminal; `undefined` for anything else. */
  readonly columns: number | undefined;
}

/** What a {@link streamOf} writes to: standard output or standard error. */
export interface Sink {
  writeSync(bytes: Uint8Array): number;
  isTerminal(): boolean;
}

/**
 * Returns a stream over standard output or standard error. The first write that finds the reader gone turns it silent,
 * so whatever the command is doing runs to its end. One that fails otherwise throws an {@link OutputError} once; with `deaf`,
 * as for standard error, of which nobody could be told, it turns silent too.
 */
export function streamOf(sink: Sink, options: { readonly deaf?: boolean } = {}): Stream {
  let closed = false;
  const terminal = sink.isTerminal();
  return {
    terminal,
    get columns() {
      return terminal ? columnsOfTerminal() : undefined;
    },
    write(text) {
      if (closed) return;
      try {
        writeAll(sink, new TextEncoder().encode(text));
      } catch (error) {
        // A terminal that hung up answers with an input/output error instead of a broken pipe. Neither is the command's failure.
        closed = true;
        if (!options.deaf && !(error instanceof Deno.errors.BrokenPipe) && !terminal) throw new OutputError(error);
      }
    },
  };
}

function writeAll(sink: Sink, bytes: Uint8Array): void {
  for (let done = 0; done < bytes.length;) {
    try {
      done += sink.writeSync(bytes.subarray(done));
    } catch (error) {
      // A parent may hand over a pipe in non-blocking mode; then a full one is a matter of waiting.
      if (!(error instanceof Deno.errors.WouldBlock)) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2);
    }
  }
}

function columnsOfTerminal(): number | undefined {
  try {
    // A pseudo-terminal that nobody sized says 0.
    return Deno.consoleSize().columns || undefined;
  } catch {
    // Standard streams may be terminals of different kinds, some of which have no size.
    return undefined;
  }
}
