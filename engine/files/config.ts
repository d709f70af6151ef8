/**
 * `tether.toml`, the dataset's configuration (formats §4, §16).
 *
 * @module
 */

import { ConfigError } from "../model/errors.ts";
import type { JsonObject } from "../model/json.ts";
import type { Policy } from "../model/manifest.ts";
import { isDatasetId } from "../model/names.ts";
import { Fields } from "./_fields.ts";
import { misspelt } from "./_misspelt.ts";
import { readText, writeAtomic } from "./atomic.ts";
import { datasetPaths } from "./layout.ts";
import { readToml, type TomlTable, type TomlValue, writeToml } from "./toml.ts";

/** The dataset format this tether reads and writes. */
export const DATASET_VERSION = 5;

const MAX_BYTES = 1024 * 1024;

/**
 * What `tether.toml` says.
 *
 * @example Read the dataset's id and trunk
 * ```ts
 * import { Dataset, type DatasetConfig } from "@tether/tether";
 * import assert from "node:assert/strict";
 * import { execSync } from "node:child_process";
 *
 * const cwd = await Deno.makeTempDir();
 * execSync("git init -q", { cwd });
 * await using ds = await Dataset.init(cwd);
 * const config: DatasetConfig = ds.config;
 * assert.match(config.datasetId, /^[0-9a-f]{8}$/);
 * assert.equal(config.newFork, "lazy");
 * ```
 */
export interface DatasetConfig {
  /** Format of the dataset. */
  readonly version: number;
  /** 8 hex digits, the namespace of all refs; empty only for a version before 2. */
  readonly datasetId: string;
  /** `status` reads every store by default. */
  readonly snapshotAuto: boolean;
  /** `status` also verifies, shallowly. */
  readonly verifyOnStatus: boolean;
  /** When `new` makes branches. */
  readonly newFork: "lazy" | "eager";
  /** Policy of objects added without one. */
  readonly defaults: Policy;
  /** The trunk bookmark. */
  readonly trunk: string;
  /** Which VCS a repository of both is read with. */
  readonly prefer: string;
  /** `[backends.<kind>]` as committed; each backend refuses what may not be set here. */
  readonly backends: Readonly<Record<string, JsonObject>>;
  /** `[import] query`: never used, refused where it would be. */
  readonly importQuery: string | undefined;
}

/**
 * Reads a configuration.
 *
 * @throws {ConfigError} with code `version-newer` or `version-older` for another format, `dataset-id` for a missing or
 * malformed id, `value` for any other wrong value.
 */
export function parseConfig(
  text: string,
  name: string,
  options: {
    /**
     * Reads an older format too, for `upgrade`.
     * @default {false}
     */
    readonly allowOlder?: boolean;
    /** Is told of keys that look like a known one and are not. */
    readonly warn?: (text: string) => void;
  } = {},
): DatasetConfig {
  const document = readToml(text, name, { maxLength: MAX_BYTES });
  const fields = new Fields(document, name);
  const version = fields.table("tether").whole("version") ?? 1;
  checkVersion(version, name, options.allowOlder ?? false);
  const vcs = fields.table("vcs");
  for (const key of ["git_path", "jj_path"]) {
    if (vcs.has(key)) {
      throw new ConfigError(`Cannot use "${name}": vcs.${key}: a clone must not choose a program`, {
        code: "value",
        hints: [
          `Move it to [vcs] in ".tether/secrets.toml", or set ${key === "git_path" ? "TETHER_GIT" : "TETHER_JJ"}`,
        ],
        details: { file: name, path: `vcs.${key}` },
      });
    }
  }
  if (options.warn) misspelt(document, name).forEach(options.warn);
  return {
    version,
    datasetId: datasetId(fields, version, name),
    snapshotAuto: fields.table("snapshot").flag("auto", false),
    verifyOnStatus: fields.table("verify").flag("on_status", false),
    newFork: fields.table("new").choice("fork", ["lazy", "eager"], "lazy"),
    defaults: readPolicy(fields.table("defaults")),
    trunk: vcs.text("trunk") ?? "main",
    prefer: vcs.text("prefer") ?? "jj",
    backends: fields.table("backends").record((table, kind) => table.object(kind) ?? {}),
    importQuery: fields.table("import").anyText("query"),
  };
}

