/**
 * A dataset in a throw-away repository with real stores beside it, made by one of the two implementations.
 *
 * @module
 */

import assert from "node:assert/strict";
import { join } from "node:path";
import { contentState, type ObjectManifest } from "../../engine/model/manifest.ts";
import { computePinId } from "../../engine/model/hash.ts";
import { CloneIndexes } from "../../engine/files/indexes.ts";
import { Journal } from "../../engine/files/journal.ts";
import { datasetPaths } from "../../engine/files/layout.ts";
import { ManifestStore } from "../../engine/files/manifests.ts";
import { asTempRepo, type TempJjRepo, tempJjRepo, type TempJjRepoOptions } from "../helpers/jj_repo.ts";
import { type TempRepo, tempRepo, type TempRepoOptions } from "../helpers/repo.ts";
import type { Side } from "./_peer.ts";
import { backendOf, type Kind, makeStores, type Store, type Stores } from "./_stores.ts";

/** A dataset and its stores. */
export interface Lab extends AsyncDisposable {
  readonly repo: TempRepo;
  /** The dataset's root. */
  readonly root: string;
  /** The dataset's id. */
  readonly id: string;
  readonly stores: Stores;
  readonly journal: Journal;
  readonly indexes: CloneIndexes;
  /** Manifests of the working tree by key. */
  manifests(): Promise<ReadonlyMap<string, ObjectManifest>>;
  /** The pins that the manifests name, by key. */
  pins(): Promise<Record<string, string>>;
  /** Every pin id that a store holds, sorted. */
  pinsIn(store: Store): Promise<string[]>;
  /** The id of the pin that an object's state must have, computed from its manifest. */
  pinIdOf(store: Store): Promise<string>;
}

/** A lab in a jj repository, whose git commands are for the stores. */
export interface JjLab extends Lab {
  readonly jj: TempJjRepo;
}

/** Options of {@link lab}. */
export interface LabOptions extends TempRepoOptions {
  /** @default {["git"]} */
  readonly kinds?: readonly Kind[];
  /** Whether the maker commits the objects as `one`. @default {true} */
  readonly commit?: boolean;
}

/** Makes stores and a dataset on them. */
export async function lab(maker: Side, options: LabOptions = {}): Promise<Lab> {
  return await labIn(await tempRepo(options), maker, options);
}

/** As {@link lab}, in a jj repository. */
export async function jjLab(
  maker: Side,
  options: Pick<LabOptions, "kinds" | "commit"> & TempJjRepoOptions = {},
): Promise<JjLab> {
  const jj = await tempJjRepo(options);
  return { ...await labIn(asTempRepo(jj), maker, options), jj };
}

async function labIn(repo: TempRepo, maker: Side, options: Pick<LabOptions, "kinds" | "commit">): Promise<Lab> {
  try {
    const stores = await makeStores(repo, maker, options.kinds ?? ["git"]);
    const root = repo.path;
    await maker.ok(["init"], root);
    for (const { key, kind, uri } of stores.all) await maker.ok(["add", key, uri, "--kind", kind], root);
    if (options.commit ?? true) await maker.ok(["commit", "-m", "one"], root);
    return await labAt(repo, root, stores);
  } catch (error) {
    await repo[Symbol.asyncDispose]();
    throw error;
  }
}

/** Returns a lab about a dataset that is there already, in the repository or elsewhere beside it. */
export async function labAt(repo: TempRepo, root: string, stores: Stores): Promise<Lab> {
  const id = /^id = "([0-9a-f]{8})"$/m.exec(await Deno.readTextFile(join(root, "tether.toml")))?.[1];
  assert.ok(id);
  const jj = join(root, ".jj", "repo");
  const shared = await Deno.stat(jj).then(
    () => jj,
    () => repo.git(["rev-parse", "--path-format=absolute", "--git-common-dir"], { cwd: root }),
  );
  const manifests = async () => (await new ManifestStore(root).read()).objects;
  return {
    repo,
    root,
    id,
    stores,
    journal: new Journal(datasetPaths(root).journal),
    indexes: new CloneIndexes(shared, id),
    manifests,
    pins: async () =>
      Object.fromEntries([...await manifests()].flatMap(([key, m]) => m.pin === null ? [] : [[key, m.pin.id]])),
    async pinsIn(store) {
      await using backend = await backendOf(store);
      return [...await backend.listPins?.({ uri: store.uri }) ?? []].sort();
    },
    async pinIdOf(store) {
      await using backend = await backendOf(store);
      const manifest = (await manifests()).get(store.key);
      assert.ok(manifest?.state);
      return computePinId(id, {
        kind: store.kind,
        identity: backend.identity(manifest.locator),
        content: contentState(manifest.state, backend.statics.volatileKeys),
      });
    },
    [Symbol.asyncDispose]: () => repo[Symbol.asyncDispose](),
  };
}
