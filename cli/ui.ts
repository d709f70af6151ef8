/**
 * Everything a command says: lines on standard output and standard error, colour, JSON, errors with their hints
 * (commands §1.2, style §6). Each text passes the redactor and loses its control characters on the way out.
 *
 * @module
 */

import { type Json, writeJson } from "../engine/model/json.ts";
import { redact, redactJson } from "../engine/model/redact.ts";
import type { Progress } from "../engine/reports/report.ts";
import { errorLines } from "./errors.ts";
import { ProgressLine } from "./progress.ts";
import type { Stream } from "./stream.ts";

/** Colours there are. */
export type Style = "red" | "green" | "yellow" | "grey";

/** One line of output; standard output unless `to` says otherwise. */
export interface Line {
  readonly text: string;
  readonly style?: Style;
  readonly to?: "err";
}

/** What `--color` accepts. */
export const COLOR_CHOICES = ["auto", "always", "never"] as const;
/** One of {@link COLOR_CHOICES}. */
export type ColorChoice = (typeof COLOR_CHOICES)[number];

/** Reads an environment variable; `undefined` also when that is not granted. */
export type Env = (name: string) => string | undefined;

const CODES: Readonly<Record<Style, string>> = { red: "31", green: "32", yellow: "33", grey: "90" };

// Terminal control, line breaks, and the marks that reverse the direction of text.
// deno-lint-ignore no-control-regex
const UNPRINTABLE = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;

/** Makes a text safe to print on one line: control characters turn into `\xNN`, line breaks and tabs too. */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, (c) => {
    const code = c.charCodeAt(0).toString(16);
    return code.length > 2 ? `\\u${code.padStart(4, "0")}` : `\\x${code.padStart(2, "0")}`;
  });
}

/**
 * Decides whether a stream gets colour: `--color` beats a non-empty `NO_COLOR`, which beats `CLICOLOR_FORCE`, which beats
 * whether it is a terminal that is not `dumb`.
 */
export function wantsColor(choice: ColorChoice, options: { readonly env: Env; readonly terminal: boolean }): boolean {
  if (choice !== "auto") return choice === "always";
  if (options.env("NO_COLOR")) return false;
  if (!["", "0", undefined].includes(options.env("CLICOLOR_FORCE"))) return true;
  return options.terminal && options.env("TERM") !== "dumb";
}

/** Options of {@link Ui}. */
export interface UiOptions {
  readonly stdout: Stream;
  readonly stderr: Stream;
  readonly env: Env;
}

/** Lines are written together up to about this length. */
const WRITE_LENGTH = 1 << 16;

/** The two output streams of one run. */
export class Ui {
  readonly #streams: UiOptions;
  readonly #said = new Set<string>();
  #color: ColorChoice = "auto";
  #progress: ProgressLine | undefined;

  constructor(options: UiOptions) {
    this.#streams = options;
  }

  /** Sets what `--color` said. */
  set color(choice: ColorChoice) {
    this.#color = choice;
  }

  /** Shows progress from now on, where that is wanted: on a terminal, not in CI, not with `TETHER_PROGRESS=0`. */
  enableProgress(): void {
    const { stderr, env } = this.#streams;
    if (stderr.terminal && env("TETHER_PROGRESS") !== "0" && !env("CI")) this.#progress = new ProgressLine(stderr);
  }

  /** Takes a progress report. */
  progress(progress: Progress): void {
    this.#progress?.report(progress);
  }

  /** Prints lines, each on its stream. */
  print(lines: Iterable<Line>): void {
    this.#progress?.clear();
    const paint = { out: this.#painter("out"), err: this.#painter("err") };
    let pending = "";
    let to: "out" | "err" = "out";
    for (const line of lines) {
      const next = line.to ?? "out";
      if (next !== to || pending.length > WRITE_LENGTH) {
        this.#stream(to).write(pending);
        pending = "";
      }
      to = next;
      pending += paint[to](line);
    }
    if (pending !== "") this.#stream(to).write(pending);
  }

  /** Prints one JSON document on standard output. */
  json(value: Json): void {
    this.#progress?.clear();
    this.#streams.stdout.write(writeJson(redactJson(value), { indent: 2 }) + "\n");
  }

  /** Prints a text as it is: a script, a help text, or what the user explicitly asked not to be masked. */
  raw(text: string, to: "out" | "err" = "out"): void {
    this.#progress?.clear();
    this.#stream(to).write(text);
  }

  /** Warns on standard error; the same text only once. */
  warning(text: string): void {
    this.#once({ text: `warning: ${text}`, style: "yellow", to: "err" });
  }

  /** Notes something on standard error; the same text only once. */
  note(text: string): void {
    this.#once({ text: `note: ${text}`, style: "yellow", to: "err" });
  }

  /** Reports a failure on standard error, with its hints. */
  error(error: unknown): void {
    this.print(errorLines(error, { debug: this.#streams.env("TETHER_DEBUG") === "1" }));
  }

  /** Removes a progress line that is still there and shows no more. */
  end(): void {
    this.#progress?.end();
    this.#progress = undefined;
  }

  #once(line: Line): void {
    if (this.#said.has(line.text)) return;
    this.#said.add(line.text);
    this.print([line]);
  }

  /** Returns what makes the text of a line of a stream, its end included. */
  #painter(to: "out" | "err"): (line: Line) => string {
    const colored = wantsColor(this.#color, { env: this.#streams.env, terminal: this.#stream(to).terminal });
    return (line) => {
      const text = printable(redact(line.text));
      return line.style && colored ? `\x1b[${CODES[line.style]}m${text}\x1b[0m\n` : `${text}\n`;
    };
  }

  #stream(to: "out" | "err"): Stream {
    return to === "out" ? this.#streams.stdout : this.#streams.stderr;
  }
}
