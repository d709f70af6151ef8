/**
 * Makes a long history for the benchmark in a few seconds: git repositories as stores and a dataset whose commits each pin a
 * new state of some objects. Both implementations read what either would have written.
 *
 * @module
 */

import { formatManifest } from "../engine/files/manifests.ts";
import { computePinId } from "../engine/model/hash.ts";
import { refForPin } from "../engine/model/names.ts";

/** How long a history is. */
export interface HistorySize {
  readonly commits: number;
  readonly objects: number;
  /** How many objects move with each commit. */
  readonly moving: number;
}

const WHO = "bench <bench@localhost>";
const START = 1_700_000_000;

/**
 * Appends commits to the current branch of a dataset that was just initialized.
 *
 * @param dataset folder of the dataset, which is the root of its git repository.
 * @param stores folder the stores are made in.
 */
export async function makeHistory(dataset: string, stores: string, size: HistorySize): Promise<void> {
  const id = /^id = "([0-9a-f]{8})"/m.exec(await Deno.readTextFile(`${dataset}/tether.toml`))?.[1] ?? "";
  const names = Array.from({ length: size.objects }, (_, i) => `g${String(i).padStart(3, "0")}`);
  const versions = Math.ceil(size.commits * size.moving / size.objects) + 1;
  const manifests: string[][] = [];
  for (const name of names) {
    const store = `${stores}/${name}`;
    const shas = await makeStore(store, versions);
    const pins = shas.map((sha) => computePinId(id, { kind: "git", identity: { path: store }, content: { sha } }));
    await writeTags(store, new Map(pins.map((pin, i) => [refForPin(pin), shas[i] ?? ""])));
    manifests.push(shas.map((sha, i) =>
      formatManifest({
        key: name,
        kind: "git",
        locator: { uri: store },
        policy: { file: "immutable", pin: "native" },
        state: { sha, dirty: false },
        pin: { id: pins[i] ?? "", ref: refForPin(pins[i] ?? "") },
        recoverable: true,
        origin: "adopted",
        capturedAt: new Date((START + i) * 1000).toISOString().replace("Z", "000+00:00"),
      })
    ));
  }
  await git(dataset, ["add", "-A"]);
  await git(dataset, ["commit", "-q", "-m", "init"]);
  await git(dataset, ["fast-import", "--quiet"], datasetStream(size, names, manifests));
  await git(dataset, ["reset", "-q", "--hard"]);
}

/** Makes a repository with so many commits on `main`; returns their ids, oldest first. */
async function makeStore(folder: string, commits: number): Promise<string[]> {
  await Deno.mkdir(folder, { recursive: true });
  await git(folder, ["init", "-q", "-b", "main"]);
  let stream = "";
  for (let i = 0; i < commits; i++) {
    stream += `commit refs/heads/main\nmark :${i + 1}\n${signed(i)}${data(`state ${i}`)}`;
    stream += `M 100644 inline data.csv\n${data(`id\n${i}\n`)}\n`;
  }
  await git(folder, ["fast-import", "--quiet", "--export-marks=.git/marks"], stream);
  await git(folder, ["reset", "-q", "--hard"]);
  const marks = (await Deno.readTextFile(`${folder}/.git/marks`)).trim().split("\n").map((line) => line.split(" "));
  return marks.sort(([a = ""], [b = ""]) => Number(a.slice(1)) - Number(b.slice(1))).map(([, sha = ""]) => sha);
}

/** Writes tags as git packs them: one by one they would take minutes. */
async function writeTags(store: string, tags: ReadonlyMap<string, string>): Promise<void> {
  const lines = [...tags].map(([name, sha]) => `${sha} refs/tags/${name}\n`).sort((a, b) =>
    a.slice(41) < b.slice(41) ? -1 : 1
  );
  await Deno.writeTextFile(
    `${store}/.git/packed-refs`,
    `# pack-refs with: peeled fully-peeled sorted \n${lines.join("")}`,
  );
}

function datasetStream(size: HistorySize, names: readonly string[], manifests: readonly string[][]): string {
  const parts: string[] = [];
  const at = names.map(() => 0);
  let next = 0;
  for (let commit = 0; commit < size.commits; commit++) {
    parts.push(`commit refs/heads/main\n${signed(commit + 1)}${data(`commit ${commit}`)}`);
    if (commit === 0) parts.push("from refs/heads/main^0\n");
    const moved = commit === 0
      ? names.map((_, i) => i)
      : Array.from({ length: size.moving }, () => next++ % size.objects);
    for (const i of moved) {
      if (commit > 0) at[i] = (at[i] ?? 0) + 1;
      const text = manifests[i]?.[at[i] ?? 0] ?? "";
      parts.push(`M 100644 inline .tether/objects/${names[i]}.toml\n${data(text)}`);
    }
    parts.push("\n");
  }
  return parts.join("");
}

function signed(second: number): string {
  const when = `${WHO} ${START + second} +0000\n`;
  return `author ${when}committer ${when}`;
}

/** Texts are ASCII: as many bytes as characters. */
function data(text: string): string {
  return `data ${text.length}\n${text}\n`;
}

async function git(cwd: string, args: readonly string[], input = ""): Promise<void> {
  const child = new Deno.Command("git", {
    args: [...args],
    cwd,
    env: {
      GIT_CONFIG_GLOBAL: "/dev/null",
      GIT_CONFIG_SYSTEM: "/dev/null",
      ...identity("AUTHOR"),
      ...identity("COMMITTER"),
    },
    stdin: "piped",
    stdout: "null",
    stderr: "inherit",
  }).spawn();
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(input));
  await writer.close();
  const { success } = await child.status;
  if (!success) throw new Error(`git ${args.join(" ")} failed in ${cwd}`);
}

function identity(role: string): Record<string, string> {
  return { [`GIT_${role}_NAME`]: "bench", [`GIT_${role}_EMAIL`]: "bench@localhost" };
}
