/**
 * Reads git objects through one long-lived `git cat-file` process. The git and the jj adapter share it: both keep their
 * objects in a git store.
 *
 * @module
 */

import { redact } from "../engine/model/redact.ts";
import { VcsError } from "../engine/model/errors.ts";
import { type Git, gitFailure } from "./_git_process.ts";
import type { ObjectReader, TreeEntry } from "./adapter.ts";

/** The most bytes of one object that are kept: a clone is untrusted (L40). */
const MAX_BYTES = 256 * 1024 * 1024;
/** How many tree entries are remembered; enough for some thousand trees, about 20 MB. */
const MAX_CACHED_ENTRIES = 100_000;

/** What an object is. */
export interface ObjectInfo {
  readonly id: string;
  readonly type: string;
  readonly size: number;
}

/** A commit as far as history needs it. */
export interface CommitObject {
  readonly tree: string;
  readonly parents: readonly string[];
  /** jj's change id, where its header has one. */
  readonly changeId?: string;
  /** Of a conflicted jj commit: the trees of its sides and, between them, their bases. */
  readonly conflict?: readonly string[];
}

interface Answer extends ObjectInfo {
  /** Absent for a question about an object without its content. */
  readonly data?: Uint8Array;
}

interface Question {
  readonly text: string;
  readonly maxBytes: number;
  readonly resolve: (answer: Answer | undefined) => void;
  readonly reject: (error: unknown) => void;
}

/** One `git cat-file --batch-command`, started by the first question. */
export class GitObjectReader implements ObjectReader {
  readonly #git: Git;
  readonly #trees = new Map<string, readonly TreeEntry[]>();
  #cachedEntries = 0;
  #process: CatFile | undefined;
  #closed = false;

  constructor(git: Git) {
    this.#git = git;
  }

  async blob(id: string, options: { readonly maxBytes?: number } = {}): Promise<Uint8Array | undefined> {
    const answer = await this.#ask(`contents ${checkId(id)}`, options.maxBytes);
    return answer?.type === "blob" ? answer.data : undefined;
  }

  async tree(id: string): Promise<readonly TreeEntry[] | undefined> {
    const cached = this.#trees.get(id);
    if (cached) return cached;
    const answer = await this.#ask(`contents ${checkId(id)}`);
    if (answer?.type !== "tree" || answer.data === undefined) return undefined;
    const entries = parseTree(answer.data, id.length / 2);
    this.#remember(id, entries);
    return entries;
  }

  /** Returns a commit's tree and parents; `undefined` when the repository lacks it. */
  async commit(id: string): Promise<CommitObject | undefined> {
    const answer = await this.#ask(`contents ${checkId(id)}`);
    if (answer?.type !== "commit" || answer.data === undefined) return undefined;
    const [head = ""] = new TextDecoder().decode(answer.data).split("\n\n", 1);
    // A line that begins with a space goes on with the header before it.
    const lines = head.split("\n").filter((line) => !line.startsWith(" ")).map((line) => line.split(" "));
    const valuesOf = (header: string): string[] => lines.find(([name]) => name === header)?.slice(1) ?? [];
    const [changeId] = valuesOf("change-id");
    const conflict = valuesOf("jj:trees");
    return {
      tree: valuesOf("tree")[0] ?? "",
      parents: lines.filter(([name]) => name === "parent").map(([, parent]) => parent ?? ""),
      ...(changeId === undefined ? {} : { changeId }),
      ...(conflict.length === 0 ? {} : { conflict }),
    };
  }

  /**
   * Returns what a revision expression of git's names; `undefined` for nothing, or for several objects. The text is data
   * whatever it begins with. What git reads of the index for `:path` it reads once in the process's life.
   */
  async info(expression: string): Promise<ObjectInfo | undefined> {
    // The protocol has one question a line.
    if (/[\n\0]/.test(expression)) return undefined;
    return await this.#ask(`info ${expression}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const process = this.#process;
    this.#closed = true;
    this.#process = undefined;
    await process?.end();
  }

