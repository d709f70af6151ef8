/**
 * What a command's action is given: the streams, the abort signal, the dataset, and a place for the exit code.
 *
 * @module
 */

import type { Dataset } from "../engine/dataset.ts";
import type { Json } from "../engine/model/json.ts";
import type { CallOptions, Report } from "../engine/reports/report.ts";
import { TetherError } from "../engine/model/errors.ts";
import { OutputError, type Stream } from "./stream.ts";
import type { Env, Line, Ui } from "./ui.ts";

/** Exit codes (commands §1.3). */
export const EXIT = { ok: 0, failed: 1, usage: 2, partial: 3, interrupted: 130 } as const;

/** The outside world as the command line sees it. */
export interface World {
  readonly stdout: Stream;
  readonly stderr: Stream;
  readonly env: Env;
  /** Reads one line of standard input; `undefined` at its end. Only `add --pick` asks. */
  readLine(): Promise<string | undefined>;
  /** Makes a folder the current one. */
  chdir(path: string): void;
  /** Aborts when the user interrupts. */
  readonly signal: AbortSignal;
}

/** One run of one command. */
export class Context {
  readonly ui: Ui;
  readonly world: World;
  /** Whether `--json` was given. */
  json = false;
  /** What the process ends with when the action returns. */
  exitCode: number = EXIT.ok;
  /** Whether this command writes, so that what it did must be told wherever that is possible. */
  writes = false;

  constructor(world: World, ui: Ui) {
    this.world = world;
    this.ui = ui;
  }

  /** Options for every long call of the engine. */
  get call(): Required<CallOptions> {
    return { signal: this.world.signal, onProgress: (progress) => this.ui.progress(progress) };
  }

  /** Opens the dataset around the current folder, and passes on what it warned about. The engine loads only now. */
  async dataset(options: { readonly allowOlder?: boolean } = {}): Promise<Dataset> {
    const { Dataset } = await import("../engine/dataset.ts");
    const dataset = await Dataset.open(Deno.cwd(), { ...this.call, ...options });
    for (const warning of dataset.warnings) this.ui.warning(warning);
    return dataset;
  }

  /** Shows a report: its JSON under `--json`, else the lines of the view. Warnings go to standard error either way. */
  show<R extends Report>(
    report: R & { readonly warnings?: readonly string[] },
    view: (report: R) => Iterable<Line>,
  ): void {
    for (const warning of report.warnings ?? []) this.ui.warning(warning);
    try {
      this.showJson(() => report.toJSON(), () => view(report));
    } catch (error) {
      if (!(error instanceof OutputError) || !this.writes) throw error;
      // The work is done all the same: say what it was where there still is somebody to read it.
      this.ui.print([...view(report)].map((line) => ({ ...line, to: "err" })));
      throw new TetherError(`${error.message}; what the command did stands`, {
        code: "output",
        hints: ["tether ops"],
        cause: error,
      });
    }
  }

  /** Shows a value that is no report. */
  showJson(json: () => Json, view: () => Iterable<Line>): void {
    if (this.json) this.ui.json(json());
    else this.ui.print(view());
  }
}
