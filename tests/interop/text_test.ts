import assert from "node:assert/strict";
import { join } from "node:path";
import { lab } from "./_lab.ts";
import { DIRECTIONS, labels, OPTIONS, OURS, PEER } from "./_peer.ts";

/** What somebody added to a manifest by hand. */
const BEFORE = `# Where the labels come from.\nnote = "mine" # and mine alone\n`;
const AFTER =
  `\n[mine]\n# Facts of my own.\nbig = 9007199254740993\nratio = 1.0\nday = 2026-11-30\n"odd key" = [1, { a = "b" }]\n`;

for (const [maker] of DIRECTIONS) {
  Deno.test(
    `[formats 20] [formats 6.1] remarks and unknown keys in files of ${maker.name} outlive our rewrites, and the peer reads on`,
    OPTIONS,
    async (t) => {
      await using l = await lab(maker);
      const { root } = l;
      const manifest = join(root, ".tether", "objects", "code.toml");
      const config = join(root, "tether.toml");
      await Deno.writeTextFile(manifest, BEFORE + await Deno.readTextFile(manifest) + AFTER);
      await Deno.writeTextFile(config, "# Ask Ada.\n" + await Deno.readTextFile(config) + `\n[mine]\nkey = 1 # one\n`);
      const kept = async () => {
        const text = await Deno.readTextFile(manifest);
        assert.ok(text.startsWith(BEFORE) && text.endsWith(AFTER), text);
        assert.match(await Deno.readTextFile(config), /^# Ask Ada\.\n[^]*key = 1 # one\n$/);
      };
      const agreed = async (label: string) => {
        const [ours, peers] = [await OURS.json(["status", "--snapshot"], root), await PEER.json(["status"], root)];
        assert.deepEqual([labels(ours), labels(peers)], [{ code: label }, { code: label }]);
        assert.equal(ours["manifest_hash"], peers["manifest_hash"]);
      };

      await t.step("unchanged by what they say", () => agreed("clean"));
      for (
        const args of [["set", "code", "--file", "versioned"], ["commit", "-m", "two"], ["new", "-b", "exp", "--eager"]]
      ) {
        await t.step(args.join(" "), async () => {
          await OURS.ok(args, root);
          await kept();
        });
      }
      await l.stores.append(l.stores.all, 4, { code: `tether.ws.${l.id}.exp` });
      await t.step("a new state and pin", async () => {
        await OURS.ok(["commit", "-m", "three"], root);
        await kept();
        assert.equal((await PEER.json(["commit", "-m", "nothing"], root))["vcs_commit"], null);
      });
      await t.step("undo and doing it again", async () => {
        await OURS.ok(["undo"], root);
        await kept();
        await OURS.ok(["commit", "-m", "three again"], root);
        await kept();
      });
      await t.step("the peer goes on from there", async () => {
        await l.stores.append(l.stores.all, 5, { code: `tether.ws.${l.id}.exp` });
        await PEER.ok(["commit", "-m", "four"], root);
        await agreed("clean");
      });
    },
  );
}
