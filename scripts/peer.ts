/**
 * Installs the Python implementation that the interoperability tests and the benchmark run, into a cache folder keyed by
 * version. Prints the folder of its programs.
 *
 * @module
 */

import { cacheFolder } from "./cache.ts";

/** The version of the other implementation that is tested against. */
export const PEER_VERSION = "0.1.0b7";

/** Returns the folder of the peer's programs when it is installed. */
export async function peerBin(): Promise<string | undefined> {
  const bin = `${cacheFolder()}/peer-${PEER_VERSION}/bin`;
  try {
    await Deno.stat(`${bin}/tether`);
    return bin;
  } catch {
    return undefined;
  }
}

/** Installs the peer unless it is there. @throws {Error} saying what failed. */
export async function installPeer(): Promise<string> {
  const found = await peerBin();
  if (found) return found;
  const target = `${cacheFolder()}/peer-${PEER_VERSION}`;
  await Deno.mkdir(cacheFolder(), { recursive: true });
  // A virtual environment cannot be moved, so a half-made one is removed and made again.
  await Deno.remove(target, { recursive: true }).catch(() => {});
  await must("python3", ["-m", "venv", target]);
  try {
    await must(`${target}/bin/python`, ["-m", "pip", "install", "--quiet", `tether-vcs[all]==${PEER_VERSION}`]);
  } catch (error) {
    await Deno.remove(target, { recursive: true }).catch(() => {});
    throw error;
  }
  return `${target}/bin`;
}

async function must(program: string, args: string[]): Promise<void> {
  const { success, stderr } = await new Deno.Command(program, { args, stdout: "null", stderr: "piped" }).output();
  if (!success) throw new Error(`${program} ${args.join(" ")} failed: ${new TextDecoder().decode(stderr).trim()}`);
}

if (import.meta.main) await Deno.stdout.write(new TextEncoder().encode(await installPeer() + "\n"));
