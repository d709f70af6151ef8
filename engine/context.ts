/**
 * An opened dataset from the inside: its files, its version control, its backends, and what was read of them. Commands
 * are functions of this.
 *
 * @module
 */

import { detectVcs } from "../vcs/detect.ts";
import type { Position, VcsAdapter, VcsOptions } from "../vcs/adapter.ts";
import { BackendPool } from "./kinds.ts";
import { type EngineEnv, REAL_ENV } from "./env.ts";
import { type DatasetConfig, readConfig } from "./files/config.ts";
import { CloneIndexes } from "./files/indexes.ts";
import { Journal } from "./files/journal.ts";
import {
  type DatasetPaths,
  datasetPaths,
  ensureGitignore,
  findRoot,
  ignoreCommand,
  refuseLinks,
  usableCache,
} from "./files/layout.ts";
import { type BrokenManifest, ManifestStore } from "./files/manifests.ts";
import { readSecrets, rememberEnvironment } from "./files/secrets.ts";
import { WorkspaceFile, type WorkspaceState } from "./files/workspace.ts";
import { readJudged } from "./judged.ts";
import { Mutex } from "./io/pool.ts";
import { shellQuote } from "./io/shell.ts";
import { ConfigError } from "./model/errors.ts";
import { manifestHash, type ObjectManifest } from "./model/manifest.ts";

/** Options of {@link openContext}. */
export interface ContextOptions {
  readonly env?: EngineEnv;
  readonly signal?: AbortSignal;
  /** Milliseconds to wait for the checkout lock; the repository lock waits twice as long. @default {30000} */
  readonly lockTimeoutMs?: number;
  /** Opens a dataset of an older format too, for `upgrade`. @default {false} */
  readonly allowOlder?: boolean;
}

/** What was read of the working tree at one moment. */
export interface View {
  readonly objects: ReadonlyMap<string, ObjectManifest>;
  readonly broken: readonly BrokenManifest[];
  readonly workspace: WorkspaceState;
}

/** An opened dataset. */
export class Context implements AsyncDisposable {
  readonly root: string;
  readonly paths: DatasetPaths;
  readonly config: DatasetConfig;
  readonly vcs: VcsAdapter;
  readonly env: EngineEnv;
  readonly backends: BackendPool;
  readonly manifests: ManifestStore;
  readonly workspaceFile: WorkspaceFile;
  readonly journal: Journal;
  readonly indexes: CloneIndexes;
  readonly lockTimeoutMs: number;
  /** Writing calls of this process queue here before they wait for the file lock. */
  readonly writers: Mutex = new Mutex();
  /** What the user should know though nothing failed. */
  readonly warnings: string[] = [];
  #view: View;

  constructor(parts: ContextParts) {
    this.root = parts.root;
    this.paths = parts.paths;
    this.config = parts.config;
    this.vcs = parts.vcs;
    this.env = parts.env;
    this.backends = parts.backends;
    this.manifests = parts.manifests;
    this.workspaceFile = parts.workspaceFile;
    this.lockTimeoutMs = parts.lockTimeoutMs;
    this.journal = new Journal(parts.paths.journal, {
      now: parts.env.now,
      newId: () => parts.env.randomHex().slice(0, 12),
    });
    this.indexes = new CloneIndexes(parts.vcs.location.sharedDir, parts.config.datasetId, { now: parts.env.now });
    this.#view = parts.view;
  }

  /** Objects by key, in code-point order. */
  get objects(): ReadonlyMap<string, ObjectManifest> {
    return this.#view.objects;
  }

  /** Manifests that do not parse, or hold a state that is none. */
  get broken(): readonly BrokenManifest[] {
    return this.#view.broken;
  }

  /** Every key there is, also those whose manifests do not parse. */
  keys(): string[] {
    return [...new Set([...this.objects.keys(), ...this.broken.map((b) => b.key)])];
  }

  /** The working state of this checkout. */
  get workspace(): WorkspaceState {
    return this.#view.workspace;
  }

  /** Whether this checkout works on the trunk. */
  get onTrunk(): boolean {
    return this.workspace.bookmark === this.config.trunk;
  }

