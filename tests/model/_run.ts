/**
 * Random sequences of commands on the world, and what must hold after each.
 *
 * @module
 */

import assert from "node:assert/strict";
import { join } from "node:path";
import fc from "fast-check";
import type { Dataset } from "../../engine/dataset.ts";
import { TetherError } from "../../engine/model/errors.ts";
import type { UndoReport } from "../../engine/reports/moving.ts";
import { type Numbers, pick } from "./_numbers.ts";
import { broken, type Step } from "./_rules.ts";
import { lookAtJj } from "./_jj.ts";
import { look, readText, type Sight, workspaceOf } from "./_sight.ts";
import type { Refs } from "./_stores.ts";
import { COMMANDS, type Saved } from "./_tether.ts";
import { brokenUndo, type Done, operationsIn } from "./_undo.ts";
import { typed } from "../helpers/typed.ts";
import { DEEDS } from "./_user.ts";
import { type Clone, inDataset, makeWorld, placesOf, type System, type World, type WorldOptions } from "./_world.ts";

/** What the model knows: who made which pin, and what was there before each operation. */
export interface Model {
  /** Native names of the pins that each clone made, by the clone's name. */
  readonly made: Map<string, Set<string>>;
  /** Operations by id. */
  readonly done: Map<string, Done>;
  readonly saved: Saved[];
  /** Clones as they were after their last command, until the user does something. */
  readonly seen: Map<string, Sight>;
  /** How many steps there were. */
  clock: number;
}

/** What came of the commands, for whoever wants to know how much was tried. */
export type Tally = Map<string, number>;

class Act implements fc.AsyncCommand<Model, World> {
  readonly #name: string;
  readonly #numbers: Numbers;
  readonly #tally: Tally;

  constructor(name: string, numbers: Numbers, tally: Tally) {
    this.#name = name;
    this.#numbers = numbers;
    this.#tally = tally;
  }

  check(): boolean {
    return true;
  }