/** Reads a policy: `file` and `pin`, each checked; other keys, such as the old `write`, are ignored. */
export function readPolicy(fields: Fields): Policy {
  return {
    file: fields.choice("file", ["immutable", "versioned"], "immutable"),
    pin: fields.choice("pin", ["native", "record"], "native"),
  };
}

/** Returns the text `init` writes. */
export function newConfigText(options: { readonly datasetId: string; readonly trunk: string }): string {
  return writeToml({
    tether: { version: DATASET_VERSION },
    dataset: { id: options.datasetId },
    snapshot: { auto: false },
    verify: { on_status: false },
    new: { fork: "lazy" },
    defaults: { file: "immutable", pin: "native" },
    ...(options.trunk === "main" ? {} : { vcs: { trunk: options.trunk } }),
  });
}

/**
 * Reads the configuration of the dataset at a root.
 *
 * @throws {ConfigError} as {@link parseConfig}, and when there is none.
 */
export async function readConfig(
  root: string,
  options: { readonly allowOlder?: boolean; readonly warn?: (text: string) => void } = {},
): Promise<DatasetConfig> {
  return parseConfig(await configText(root), "tether.toml", options);
}

/** Sets values of `tether.toml`, by table and key, in place: comments and unknown keys stay. */
export async function updateConfig(
  root: string,
  values: Readonly<Record<string, Readonly<Record<string, TomlValue>>>>,
): Promise<void> {
  const text = await configText(root);
  const before = readToml(text, "tether.toml", { maxLength: MAX_BYTES });
  const changes = Object.fromEntries(
    Object.entries(values).map(([table, keys]) => [table, { ...before[table] as TomlTable | undefined, ...keys }]),
  );
  const { spliceToml } = await import("./toml_edit.ts");
  const paths = datasetPaths(root);
  await writeAtomic(paths.config, await spliceToml(text, changes, "tether.toml"), { tempDir: paths.cache });
}

async function configText(root: string): Promise<string> {
  const path = datasetPaths(root).config;
  const text = await readText(path, { name: "tether.toml", maxBytes: MAX_BYTES });
  if (text === undefined) throw new ConfigError(`Cannot read "${path}": there is none`, { code: "no-dataset" });
  return text;
}

function checkVersion(version: number, name: string, allowOlder: boolean): void {
  const details = { file: name, version, supported: DATASET_VERSION };
  if (version > DATASET_VERSION) {
    throw new ConfigError(
      `Cannot use the dataset: its format is version ${version}, this tether reads version ${DATASET_VERSION}`,
      { code: "version-newer", hints: ["Use a newer tether"], details },
    );
  }
  if (version < DATASET_VERSION && !allowOlder) {
    throw new ConfigError(
      `Cannot use the dataset: its format is version ${version}, this tether reads version ${DATASET_VERSION}`,
      { code: "version-older", hints: ["tether upgrade --dry-run", "tether upgrade"], details },
    );
  }
}

function datasetId(fields: Fields, version: number, name: string): string {
  const id = fields.table("dataset").anyText("id");
  if (id !== undefined && isDatasetId(id)) return id;
  if (id === undefined && version < 2) return "";
  const problem = id === undefined ? "it is missing" : `"${id}" is not 8 lower-case hex digits`;
  throw new ConfigError(`Cannot use "${name}": dataset.id: ${problem}`, {
    code: "dataset-id",
    hints: [
      "tether recover",
      `Put the dataset's own id back; for a dataset that never pinned anything, put into tether.toml:\n[dataset]\nid = "${
        crypto.randomUUID().slice(0, 8)
      }"`,
    ],
    details: { file: name },
  });
}
