import assert from "node:assert/strict";
import { dirname } from "node:path";
import { jjPath } from "../../scripts/jj.ts";

/** Types a hint into a shell that finds the jj of the tests; it must work. */
export async function typed(command: string, cwd: string): Promise<void> {
  const env = { PATH: `${dirname(jjPath())}:${Deno.env.get("PATH") ?? ""}` };
  const { success, stderr } = await new Deno.Command("sh", { args: ["-c", command], cwd, env }).output();
  assert.ok(success, `${command}: ${new TextDecoder().decode(stderr)}`);
}
