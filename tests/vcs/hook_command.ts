/**
 * What a hook that calls tether amounts to for the VCS: open where the hook runs, read, and commit what is named.
 *
 * @module
 */

import { detectVcs } from "../../vcs/detect.ts";

const [folder = ".", ...paths] = Deno.args;
await using adapter = await detectVcs(folder);
const position = await adapter.position();
await adapter.dirty(paths);
await adapter.history();
const [bookmark = ""] = position.bookmarks;
const commit = await adapter.commit({ message: "from the hook", paths, bookmark });
await Deno.stdout.write(new TextEncoder().encode(`${adapter.location.root} ${commit}\n`));
