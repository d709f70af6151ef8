/**
 * git, called as a user calls it.
 *
 * @module
 */

/** How a call ended. */
export interface Called {
  readonly ok: boolean;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs git in a folder, whatever comes of it. */
export async function tryGit(cwd: string, args: readonly string[]): Promise<Called> {
  const output = await new Deno.Command("git", { args: [...args], cwd, stdin: "null" }).output();
  const [stdout = "", stderr = ""] = [output.stdout, output.stderr].map((b) => new TextDecoder().decode(b).trim());
  return { ok: output.success, stdout, stderr };
}

/** Runs git in a folder and returns what it printed. Throws when it fails. */
export async function runGit(cwd: string, args: readonly string[]): Promise<string> {
  const { ok, stdout, stderr } = await tryGit(cwd, args);
  if (!ok) throw new Error(`git ${args.join(" ")} failed: ${stderr}`);
  return stdout;
}