  /** Reads manifests and workspace again, as taking a lock does (formats §17). */
  async refresh(): Promise<void> {
    this.vcs.refresh();
    const { objects, broken } = await readJudged(this.manifests, this.root);
    this.#view = { objects, broken, workspace: await this.workspaceFile.read() };
  }

  /** Where the working copy is. */
  position(): Promise<Position> {
    return this.vcs.position();
  }

  /** Writes the working state. */
  async saveWorkspace(workspace: WorkspaceState): Promise<void> {
    await this.workspaceFile.write(workspace);
    this.#view = { ...this.#view, workspace };
  }

  /** Writes manifests and reads them back into the view. */
  async saveManifests(changed: readonly ObjectManifest[]): Promise<void> {
    await this.manifests.writeAll(changed);
    const { objects, broken } = await readJudged(this.manifests, this.root);
    this.#view = { ...this.#view, objects, broken };
  }

  /** Returns an object. @throws {ConfigError} if there is none, or if its manifest does not parse. */
  object(key: string): ObjectManifest {
    const found = this.objects.get(key);
    if (found) return found;
    const broken = this.broken.find((b) => b.key === key);
    if (broken) throw broken.error;
    throw new ConfigError(`Cannot find object "${key}": this dataset has none of that key`, {
      code: "no-object",
      hints: ["tether status"],
    });
  }

  /**
   * Refuses while manifests cannot be used: what they say of their objects is not known.
   *
   * @throws {ConfigError} naming each.
   */
  requireWholeManifests(): void {
    const [first, ...rest] = this.broken;
    if (!first) return;
    const isTwin = ({ error }: BrokenManifest): boolean =>
      error.code === "duplicate-key" && error.details["key"] === first.error.details["key"];
    if (rest.every(isTwin)) throw first.error;
    const list = this.broken.map((b) => b.path).join(", ");
    throw new ConfigError(`Cannot go on while ${this.broken.length} manifests cannot be used: ${list}`, {
      code: "manifest",
      hints: ["tether status"],
    });
  }

  /** The manifest hash of the working tree. A manifest that does not parse counts as absent. */
  manifestHash(): string {
    return manifestHash(this.objects.values());
  }

  /** Adds a warning that was not given yet. */
  warn(text: string): void {
    if (!this.warnings.includes(text)) this.warnings.push(text);
  }