  #ask(text: string, maxBytes = MAX_BYTES): Promise<Answer | undefined> {
    if (this.#closed) return Promise.reject(closed());
    if (this.#process === undefined || this.#process.failed) {
      // An id means the object of that id, and no replacement: what is cached by it stays true.
      this.#process = new CatFile(this.#git.spawn(["--no-replace-objects", "cat-file", "--batch-command"]));
    }
    return this.#process.ask(text, maxBytes);
  }

  #remember(id: string, entries: readonly TreeEntry[]): void {
    this.#trees.set(id, entries);
    this.#cachedEntries += entries.length;
    for (const [oldest, { length }] of this.#trees) {
      if (this.#cachedEntries <= MAX_CACHED_ENTRIES) break;
      this.#trees.delete(oldest);
      this.#cachedEntries -= length;
    }
  }
}

/** Returns a full object id as it is. @throws {VcsError} for any other text. */
export function checkId(id: string): string {
  if (/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(id)) return id;
  throw new VcsError(`Cannot read object "${id}": it is not a full object id`);
}

/** Parses a raw tree: for each entry `<mode> <name>`, a zero byte and the id in bytes (L13). */
export function parseTree(data: Uint8Array, idBytes: number): TreeEntry[] {
  const decoder = new TextDecoder();
  const entries: TreeEntry[] = [];
  let at = 0;
  while (at < data.length) {
    const space = data.indexOf(0x20, at);
    const zero = data.indexOf(0, space);
    const end = zero + 1 + idBytes;
    if (space < 0 || zero < 0 || end > data.length) throw new VcsError("Cannot read a tree: it is malformed");
    const mode = decoder.decode(data.subarray(at, space));
    entries.push({
      name: decoder.decode(data.subarray(space + 1, zero)),
      id: data.subarray(zero + 1, end).toHex(),
      type: entryType(mode),
    });
    at = end;
  }
  return entries;
}

function entryType(mode: string): TreeEntry["type"] {
  if (mode === "40000" || mode === "040000") return "folder";
  return mode.startsWith("100") ? "file" : "other";
}

/** The process and the questions it has not answered yet. */
class CatFile {
  readonly #child: Deno.ChildProcess;
  readonly #input: WritableStreamDefaultWriter<Uint8Array<ArrayBuffer>>;
  readonly #output: ByteStream;
  /** The end of what the process says on standard error, once that has ended. */
  readonly #lastWords: Promise<string>;
  readonly #waiting: Question[] = [];
  #unsent = "";
  #reading = false;
  failed = false;

  constructor(child: Deno.ChildProcess) {
    this.#child = child;
    // A dataset that was never closed must not keep the program alive.
    child.unref();
    this.#input = child.stdin.getWriter();
    this.#output = new ByteStream(child.stdout.getReader());
    this.#lastWords = endOf(child.stderr);
  }

