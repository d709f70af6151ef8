/**
 * Fetches the oldest Deno that the executable is built with, and its runtime part, into a cache folder keyed by version.
 * Prints the folder. The runtime part is cut out of a program on PyPI that was compiled with just that version, since a
 * compiler fetches its own from a host that not every network reaches.
 *
 * @module
 */

import { cacheFolder } from "./cache.ts";
import { installPeer } from "./peer.ts";

/** The oldest Deno that the executable is built with. */
export const OLD_DENO_VERSION = "2.6.10";

const WHEELS = [`deno==${OLD_DENO_VERSION}`, "bids_validator_deno==2.4.1"];

/** A compiler and the runtime part it puts into what it compiles. */
export interface OldDeno {
  readonly deno: string;
  readonly denort: string;
}

/** Fetches both unless they are there; they appear whole or not at all. @throws {Error} saying what failed. */
export async function installOldDeno(): Promise<OldDeno> {
  const folder = `${cacheFolder()}/deno-${OLD_DENO_VERSION}`;
  const found: OldDeno = { deno: `${folder}/deno`, denort: `${folder}/denort` };
  const isThere = (): Promise<boolean> => Deno.stat(found.denort).then((info) => info.isFile, () => false);
  if (await isThere()) return found;
  const python = `${await installPeer()}/python`;
  const temporary = await Deno.makeTempDir({ dir: cacheFolder(), prefix: `.deno-${OLD_DENO_VERSION}.` });
  try {
    const wheels = `${temporary}/wheels`;
    const pip = ["-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", "--dest", wheels];
    await must(python, [...pip, ...WHEELS]);
    for await (const { name } of Deno.readDir(wheels)) {
      if (name.endsWith(".whl")) await must(python, ["-m", "zipfile", "-e", `${wheels}/${name}`, wheels]);
    }
    const programs = (name: string): string => `${wheels}/${name}.data/scripts`;
    await Deno.rename(`${programs(`deno-${OLD_DENO_VERSION}`)}/deno`, `${temporary}/deno`);
    const compiled = await Deno.readFile(`${programs("bids_validator_deno-2.4.1")}/bids-validator-deno`);
    await Deno.writeFile(`${temporary}/denort`, compiled.subarray(0, elfLength(compiled)));
    for (const name of ["deno", "denort"]) await Deno.chmod(`${temporary}/${name}`, 0o755);
    await Deno.remove(wheels, { recursive: true });
    await Deno.rename(temporary, folder).catch(async (error: unknown) => {
      // Another process was faster; what it fetched is as good.
      if (!await isThere()) throw error;
    });
  } finally {
    await Deno.remove(temporary, { recursive: true }).catch(() => {});
  }
  return found;
}

/** Returns where a 64-bit little-endian ELF file ends by its own header: after its table of sections. */
function elfLength(file: Uint8Array<ArrayBuffer>): number {
  const header = new DataView(file.buffer, file.byteOffset);
  return Number(header.getBigUint64(0x28, true)) + header.getUint16(0x3a, true) * header.getUint16(0x3c, true);
}

async function must(program: string, args: readonly string[]): Promise<void> {
  const { success, stderr } = await new Deno.Command(program, {
    args: [...args],
    stdin: "null",
    stdout: "null",
    stderr: "piped",
  }).output();
  if (!success) throw new Error(`${program} ${args.join(" ")} failed: ${new TextDecoder().decode(stderr).trim()}`);
}

if (import.meta.main) await Deno.stdout.write(new TextEncoder().encode((await installOldDeno()).deno + "\n"));
