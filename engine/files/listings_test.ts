import assert from "node:assert/strict";
import { join } from "node:path";
import { filesBelow, inTempDir, plant } from "./_test_dirs.ts";
import { datasetPaths } from "./layout.ts";
import { listListings, readListing, removeListing, writeListing } from "./listings.ts";

const NAME = "0bede002427f75d02007.jsonl";

Deno.test("[formats 7] a listing is written once and never again", async () => {
  await inTempDir(async (root) => {
    const paths = datasetPaths(root);
    assert.deepEqual([await listListings(paths), await readListing(paths, NAME)], [[], undefined]);
    assert.equal(await writeListing(paths, NAME, "one\n"), true);
    assert.equal(await writeListing(paths, NAME, "two\n"), false);
    assert.equal(await readListing(paths, NAME), "one\n");
    await plant(root, { ".tether/listings/notes.txt": "", ".tether/listings/0000.jsonl": "" });
    await writeListing(paths, "00" + NAME.slice(2), "three\n");
    assert.deepEqual(await listListings(paths), ["00" + NAME.slice(2), NAME]);
    assert.deepEqual([await removeListing(paths, NAME), await removeListing(paths, NAME)], [true, false]);
  });
});

Deno.test("[L40] a listing's name leads nowhere else", async () => {
  await inTempDir(async (folder) => {
    const paths = datasetPaths(join(folder, "ds"));
    for (const name of ["../../x.jsonl", NAME.toUpperCase(), "x" + NAME, "", NAME + "\n"]) {
      await assert.rejects(writeListing(paths, name, ""), TypeError);
    }
    await plant(folder, { "outside/x": "", "ds/.tether/x": "" });
    await Deno.symlink(join(folder, "outside"), paths.listings);
    await assert.rejects(writeListing(paths, NAME, ""), { code: "outside" });
    assert.deepEqual(await filesBelow(join(folder, "outside")), ["x"]);
  });
});
