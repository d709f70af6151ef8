import assert from "node:assert/strict";
import { parseJson } from "../../engine/model/json.ts";
import { lab } from "./_lab.ts";
import { listOf, objectOf, OPTIONS, OURS, PEER } from "./_peer.ts";

Deno.test("[formats 20] addresses, histories and differences are the same from both", OPTIONS, async (t) => {
  await using l = await lab(OURS, { kinds: ["delta", "git", "icechunk", "lance"] });
  const { root, stores } = l;
  const ref = `tether.ws.${l.id}.exp`;
  await OURS.ok(["new", "-b", "exp", "--eager"], root);
  await stores.append(stores.forkable, 4, Object.fromEntries(stores.forkable.map((s) => [s.key, ref])));
  await OURS.ok(["commit", "-m", "two"], root);
  const both = async (args: readonly string[]) => [
    parseJson(await OURS.ok([...args, "--json"], root)),
    parseJson(await PEER.ok([...args, "--json"], root)),
  ];
  await t.step("[commands 5.13] diff, with content", async () => {
    const [ours, peers] = (await both(["diff", "main", "exp", "--content"])).map((list) =>
      listOf(list).map((e) => {
        const detail = e["detail"] === null ? null : objectOf(e["detail"]);
        return [e["key"], e["change"], e["a"], e["b"], detail?.["unit"], detail?.["added"], detail?.["modified"]];
      })
    );
    assert.deepEqual(ours, peers);
    assert.equal(ours?.filter((entry) => entry[1] === "changed").length, 3);
  });
  for (const { key, kind } of stores.all) {
    await t.step(`[commands 5.11] open ${kind} at a revision`, async () => {
      const [ours, peers] = (await both(["open", key, "--rev", "HEAD"])).map(objectOf);
      const names = Object.keys(peers ?? {});
      assert.ok(names.includes("address"));
      assert.deepEqual(names.map((name) => ours?.[name]), names.map((name) => peers?.[name]));
    });
    await t.step(`[commands 5.14] log of ${kind}`, async () => {
      const [ours, peers] = (await both(["log", key])).map((list) => listOf(list).map((e) => [e["id"], e["refs"]]));
      assert.deepEqual(ours, peers);
      assert.ok((ours?.length ?? 0) > 0);
    });
  }
});
