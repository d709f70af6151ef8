/**
 * Folders for tests: temporary ones, and ones that nobody may write.
 *
 * @module
 */

import { join } from "node:path";
import process from "node:process";

const NOBODY = 65534;

/** Runs a test in a new folder, removed afterwards. */
export async function inTempDir<T>(run: (folder: string) => Promise<T>): Promise<T> {
  const folder = await Deno.realPath(await Deno.makeTempDir());
  try {
    return await run(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Runs a test while a folder and everything below can be read only. The superuser, who may write all, steps down for it. */
export async function whileReadOnly<T>(folder: string, run: () => Promise<T>): Promise<T> {
  await setModes(folder, 0o555, 0o444);
  const isRoot = Deno.uid() === 0;
  if (isRoot) process.seteuid?.(NOBODY);
  try {
    return await run();
  } finally {
    if (isRoot) process.seteuid?.(0);
    await setModes(folder, 0o755, 0o644);
  }
}

async function setModes(folder: string, folders: number, files: number): Promise<void> {
  await Deno.chmod(folder, 0o755);
  for await (const entry of Deno.readDir(folder)) {
    const path = join(folder, entry.name);
    if (entry.isDirectory) await setModes(path, folders, files);
    else if (entry.isFile) await Deno.chmod(path, files);
  }
  await Deno.chmod(folder, folders);
}

/** Creates files, with their folders, from a map of relative paths to texts. */
export async function plant(root: string, files: Readonly<Record<string, string>>): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    await Deno.mkdir(join(root, path, ".."), { recursive: true });
    await Deno.writeTextFile(join(root, path), text);
  }
}

/** Returns the paths of all files below a folder, relative and sorted. */
export async function filesBelow(root: string, folder = ""): Promise<string[]> {
  const found: string[] = [];
  for await (const entry of Deno.readDir(join(root, folder))) {
    const path = folder === "" ? entry.name : `${folder}/${entry.name}`;
    if (entry.isDirectory) found.push(...await filesBelow(root, path));
    else found.push(path);
  }
  return found.sort();
}