  /** Ends helper processes, pools and workers. Takes no lock. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.backends[Symbol.asyncDispose]();
    await this.vcs[Symbol.asyncDispose]();
  }
}

interface ContextParts {
  readonly root: string;
  readonly paths: DatasetPaths;
  readonly config: DatasetConfig;
  readonly vcs: VcsAdapter;
  readonly env: EngineEnv;
  readonly backends: BackendPool;
  readonly manifests: ManifestStore;
  readonly workspaceFile: WorkspaceFile;
  readonly lockTimeoutMs: number;
  readonly view: View;
}

/** Returns the dataset root at or above a folder. @throws {ConfigError} if there is none. */
export async function requireRoot(start: string): Promise<string> {
  const root = await findRoot(start);
  if (root !== undefined) return root;
  throw new ConfigError(`Cannot find a dataset: no tether.toml at or above "${start}"`, {
    code: "no-dataset",
    hints: ["tether init"],
  });
}

/**
 * Opens the dataset at or above a folder. Nothing is written but a missing workspace id and missing ignore lines.
 *
 * @throws {ConfigError} if there is none, its format is another one, or the VCS tracks a per-checkout file.
 * @throws {VcsError} if no version control encloses it, or it cannot answer.
 */
export async function openContext(start: string, options: ContextOptions = {}): Promise<Context> {
  const env = options.env ?? REAL_ENV;
  const root = await requireRoot(start);
  const paths = datasetPaths(root);
  await refuseLinks(paths);
  const misspelt: string[] = [];
  const config = await readConfig(root, {
    allowOlder: options.allowOlder ?? false,
    warn: (text) => misspelt.push(text),
  });
  const signal = options.signal === undefined ? {} : { signal: options.signal };

  // secrets.toml may name the program, but it is believed only once a program from outside says it is not tracked.
  const outside = programsOf(undefined, env);
  const first: VcsOptions = { prefer: config.prefer, programs: outside, remember: true, ...signal };
  let vcs = await detectVcs(root, first);
  try {
    await refuseTracked(paths, vcs);
    const { secrets, warnings } = await readSecrets(root);
    rememberEnvironment(secrets, env.variable);
    if (secrets.vcs.gitPath !== undefined || secrets.vcs.jjPath !== undefined) {
      await vcs[Symbol.asyncDispose]();
      vcs = await detectVcs(root, { ...first, programs: programsOf(secrets.vcs, env) });
    }
    await ensureGitignore(root, "complete");
    const manifests = new ManifestStore(root);
    const workspaceFile = new WorkspaceFile(root, env.randomHex);
    const { objects, broken } = await readJudged(manifests, root);
    const workspace = await workspaceFile.read();
    const cacheDir = workspaceFile.persistent ? await usableCache(paths, workspace.workspaceId) : undefined;
    const context: Context = new Context({
      root,
      paths,
      config,
      vcs,
      env,
      manifests,
      workspaceFile,
      lockTimeoutMs: options.lockTimeoutMs ?? 30_000,
      view: { objects, broken, workspace },
      backends: new BackendPool({
        committed: config.backends,
        secrets,
        objects: () => objects.values(),
        common: {
          ...(cacheDir === undefined ? {} : { cacheDir }),
          datasetRoot: root,
          checkoutRoot: vcs.location.root,
          programs: programsOf(secrets.vcs, env),
          now: env.now,
          warn: (text) => context.warn(text),
        },
      }),
    });
    for (const warning of [...misspelt, ...warnings]) context.warn(warning);
    return context;
  } catch (error) {
    await vcs[Symbol.asyncDispose]();
    throw error;
  }
}

/** Programs by precedence: secrets.toml, then the environment, then PATH (by name). */
function programsOf(
  secrets: { readonly gitPath?: string; readonly jjPath?: string } | undefined,
  env: EngineEnv,
): { git?: string; jj?: string } {
  const git = secrets?.gitPath ?? env.variable("TETHER_GIT");
  const jj = secrets?.jjPath ?? env.variable("TETHER_JJ");
  return { ...(git ? { git } : {}), ...(jj ? { jj } : {}) };
}

/**
 * Refuses a dataset whose per-checkout files came with a clone: they would be somebody else's (formats §1, L40).
 *
 * @throws {ConfigError} naming the files and how to untrack them.
 */
export async function refuseTracked(paths: DatasetPaths, vcs: VcsAdapter): Promise<void> {
  const present = [paths.secrets, paths.workspace, paths.journal].filter(exists);
  if (present.length === 0) return;
  const { rel } = vcs.location;
  const names = present.map((p) => `${rel === "." ? "" : rel + "/"}.tether/${p.split("/").at(-1)}`);
  const tracked = await vcs.tracked(names);
  if (tracked.length === 0) return;
  const at = shellQuote(vcs.location.root);
  const untrack = vcs.kind === "git"
    ? `git -C ${at} rm -f --cached -- ${tracked.map(shellQuote).join(" ")}`
    : `jj -R ${at} file untrack -- ${tracked.map((t) => shellQuote(`root:${JSON.stringify(t)}`)).join(" ")}`;
  // What is not ignored would be tracked again by the next commit; jj refuses to stop tracking it.
  const ignore = await ignoreCommand(paths.root);
  throw new ConfigError(
    `Cannot open the dataset: ${vcs.kind} tracks ${tracked.map((t) => `"${t}"`).join(", ")}, which ${
      tracked.length === 1 ? "belongs" : "belong"
    } to one checkout: a tracked copy brings somebody else's credentials, branches or history`,
    { code: "tracked-file", hints: ignore === undefined ? [untrack] : [ignore, untrack], details: { tracked } },
  );
}

function exists(path: string): boolean {
  try {
    Deno.lstatSync(path);
    return true;
  } catch {
    // Missing, or in a folder that cannot be read; reading the file itself will say so.
    return false;
  }
}
