/**
 * Which settings jj runs with: of the user's only those that decide how commits are made, and tether's own on top
 * (formats §15.1). They are handed over in files that only the user can read, and that go when the adapter is closed.
 *
 * @module
 */

import { join } from "node:path";
import { parse } from "smol-toml";
import { type Jj, RS, US } from "./_jj_process.ts";

/** What settings that are kept begin with; aliases come besides. */
const KEPT = ["core.", "fsmonitor.", "git.", "signing.", "snapshot.", "user.", "working-copy."];

/** The revset aliases that decide what is immutable, as jj itself defines them; the user may define each anew. */
const IMMUTABLE = ["immutable_heads", "builtin_immutable_heads", "trunk"];

const AUTO_TRACK = "snapshot.auto-track";

/** Files of any dataset are tracked by name, or by the user's own jj. */
const NOT_OURS = '~ root-glob:"**/.tether/**"';

/** One setting as jj lists it. */
interface Setting {
  /** A dotted TOML key. */
  readonly name: string;
  /** A TOML expression. */
  readonly value: string;
  readonly source: string;
  readonly overridden: boolean;
}

interface UserSettings {
  /** The generated file. */
  readonly file: string;
  /** Which new files the user wants tracked, as a fileset. */
  readonly autoTrack: string;
  /** Fileset aliases that {@link UserSettings.autoTrack} needs. */
  readonly aliases: readonly Setting[];
}

/** The settings of one adapter. */
export class JjSettings implements AsyncDisposable {
  readonly #jj: Jj;
  readonly #cacheDir: string | undefined;
  #folder: Promise<string> | undefined;
  #user: Promise<UserSettings> | undefined;
  #files = 0;

  /** @param cacheDir Where to keep the files. @default {the system's folder for temporary files} */
  constructor(jj: Jj, cacheDir: string | undefined) {
    this.#jj = jj;
    this.#cacheDir = cacheDir;
  }

  /** Returns a file with the user's settings, for `JJ_CONFIG`. It is made once. */
  async config(): Promise<string> {
    return (await this.#read()).file;
  }

  /**
   * Returns options of a command that may write: new files are tracked as the user wants, those of datasets left out.
   *
   * @param own Further settings, which win over all others.
   */
  async forWriting(
    own: Readonly<Record<string, string | readonly string[]>> = {},
  ): Promise<{ readonly config: string; readonly overlay: string }> {
    const { file, autoTrack, aliases } = await this.#read();
    const settings = { [AUTO_TRACK]: `(${autoTrack}) ${NOT_OURS}`, ...own };
    // What TOML calls a basic string is what JSON calls a string.
    const lines = Object.entries(settings).map(([name, value]) => `${name} = ${JSON.stringify(value)}`);
    return { config: file, overlay: await this.#write([...aliases.map(line), ...lines]) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const folder = await this.#folder?.catch(() => undefined);
    this.#folder = undefined;
    this.#user = undefined;
    if (folder !== undefined) await Deno.remove(folder, { recursive: true }).catch(() => {});
  }

  #read(): Promise<UserSettings> {
    return this.#user ??= this.#load();
  }

  async #load(): Promise<UserSettings> {
    const fields = ["name", "value", "source", "overridden"].map((field) => `self.${field}()`);
    const template = `${fields.join(` ++ "${US}" ++ `)} ++ "${RS}"`;
    const listing = await this.#jj.ask(["config", "list", "--include-overridden", `--template=${template}`], {
      doing: "read the settings of jj",
    });
    const settings = listing.text().split(RS).filter((record) => record !== "").map((record): Setting => {
      const [name = "", value = "", source = "", overridden = ""] = record.split(US);
      return { name, value, source, overridden: overridden === "true" };
    });
    const own = settings.filter((s) => s.source === "system" || s.source === "user");
    const chosen = settings.find((s) => s.name === AUTO_TRACK && !s.overridden);
    const autoTrack = chosen === undefined ? "all()" : textOf(chosen.value);
    const kept = [
      ...own.filter((s) => KEPT.some((prefix) => s.name.startsWith(prefix))),
      ...reached(own, "revset-aliases.", { names: IMMUTABLE, text: "" }),
    ];
    // The last one of a name is the one that counts, and a file may not say it twice.
    const lines = [...new Map(kept.map((s) => [s.name, line(s)])).values()];
    const aliases = reached(own, "fileset-aliases.", { names: [], text: autoTrack });
    return { file: await this.#write(lines), autoTrack, aliases };
  }

  async #write(lines: readonly string[]): Promise<string> {
    const path = join(await this.#ownFolder(), `${this.#files++}.toml`);
    await Deno.writeTextFile(path, lines.map((text) => text + "\n").join(""), { mode: 0o600 });
    return path;
  }

  #ownFolder(): Promise<string> {
    return this.#folder ??= makeFolder(this.#cacheDir);
  }
}

async function makeFolder(cacheDir: string | undefined): Promise<string> {
  const prefix = "tether-jj-";
  if (cacheDir !== undefined) {
    try {
      await Deno.mkdir(cacheDir, { recursive: true });
      return await Deno.makeTempDir({ dir: cacheDir, prefix });
    } catch {
      // A checkout that cannot be written, or a dataset that is not there yet.
    }
  }
  return await Deno.makeTempDir({ prefix });
}

function line({ name, value }: Setting): string {
  return `${name} = ${value}`;
}

function textOf(value: string): string {
  const parsed = parse(`value = ${value}`)["value"];
  // jj refuses what is no text; here it may say so itself.
  return typeof parsed === "string" ? parsed : value;
}

/** Returns the aliases of a table that some names or a text lead to, by what each is defined with. */
function reached(
  settings: readonly Setting[],
  table: string,
  start: { readonly names: readonly string[]; readonly text: string },
): Setting[] {
  const aliases = settings.filter((s) => s.name.startsWith(table)).map((setting) => ({
    setting,
    // The key is quoted when it has parameters, as in `"x(a)"`, or is a pattern, as in `"x:a"`.
    name: /^["']?([^"'(:]*)/.exec(setting.name.slice(table.length))?.[1] ?? "",
  }));
  const wanted = new Set([...start.names, ...wordsOf(start.text)]);
  const found = new Set<Setting>();
  for (let before = -1; before < found.size;) {
    before = found.size;
    for (const { setting, name } of aliases) {
      if (!wanted.has(name)) continue;
      found.add(setting);
      for (const word of wordsOf(textOf(setting.value))) wanted.add(word);
    }
  }
  return [...found];
}

function wordsOf(text: string): string[] {
  return text.match(/[\p{L}\p{N}_-]+/gu) ?? [];
}
