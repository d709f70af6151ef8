import { strict as assert } from "node:assert";
import { fileURLToPath } from "node:url";
import { DEFAULT_SETTINGS, type ObjectBackend } from "../../backends/backend.ts";
import { IcechunkBackend } from "../../backends/icechunk/icechunk.ts";
import { createRepository, writeArray } from "../helpers/icechunk_data.ts";

const ROUNDS = 15;
const PROCESSES = 3;
const CONFIG = fileURLToPath(new URL("../../deno.json", import.meta.url));

/** In every round: one name that all contend for, and a branch and a pin of its own. */
const CONTENDER = `
  import { ABSENT } from "${new URL("../../backends/backend.ts", import.meta.url)}";
  import { icechunkStatics } from "${new URL("../../backends/icechunk/statics.ts", import.meta.url)}";
  const [uri, me, rounds] = Deno.args;
  await using backend = await icechunkStatics.open({ config: {}, rules: [] });
  const state = await backend.fingerprint({ uri }, undefined);
  const from = { on: "state", state };
  const won = [];
  for (let i = 0; i < Number(rounds); i++) {
    const [shared] = await Promise.allSettled([
      backend.fork({ uri }, from, "tether.ws.0a1b2c3d.shared-" + i, { expected: ABSENT }),
      backend.fork({ uri }, from, "tether.ws.0a1b2c3d.own-" + me + "-" + i, { expected: ABSENT }),
      backend.pin({ uri }, state, me.padStart(8, "0") + "." + String(i).padStart(16, "0")),
    ].map((call, n) => n === 0 ? call : call.catch((e) => { console.error(e); Deno.exit(1); })));
    if (shared.status === "fulfilled") won.push(i);
    else if (shared.reason.code !== "ref-moved") throw shared.reason;
  }
  console.log(JSON.stringify(won));
`;

for (const format of [1, 2] as const) {
  Deno.test(`[L32] processes that move refs of one local repository of format ${format} lose nothing`, async () => {
    const folder = await Deno.realPath(await Deno.makeTempDir({ prefix: "tether-icechunk-" }));
    const uri = `${folder}/r.icechunk`;
    try {
      await Deno.writeTextFile(`${folder}/contender.ts`, CONTENDER);
      await createRepository(uri, { format });
      await writeArray(uri, "main", { name: "a", values: [1, 2, 3] });
      const runs = Array.from({ length: PROCESSES }, (_, me) => contend(folder, [uri, String(me), String(ROUNDS)]));
      const won = (await Promise.all(runs)).flat();
      const all = Array.from({ length: ROUNDS }, (_, i) => i);
      assert.deepEqual(won.toSorted((a, b) => a - b), all, "each name has exactly one winner");
      await using backend: ObjectBackend = new IcechunkBackend(DEFAULT_SETTINGS);
      assert.equal((await backend.listWorkingRefs?.({ uri }))?.length, ROUNDS * (PROCESSES + 1));
      assert.equal((await backend.listPins?.({ uri }))?.size, ROUNDS * PROCESSES);
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  });
}

async function contend(folder: string, args: readonly string[]): Promise<number[]> {
  const { code, stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--quiet", "--no-check", `--config=${CONFIG}`, `${folder}/contender.ts`, ...args],
    stdin: "null",
    stdout: "piped",
    stderr: "inherit",
  }).output();
  assert.equal(code, 0);
  return JSON.parse(new TextDecoder().decode(stdout));
}
