import assert from "node:assert/strict";
import { BUILTIN_KINDS, staticsOf } from "../../backends/catalog.ts";
import { Float, type Json, type JsonObject } from "../../engine/model/json.ts";
import { type StateField, type StateForm, stateProblem } from "../../engine/model/state_form.ts";
import { tempDataset } from "../helpers/dataset.ts";

/** States as this tether, older ones and the Python implementation write them. */
const GOOD: Readonly<Record<string, readonly JsonObject[]>> = {
  delta: [{ version: 0, table_id: "5fba94ed" }, { version: 2n ** 60n, table_id: "5fba94ed" }],
  file: [
    { type: "file", size: 3, sha256: "98ea" },
    { type: "dir", count: 0, size: 0, digest: "cae6" },
    { type: "prefix", count: 2, size: 5, digest: "00" },
    { type: "object", size: 5, etag: "x" },
    { type: "object", size: 5, etag: "x", version_id: "v" },
  ],
  git: [{ sha: "60c0" }, { sha: "60c0", dirty: false }, { sha: "60c0", dirty: true, change_id: "zz" }],
  icechunk: [{ snapshot_id: "50JRNN8XN1PPZC6TDVW0" }],
  lance: [{ branch: "main", version: 7 }, { branch: "tether.ws.0a1b2c3d.x", version: 2, branch_id: "2a35" }],
  memory: [{ snapshot_id: "s:s0" }],
};

const WRONG: Readonly<Record<"text" | "whole" | "flag", readonly Json[]>> = {
  text: [1, true, "", "  ", null, ["x"], { x: "x" }],
  whole: ["7", false, new Float(7), new Float(0.5), null, [7]],
  flag: ["true", 0, null],
};

async function formsOf(kind: string): Promise<readonly StateForm[]> {
  const forms = (await staticsOf(kind))?.stateForms;
  assert.ok(forms, `${kind} declares the forms of its states`);
  return forms;
}

Deno.test("[formats 6.4] a state of every kind is believed as it was written, with fields nobody knows yet too", async (t) => {
  assert.deepEqual(Object.keys(GOOD), BUILTIN_KINDS);
  for (const kind of BUILTIN_KINDS) {
    await t.step(kind, async () => {
      const forms = await formsOf(kind);
      for (const state of GOOD[kind] ?? []) {
        assert.equal(stateProblem(state, forms), undefined);
        assert.equal(stateProblem({ ...state, later: { x: [1] } }, forms), undefined);
      }
    });
  }
});

Deno.test("[formats 6.4] of a state that lacks a field or has one of another type the field is named", async (t) => {
  for (const kind of BUILTIN_KINDS) {
    await t.step(kind, async () => {
      const forms = await formsOf(kind);
      for (const good of GOOD[kind] ?? []) {
        const form = forms.find((f) => stateProblem(good, [f]) === undefined);
        for (const [field, wanted] of Object.entries(form ?? {})) {
          const { [field]: _, ...without } = good;
          const missing = stateProblem(without, forms)?.field;
          assert.equal(missing, isOptional(wanted) ? undefined : field, `${field} of ${kind}`);
          for (const value of typeof wanted === "string" ? WRONG[bare(wanted)] : ["folder", 1]) {
            assert.equal(stateProblem({ ...good, [field]: value }, forms)?.field, field, `${field} of ${kind}`);
          }
        }
      }
    });
  }
});

Deno.test("[formats 6.4] a state of another kind is refused", async () => {
  const different = (a: string, b: string) => a !== b && ![a, b].every((k) => ["icechunk", "memory"].includes(k));
  for (const kind of BUILTIN_KINDS) {
    const forms = await formsOf(kind);
    for (const other of BUILTIN_KINDS.filter((k) => different(k, kind))) {
      for (const state of GOOD[other] ?? []) assert.ok(stateProblem(state, forms), `${other} as ${kind}`);
    }
  }
});

function isOptional(field: StateField): boolean {
  return typeof field === "string" && field.endsWith("?");
}

function bare(field: string): "text" | "whole" | "flag" {
  return field.replace("?", "") as "text" | "whole" | "flag";
}

Deno.test("[formats 19.2, L01] the pin of a state that cannot be believed is kept, and taking the state out mends it", async () => {
  await using d = await tempDataset();
  await d.addMemory("m", "n");
  // Without a commit of the VCS the manifest is all that names the pin.
  await d.with((ds) => ds.commit({ message: "Baseline", vcs: false }));
  const path = `${d.root}/.tether/objects/m.toml`;
  const whole = await d.read(".tether/objects/m.toml");
  await Deno.writeTextFile(path, whole.replace(/snapshot_id = .*/, "snapshot_id = 7"));

  await d.with(async (ds) => {
    const { objects } = await ds.status();
    assert.deepEqual(objects.map((o) => [o.key, o.state, o.pinned]), [["m", "error", true], ["n", "clean", true]]);
    assert.match(objects[0]?.error ?? "", /"\.tether\/objects\/m\.toml": state\.snapshot_id: it is not a string/);
    assert.deepEqual((await ds.verify({ deep: true })).entries.map((e) => [e.label, e.status]), [
      ["m", "unknown"],
      ["n", "ok"],
    ]);
    await assert.rejects(ds.commit({ message: "Edited" }), /state\.snapshot_id: it is not a string/);
    const plan = await ds.gc();
    assert.deepEqual(plan.actions, []);
  });

  await Deno.writeTextFile(path, whole.replace(/\n\[state\][^]*/, ""));
  await d.with(async (ds) => {
    assert.equal((await ds.commit({ message: "Recorded anew" })).vcsCommit !== null, true);
    assert.equal(ds.objects.get("m")?.pin?.id, /id = "(.*)"/.exec(whole.slice(whole.indexOf("[pin]")))?.[1]);
  });
});
