/**
 * Object manifests on disk (formats §5, §6).
 *
 * @module
 */

import { dirname, join } from "node:path";
import { ConfigError, messageOf } from "../model/errors.ts";
import { compareCodePoints } from "../model/json.ts";
import { checkKey, keyOfPath, keyProblem, manifestPath } from "../model/keys.ts";
import type { ObjectManifest, Pin } from "../model/manifest.ts";
import { mapLimit } from "../io/pool.ts";
import { Fields } from "./_fields.ts";
import { isTemporary, readText, removeIfThere, syncFolder, writeAtomic } from "./atomic.ts";
import { readPolicy } from "./config.ts";
import { datasetPaths, makeFolder } from "./layout.ts";
import { isTable, MAX_TOML_BYTES, readsBackAs, readToml, type TomlTable, writeToml } from "./toml.ts";
import { spliceToml, type TomlChanges } from "./toml_edit.ts";

/** A manifest file that cannot be used. Its pins still count as references. */
export interface BrokenManifest {
  /** The key its path stands for. */
  readonly key: string;
  /** Its path from the dataset root, with `/`. */
  readonly path: string;
  readonly error: ConfigError;
  /** Whether it holds the conflict markers of a merge. */
  readonly conflicted: boolean;
  /** Pin ids found in its text, on every side of a conflict. */
  readonly pinIds: readonly string[];
}

/** All manifests of a working tree. */
export interface ManifestSet {
  /** By key, sorted by code point. */
  readonly objects: ReadonlyMap<string, ObjectManifest>;
  /** Files that cannot be used, by path. */
  readonly broken: readonly BrokenManifest[];
}

/**
 * Reads one manifest. Unknown fields are ignored. `name` is how errors call it.
 *
 * @throws {ConfigError} if it does not parse, or a value is wrong.
 */
export function parseManifest(text: string, name: string): ObjectManifest {
  const fields = new Fields(readToml(text, name), name);
  const key = fields.requiredText("key");
  const problem = keyProblem(key);
  if (problem !== undefined) throw fields.problem("key", `it is no key: ${problem}`);
  return {
    key,
    kind: fields.requiredText("kind"),
    locator: fields.object("locator") ?? {},
    policy: readPolicy(fields.table("policy")),
    state: fields.object("state") ?? null,
    pin: fields.has("pin") ? readPin(fields.table("pin")) : null,
    recoverable: fields.flag("recoverable", true),
    origin: fields.anyText("origin") === "created" ? "created" : "adopted",
    capturedAt: fields.time("captured_at") ?? null,
  };
}

function readPin(fields: Fields): Pin {
  const pin = { id: fields.requiredText("id"), ref: fields.requiredText("ref") };
  for (const [key, value] of Object.entries(pin)) {
    // Ids and refs are handed to stores and programs (L41).
    if (!/^[!-~]+$/.test(value) || value.startsWith("-")) {
      throw fields.problem(key, "it is not plain ASCII without spaces and a leading hyphen");
    }
  }
  return pin;
}

/** Writes a manifest that has no file yet. One that has is changed by {@link reviseManifest}. */
export function formatManifest(manifest: ObjectManifest): string {
  const table = manifestTable(manifest);
  return checked(writeToml(table), table, manifest.key);
}

/**
 * Writes a manifest over its previous text: comments and unknown keys stay, and a value that is as before is not touched.
 *
 * @throws {ConfigError} if the previous text does not parse; nothing may be written over it then.
 */
export async function reviseManifest(manifest: ObjectManifest, previous: string): Promise<string> {
  const wanted = manifestTable(manifest);
  const name = manifestPath(manifest.key);
  const before = readToml(previous, name);
  const changes: TomlChanges = {
    ...Object.fromEntries(MACHINE_KEYS.map((key) => [key, undefined])),
    ...wanted,
    // Relics and unknown keys inside [policy] stay.
    policy: { ...(isTable(before["policy"]) ? before["policy"] : {}), ...wanted["policy"] as TomlTable },
  };
  return await spliceToml(previous, changes, name);
}

/** Tells whether a text says something else than a manifest; one that does not parse does. */
export function saysElse(manifest: ObjectManifest, text: string): boolean {
  const written = writeToml(manifestTable(manifest));
  if (written === text) return false;
  try {
    return writeToml(manifestTable(parseManifest(text, manifest.key))) !== written;
  } catch (error) {
    if (error instanceof ConfigError) return true;
    throw error;
  }
}

const MACHINE_KEYS = ["key", "kind", "recoverable", "origin", "captured_at", "locator", "policy", "state", "pin"];

function manifestTable(m: ObjectManifest): TomlTable {
  return {
    key: m.key,
    kind: m.kind,
    recoverable: m.recoverable,
    ...(m.origin === "created" ? { origin: "created" } : {}),
    ...(m.capturedAt === null ? {} : { captured_at: m.capturedAt }),
    locator: m.locator,
    policy: { file: m.policy.file, pin: m.policy.pin },
    ...(m.state === null ? {} : { state: m.state }),
    ...(m.pin === null ? {} : { pin: { id: m.pin.id, ref: m.pin.ref } }),
  };
}