  async run(model: Model, world: World): Promise<void> {
    const n = this.#numbers;
    const places = placesOf(world);
    // One checkout is where most happens, or too little comes together.
    const place = (n.place < 6 ? places[0] : pick(places.slice(1), n.place)) ?? assert.fail();
    const was = model.seen.get(place.clone.name) ?? await look(place.clone);
    const scene = { world, place, saved: model.saved, names: was.names };
    model.clock++;
    const deed = DEEDS[world.system][this.#name];
    if (deed) {
      await deed(n, scene);
      model.seen.clear();
      await forgetGone(place.clone);
      // A worktree that was removed has no place any more.
      if (place.clone.checkouts.includes(place.root)) await stillReads(place.root);
      return;
    }
    const given = COMMANDS[this.#name]?.(n, scene) ?? assert.fail(this.#name);
    const before = await refsOf(world);
    const owners = new Map(world.stores.map((store) => [store.name, store.owner()]));
    let report: UndoReport | undefined;
    let error: unknown;
    try {
      report = await given.run();
    } catch (thrown) {
      error = thrown;
    }
    const failure = error === undefined ? undefined : kindOf(error);
    this.#count(error);
    const after = await refsOf(world);
    await forgetGone(place.clone);
    const is = await look(place.clone);
    model.seen.set(place.clone.name, is);
    const made = model.made.get(place.clone.name) ?? new Set();
    const step: Step = {
      command: given.command,
      dataset: place.clone.dataset,
      root: place.root,
      force: given.force === true,
      prune: given.prune === true,
      releaseForeign: given.releaseForeign === true,
      failure,
      before,
      after,
      was,
      is,
      made,
      owners,
      reaches: (name, heads, head) =>
        world.stores.find((s) => s.name === name)?.reaches(heads, head) ?? Promise.resolve(false),
    };
    const faults = await broken(step);
    if (report) faults.push(...brokenUndo(model.done.get(report.undone), { report, step, clock: model.clock }));
    if (place.clone.checkouts.includes(place.root)) {
      faults.push(...await stillReads(place.root, (ds) => failure ? [] : notDone(world, step, ds.objects)));
    }
    remember(model, step, place.clone.name);
    const because = error instanceof Error ? `; it said: ${error.message}` : "";
    assert.deepEqual(faults, [], `${this} in ${place.root}${because}`);
  }

  toString(): string {
    return `${this.#name}(${JSON.stringify(this.#numbers)})`;
  }

  #count(error: unknown): void {
    const outcome = error === undefined ? "done" : error instanceof TetherError ? error.code : "crash";
    // Codes that many refusals share say little.
    const vague = ["vcs", "error", "library"].includes(outcome) && error instanceof Error;
    const name = `${this.#name}: ${outcome}${vague ? `: ${error.message.split("\n")[0]}` : ""}`;
    this.#tally.set(name, (this.#tally.get(name) ?? 0) + 1);
  }
}

/** A checkout may be what the command, or the user, did away with. jj leaves the folder of one. */
async function forgetGone(clone: Clone): Promise<void> {
  const { checkouts, system } = clone;
  for (const root of [...checkouts]) {
    if (await isFolder(root)) continue;
    checkouts.splice(checkouts.indexOf(root), 1);
  }
  if (system === "git") return;
  const { workspaces } = await lookAtJj(checkouts[0] ?? "");
  const known = new Set(workspaces.map(({ name }) => name));
  const left = checkouts.filter((root) => known.has(workspaceOf(clone, root)));
  checkouts.splice(0, checkouts.length, ...left);
}

async function isFolder(path: string): Promise<boolean> {
  try {
    return (await Deno.stat(path)).isDirectory;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

/** Anything but tether's own refusals is a defect. */
function kindOf(error: unknown): "refused" | "partial" {
  if (!(error instanceof TetherError)) throw error;
  return error.code === "partial" || error.message.includes("the rest is done") ? "partial" : "refused";
}

async function refsOf(world: World): Promise<Map<string, Refs>> {
  const all = new Map<string, Refs>();
  for (const store of world.stores) all.set(store.name, await store.refs());
  return all;
}

/** Whatever happened, the dataset can be read; and a command that worked brought about what it should. */
async function stillReads(root: string, judge: (dataset: Dataset) => string[] = () => []): Promise<string[]> {
  // The user may have gone to where there is no dataset yet.
  if (await readText(join(root, "tether.toml")) === "") return [];
  const read = () =>
    inDataset(root, async (ds) => {
      await ds.status();
      await ds.verify();
      await ds.ops();
      return judge(ds);
    });
  try {
    return await read();
  } catch (error) {
    if (!(error instanceof TetherError) || error.code !== "tracked-file") throw error;
    // jj takes in what its user stopped ignoring; what the refusal names ends that. jj cannot make a commit that is the same
    // as one it replaced within the same second.
    await new Promise((resolve) => setTimeout(resolve, 1100));
    for (const hint of error.hints) await typed(hint, root);
    return await read();
  }
}

/** What a command that worked must have brought about. */
function notDone(world: World, step: Step, objects: Dataset["objects"]): string[] {
  const faults: string[] = [];
  const texts = [step.was, step.is].map((sight) => sight.places.get(step.root)?.manifests);
  for (const { key, locator, state, pin } of objects.values()) {
    const name = String(locator["system"] ?? locator["uri"]);
    const store = world.stores.find((s) => name.endsWith(s.name));
    const refs = step.after.get(store?.name ?? "");
    if (!store || !refs) continue;
    const path = `.tether/objects/${key}.toml`;
    const recorded = ["commit", "pull"].includes(step.command) && texts[0]?.get(path) !== texts[1]?.get(path);
    if (recorded && pin && state && refs.get(`tag ${pin.ref}`) !== store.headOf(state)) {
      faults.push(`${key} is recorded without its pin`);
    }
    if (step.command !== "gc") continue;
    for (const ref of refs.keys()) {
      const own = ref.startsWith(`tag tether.${step.dataset}.`) ? ref.slice("tag ".length) : "";
      if (step.made.has(own) && !step.is.needed.has(own)) faults.push(`gc left ${own}, which nothing needs`);
    }
  }
  return faults;
}

function remember(model: Model, step: Step, clone: string): void {
  const made = model.made.get(clone) ?? new Set<string>();
  model.made.set(clone, made);
  for (const [store, after] of step.after) {
    const before = step.before.get(store);
    for (const ref of after.keys()) if (ref.startsWith("tag ") && !before?.has(ref)) made.add(ref.slice(4));
    for (const ref of before?.keys() ?? []) if (ref.startsWith("tag ") && !after.has(ref)) made.delete(ref.slice(4));
  }
  const known = new Set(operationsIn(step.was.places.get(step.root)?.journal ?? []));
  for (const id of operationsIn(step.is.places.get(step.root)?.journal ?? [])) {
    if (!known.has(id)) {
      model.done.set(id, { command: step.command, was: step.was, refs: step.before, clock: model.clock });
    }
  }
}

/** Commands that are given more often than others. */
const OFTEN = ["commit", "commit", "commit", "new", "new", "new", "open", "gc", "gc", "gc", "undo", "undo", "drop"];
const OFTEN_DONE = ["write", "write", "work here", "work here", "work here", "work here", "work here"];

/** Returns sequences of what tether and its user do. */
export function sequences(
  tally: Tally,
  options: { readonly system: System; readonly most: number; readonly replayPath?: string },
): fc.Arbitrary<Iterable<fc.AsyncCommand<Model, World>>> {
  const numbers = fc.record({
    place: fc.nat({ max: 9 }),
    a: fc.nat({ max: 99 }),
    b: fc.nat({ max: 99 }),
    c: fc.nat({ max: 99 }),
    f: fc.array(fc.boolean(), { minLength: 2, maxLength: 2 }),
  });
  const act = (names: readonly string[]) =>
    fc.tuple(fc.constantFrom(...names), numbers).map(([name, n]) => new Act(name, n, tally));
  const commands = act([...Object.keys(COMMANDS), ...OFTEN]);
  const deeds = act([...Object.keys(DEEDS[options.system]), ...OFTEN_DONE]);
  return fc.commands([commands, commands, commands, deeds], {
    maxCommands: options.most,
    size: "max",
    ...options.replayPath === undefined ? {} : { replayPath: options.replayPath },
  });
}

/** Runs one sequence in a world of its own. */
export async function runSequence(
  commands: Iterable<fc.AsyncCommand<Model, World>>,
  options: WorldOptions,
): Promise<void> {
  await using world = await makeWorld(options);
  const made = new Map<string, Set<string>>();
  for (const { name, dataset } of world.clones) {
    // The second clone only copied what the first one made.
    if (name === "two") continue;
    const pins = [...(await refsOf(world)).values()].flatMap((refs) => [...refs.keys()])
      .filter((ref) => ref.startsWith(`tag tether.${dataset}.`)).map((ref) => ref.slice(4));
    made.set(name, new Set(pins));
  }
  const model: Model = { made, done: new Map(), saved: [], seen: new Map(), clock: 0 };
  await fc.asyncModelRun(() => ({ model, real: world }), commands);
}
