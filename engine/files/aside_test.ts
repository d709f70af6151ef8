import assert from "node:assert/strict";
import { join } from "node:path";
import { Aside } from "./aside.ts";

const names = async (folder: string) => (await Array.fromAsync(Deno.readDir(folder), (e) => e.name)).sort();

Deno.test("[L43] files set aside come back exactly, also those that were replaced, removed or did not exist", async () => {
  const folder = await Deno.makeTempDir();
  const [replaced, removed, made] = ["replaced", "removed", "made"].map((name) => join(folder, name));
  assert.ok(replaced && removed && made);
  await Deno.writeTextFile(replaced, "old\n", { mode: 0o600 });
  await Deno.writeTextFile(removed, "gone\n");
  const aside = new Aside(folder);
  for (const path of [replaced, removed, made]) await aside.keep(path);
  assert.equal(await Deno.readTextFile(replaced), "old\n", "the file stays where it is");
  await Deno.writeTextFile(join(folder, "new"), "new\n");
  await Deno.rename(join(folder, "new"), replaced);
  await Deno.remove(removed);
  await Deno.writeTextFile(made, "");
  await aside.restore();
  assert.deepEqual(await names(folder), ["removed", "replaced"]);
  assert.deepEqual([await Deno.readTextFile(replaced), await Deno.readTextFile(removed)], ["old\n", "gone\n"]);
  await Deno.remove(folder, { recursive: true });
});

Deno.test("[L43] one file that cannot be put back keeps no other from it, and is named", async () => {
  const folder = await Deno.makeTempDir();
  const [stuck, other] = [join(folder, "stuck"), join(folder, "other")];
  await Deno.writeTextFile(stuck, "a");
  await Deno.writeTextFile(other, "b");
  const aside = new Aside(undefined);
  for (const path of [stuck, other]) await aside.keep(path);
  for (const path of [stuck, other]) await Deno.remove(path);
  await Deno.mkdir(join(stuck, "full"), { recursive: true });
  await assert.rejects(aside.restore(), { code: "half-done", message: /^Cannot put ".*stuck" back: / });
  assert.equal(await Deno.readTextFile(other), "b");
  await aside.discard();
  assert.deepEqual(await names(folder), ["other", "stuck"]);
  await Deno.remove(folder, { recursive: true });
});