function checked(text: string, wanted: TomlTable, key: string): string {
  if (readsBackAs(text, wanted)) return text;
  throw new ConfigError(`Cannot write the manifest of "${key}": its text would not read back as meant`, {
    code: "toml-rewrite",
  });
}

/** Returns the pin ids in a text by their form alone, for a manifest that does not parse (formats §19.2). */
export function pinIdsIn(text: string): string[] {
  return [...new Set(text.match(/(?<![0-9A-Za-z])[0-9a-f]{8}\.[0-9a-f]{16}(?![0-9a-f])/g))];
}

/** What a manifest file was when it was read. */
interface Cached {
  readonly stamp: string;
  readonly result: ObjectManifest | BrokenManifest;
}

/** A file may change within one tick of the clock its times are taken from: a younger one is read again. */
const SETTLED_MS = 2000;
const READS_AT_ONCE = 32;
const WRITES_AT_ONCE = 32;

/** The manifests of one working tree. */
export class ManifestStore {
  readonly #root: string;
  readonly #now: () => Date;
  readonly #cache = new Map<string, Cached>();
  /** Paths of keys whose file does not lie where the key says. */
  readonly #paths = new Map<string, string>();

  #leftovers: readonly string[] = [];

  constructor(root: string, options: { readonly now?: () => Date } = {}) {
    this.#root = root;
    this.#now = options.now ?? (() => new Date());
  }

  /** Temporary files among the manifests, as they were last read: a process died before it could rename them (formats §17). */
  get leftovers(): readonly string[] {
    return this.#leftovers.map((path) => join(this.#root, path));
  }

