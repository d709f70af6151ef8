/**
 * Takes powers away from child processes: tests run as the superuser too, whom neither mode bits nor a full disk would stop.
 * Nothing here needs more than an ordinary container gives its root, and an ordinary user needs nothing.
 *
 * @module
 */

/**
 * Starts a program that mode bits bind: the superuser gives up every capability. It stays the owner of its files, so git
 * trusts them and the caches of the runtime can be read. Needs `setpriv` (util-linux) when run by the superuser.
 */
export const UNPRIVILEGED: readonly string[] = Deno.uid() === 0
  ? ["setpriv", "--bounding-set=-all", "--inh-caps=-all"]
  : [];

/** Starts a program that has its own session and process group, as a terminal's foreground job has. Needs `setsid`. */
export const IN_A_GROUP: readonly string[] = ["setsid", "--wait"];

/**
 * Starts a program that cannot make any file longer than this many bytes, a multiple of 512: the nearest thing to a full disk that
 * needs no mount. Longer files fail to be written with `EFBIG`, part of them being there, as on a disk that fills up.
 */
export function filesUpTo(bytes: number): readonly string[] {
  // Ignored signals stay ignored across exec; the default of this one is to end the process.
  return ["sh", "-c", `trap "" XFSZ; ulimit -f ${Math.floor(bytes / 512)}; exec "$@"`, "sh"];
}

/** Makes a folder and everything in it read-only, or writable by its owner again. Links are left alone. */
export async function setWritable(folder: string, writable: boolean): Promise<void> {
  const [folders, files] = writable ? [0o755, 0o644] : [0o555, 0o444];
  await Deno.chmod(folder, 0o755);
  for await (const entry of Deno.readDir(folder)) {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory) await setWritable(path, writable);
    else if (entry.isFile) await Deno.chmod(path, files);
  }
  await Deno.chmod(folder, folders);
}