  ask(text: string, maxBytes: number): Promise<Answer | undefined> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ text, maxBytes, resolve, reject });
      // Questions of one turn of the event loop travel in one write.
      if (this.#unsent === "") queueMicrotask(() => this.#send());
      this.#unsent += text + "\n";
      if (!this.#reading) this.#read();
    });
  }

  async end(): Promise<void> {
    this.failed = true;
    this.#child.ref();
    // Whoever still waits gets an error from the reading loop, since the output ends.
    await this.#input.close().catch(() => {});
    await this.#output.cancel();
    await this.#lastWords;
    await this.#child.status;
  }

  #send(): void {
    const text = this.#unsent;
    this.#unsent = "";
    // A process that is gone shows at the reading end, with its words.
    this.#input.write(new TextEncoder().encode(text)).catch(() => {});
  }

  /** Answers questions in order while there are any. Nothing is read in between, so an idle reader holds nothing up. */
  async #read(): Promise<void> {
    this.#reading = true;
    this.#child.ref();
    try {
      for (let question = this.#waiting[0]; question; question = this.#waiting[0]) {
        const answer = await this.#answer(question);
        this.#waiting.shift();
        if (answer instanceof VcsError) question.reject(answer);
        else question.resolve(answer);
      }
    } catch (error) {
      const reason = this.failed ? closed() : await this.#deathOf(error);
      this.failed = true;
      for (const question of this.#waiting.splice(0)) question.reject(reason);
    } finally {
      this.#reading = false;
      if (!this.failed) this.#child.unref();
    }
  }

  async #answer(question: Question): Promise<Answer | VcsError | undefined> {
    const header = await this.#output.line();
    const [, id, type, digits] = /^([0-9a-f]+) (commit|tree|blob|tag) (\d+)$/.exec(header) ?? [];
    if (id === undefined || type === undefined) return undefined;
    const size = Number(digits);
    if (question.text.startsWith("info ")) return { id, type, size };
    if (size > question.maxBytes) {
      await this.#output.skip(size + 1);
      return new VcsError(`Cannot read object "${id}": its ${size} bytes are more than ${question.maxBytes}`, {
        code: "object-too-large",
      });
    }
    const data = await this.#output.bytes(size);
    await this.#output.skip(1);
    return { id, type, size, data };
  }

  async #deathOf(error: unknown): Promise<VcsError> {
    await this.#input.abort().catch(() => {});
    const stderr = redact(await this.#lastWords).trim();
    const { code } = await this.#child.status;
    const failure = gitFailure("read objects of the repository", stderr, code);
    return new VcsError(failure.message, { hints: failure.hints, details: failure.details, cause: error });
  }
}

/** Reads a stream to its end, so that the process never waits for it, and returns the last part. */
async function endOf(stream: ReadableStream<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of stream) text = (text + decoder.decode(chunk, { stream: true })).slice(-4096);
  return text;
}

function closed(): VcsError {
  return new VcsError("Cannot read objects of the repository: it was closed");
}

/** Reads lines and counted bytes from a stream. */
class ByteStream {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>>;
  #buffer = new Uint8Array();

  constructor(reader: ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>>) {
    this.#reader = reader;
  }

  async line(): Promise<string> {
    let end = this.#buffer.indexOf(0x0a);
    while (end < 0) {
      const from = this.#buffer.length;
      await this.#fill();
      end = this.#buffer.indexOf(0x0a, from);
    }
    const line = new TextDecoder().decode(this.#buffer.subarray(0, end));
    this.#buffer = this.#buffer.subarray(end + 1);
    return line;
  }

  /** Returns a copy, so that a small object does not keep a large chunk alive. */
  async bytes(count: number): Promise<Uint8Array> {
    const result = new Uint8Array(count);
    let filled = 0;
    while (true) {
      const part = this.#buffer.subarray(0, count - filled);
      result.set(part, filled);
      filled += part.length;
      this.#buffer = this.#buffer.subarray(part.length);
      if (filled === count) return result;
      await this.#fill();
    }
  }

  async skip(count: number): Promise<void> {
    let left = count;
    while (left > this.#buffer.length) {
      left -= this.#buffer.length;
      this.#buffer = new Uint8Array();
      await this.#fill();
    }
    this.#buffer = this.#buffer.subarray(left);
  }

  async cancel(): Promise<void> {
    await this.#reader.cancel().catch(() => {});
  }

  async #fill(): Promise<void> {
    const { value, done } = await this.#reader.read();
    if (done) throw new Error("the process ended");
    if (this.#buffer.length === 0) {
      this.#buffer = value;
      return;
    }
    const joined = new Uint8Array(this.#buffer.length + value.length);
    joined.set(this.#buffer);
    joined.set(value, this.#buffer.length);
    this.#buffer = joined;
  }
}