  /**
   * Reads every manifest. Of two files with one key neither counts: other tools take the last by path, and nobody can tell
   * which was meant. One of them stands for the key, so that it is never taken for removed.
   *
   * @throws {ConfigError} if a folder cannot be listed: an answer that left something out must not exist.
   */
  async read(): Promise<ManifestSet> {
    const files = await this.#files();
    const results = await mapLimit(files, READS_AT_ONCE, (path) => this.#readFile(path));
    const usable = new Map<string, ObjectManifest>();
    const broken: BrokenManifest[] = [];
    this.#paths.clear();
    for (const [index, result] of results.entries()) {
      const path = files[index] ?? "";
      if (result === undefined) continue;
      if ("error" in result) {
        broken.push(result);
        continue;
      }
      usable.set(path, result);
    }
    const objects = new Map<string, ObjectManifest>();
    for (const [key, files] of Map.groupBy(usable, ([, manifest]) => manifest.key)) {
      const [path, manifest] = files.find(([path]) => path === manifestPath(key)) ?? files.at(-1) ?? [];
      if (path === undefined || manifest === undefined) continue;
      this.#paths.set(key, path);
      if (files.length === 1) objects.set(key, manifest);
      else broken.push(...files.map(([file, { pin }]) => duplicate(file, { key, files, pin, stands: file === path })));
    }
    const known = new Set(files);
    for (const path of this.#cache.keys()) if (!known.has(path)) this.#cache.delete(path);
    return {
      objects: new Map([...objects].sort(([a], [b]) => compareCodePoints(a, b))),
      broken: broken.sort((a, b) => compareCodePoints(a.path, b.path)),
    };
  }

  /** Returns the exact text of a key's manifest; `undefined` when there is none. */
  async text(key: string): Promise<string | undefined> {
    return await this.#text(this.#pathOf(key));
  }

  /**
   * Records an object. A manifest that already says so is left alone, byte for byte.
   *
   * @throws {ConfigError} if the file there does not parse, or the result would not read back.
   */
  async write(manifest: ObjectManifest): Promise<void> {
    await this.writeAll([manifest]);
  }

  /**
   * Records several objects, each as {@link write} does, and makes all of it durable. Side by side they share the waiting
   * for the disk; each folder is synced once.
   */
  async writeAll(manifests: readonly ObjectManifest[]): Promise<void> {
    const folders = new Set(manifests.map((m) => dirname(join(this.#root, this.#pathOf(checkKey(m.key))))));
    for (const folder of folders) await makeFolder(this.#root, folder);
    await mapLimit(manifests, WRITES_AT_ONCE, async (manifest) => {
      const previous = await this.text(manifest.key);
      const text = previous === undefined ? formatManifest(manifest) : await reviseManifest(manifest, previous);
      if (text !== previous) await this.#replace(manifest.key, text, false);
    });
    for (const folder of folders) await syncFolder(folder);
  }

  /** Returns the absolute path of a key's file, which need not exist. */
  fileOf(key: string): string {
    return join(this.#root, this.#pathOf(checkKey(key)));
  }

  /** Replaces a manifest by an exact text, for undo and roll back. */
  async writeText(key: string, text: string): Promise<void> {
    await makeFolder(this.#root, dirname(join(this.#root, this.#pathOf(checkKey(key)))));
    await this.#replace(key, text, true);
  }

  /** Replaces a file whose folder exists. */
  async #replace(key: string, text: string, syncFolder: boolean): Promise<void> {
    const path = join(this.#root, this.#pathOf(key));
    await writeAtomic(path, text, { tempDir: datasetPaths(this.#root).cache, syncFolder });
  }

  /** Removes a manifest and the folders that leaves empty; it is fine when it is gone. */
  async remove(key: string): Promise<void> {
    const objects = datasetPaths(this.#root).objects;
    const path = join(this.#root, this.#pathOf(checkKey(key)));
    await removeIfThere(path);
    for (let folder = dirname(path); folder !== objects; folder = dirname(folder)) {
      try {
        await Deno.remove(folder);
      } catch {
        // Not empty, or gone: nothing more to tidy.
        break;
      }
    }
  }

  #pathOf(key: string): string {
    return this.#paths.get(key) ?? manifestPath(key);
  }

  async #readFile(path: string): Promise<ObjectManifest | BrokenManifest | undefined> {
    const stamp = await this.#stamp(path);
    const cached = this.#cache.get(path);
    if (stamp !== undefined && cached?.stamp === stamp) return cached.result;
    let text: string | undefined;
    let result: ObjectManifest | BrokenManifest;
    try {
      text = await this.#text(path);
      if (text === undefined) return undefined;
      result = parseManifest(text, path);
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      result = brokenManifest(path, error, pinIdsIn(text ?? ""));
    }
    if (stamp !== undefined) this.#cache.set(path, { stamp, result });
    return result;
  }

  #text(path: string): Promise<string | undefined> {
    return readText(join(this.#root, path), { name: path, maxBytes: MAX_TOML_BYTES, noFollow: true });
  }

  /** Returns what tells versions of a file apart; `undefined` for one too young to trust its times. */
  async #stamp(path: string): Promise<string | undefined> {
    try {
      const info = await Deno.lstat(join(this.#root, path));
      const times = [info.mtime?.getTime() ?? Infinity, info.ctime?.getTime() ?? 0];
      if (Math.max(...times) > this.#now().getTime() - SETTLED_MS) return undefined;
      return [info.size, info.ino, ...times].join(":");
    } catch {
      // Gone since it was listed; reading it says so.
      return undefined;
    }
  }

  /**
   * Lists every manifest file, ordered by path segment. Whatever lies in a manifest's place is listed, so that it shows as
   * broken: a link, a pipe, a socket, and a folder that holds no manifest.
   */
  async #files(): Promise<string[]> {
    const found: string[] = [];
    const leftovers: string[] = [];
    const visit = async (folder: string): Promise<void> => {
      let entries: Deno.DirEntry[];
      try {
        entries = await Array.fromAsync(Deno.readDir(join(this.#root, folder)));
      } catch (error) {
        if (error instanceof Deno.errors.NotFound) return;
        throw new ConfigError(`Cannot list "${folder}": ${messageOf(error)}`, {
          code: "unreadable",
          hints: ["Make it a folder that can be read: its last committed content is in version control"],
          cause: error,
        });
      }
      for (const entry of entries.sort((a, b) => compareCodePoints(a.name, b.name))) {
        const path = `${folder}/${entry.name}`;
        const before = found.length;
        if (entry.isDirectory) await visit(path);
        if (entry.isFile && isTemporary(entry.name)) leftovers.push(path);
        if (entry.name.endsWith(".toml") && found.length === before) found.push(path);
      }
    };
    await visit(".tether/objects");
    this.#leftovers = leftovers;
    return found;
  }
}

interface Duplicate {
  readonly key: string;
  readonly files: readonly (readonly [string, ObjectManifest])[];
  readonly pin: Pin | null;
  /** Whether this file is the one that is listed under the key. */
  readonly stands: boolean;
}

/** Describes one of several files with the same key. */
function duplicate(path: string, { key, files, pin, stands }: Duplicate): BrokenManifest {
  const others = files.map(([other]) => other).filter((other) => other !== path);
  const error = new ConfigError(
    `Cannot use "${path}": it has the same key "${key}" as ${others.map((other) => `"${other}"`).join(", ")}`,
    {
      code: "duplicate-key",
      hints: [`Keep one of ${[path, ...others].map((file) => `"${file}"`).join(", ")} and delete the rest`],
      details: { file: path, others, key },
    },
  );
  const broken = brokenManifest(path, error, pin ? [pin.id] : []);
  return stands ? { ...broken, key } : broken;
}

function brokenManifest(path: string, error: ConfigError, pinIds: readonly string[]): BrokenManifest {
  return {
    key: keyOfPath(path),
    path,
    error,
    conflicted: error.code === "conflicted",
    pinIds,
  };
}
