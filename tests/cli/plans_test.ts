import assert from "node:assert/strict";
import { type Lab, lab } from "./_tether.ts";

/** A dataset with one committed git object and a branch that has something new. */
async function ahead(): Promise<Lab> {
  const l = await lab({ init: true });
  await l.ok(["add", "../code", "--kind", "git"]);
  await l.ok(["commit", "-m", "Baseline"]);
  await l.advance("second");
  return l;
}

async function refuses(l: Lab, args: readonly string[], error: RegExp): Promise<void> {
  const before = await l.repo.git(["rev-parse", "HEAD"]);
  const { code, stdout, stderr } = await l.tether(args);
  assert.deepEqual([code, stdout], [1, ""], args.join(" "));
  assert.match(stderr, error);
  assert.equal(await l.repo.git(["rev-parse", "HEAD"]), before);
}

Deno.test("[commands 3.1, 8.7, Δ22] a reviewed commit: dry run, saved plan, apply", async () => {
  await using l = await ahead();
  const before = await l.repo.git(["rev-parse", "HEAD"]);
  const dry = await l.ok(["commit", "-m", "Load", "--dry-run"]);
  assert.match(dry, /^plan: commit \(2 write\(s\)\)\n {17}pin {2}code {2}\[git\] tether\.0a1b2c3d\.[0-9a-f]{16} {2}/);
  const data = await l.json(["commit", "-m", "Load", "--dry-run"]) as Record<string, unknown>;
  assert.equal(data["format"], 3);
  assert.match(String(data["tether_version"]), /^deno-/);

  const saved = await l.tether(["commit", "-m", "Load", "--plan", "p.json"]);
  assert.deepEqual([saved.code, saved.stderr], [0, "plan written to p.json\n"]);
  assert.equal(saved.stdout, dry);
  const file = JSON.parse(await Deno.readTextFile(`${l.repo.path}/p.json`));
  assert.deepEqual({ ...file, created_at: "", digest: "" }, { ...data, created_at: "", digest: "" });
  assert.equal(await l.repo.git(["rev-parse", "HEAD"]), before);

  await refuses(l, ["commit", "--from-plan", "p.json", "other"], /no object "other"/);
  await refuses(l, ["new", "--from-plan", "p.json"], /Cannot use the plan "p\.json" for new: it is a plan for commit/);
  await refuses(l, ["commit", "--from-plan", "missing.json"], /Cannot read the plan "missing\.json"/);
  await Deno.writeTextFile(`${l.repo.path}/edited.json`, JSON.stringify({ ...file, actions: [] }));
  await refuses(l, ["commit", "--from-plan", "edited.json"], /^error: /);
  await Deno.writeTextFile(`${l.repo.path}/other.json`, JSON.stringify({ ...file, tether_version: "0.1.0b7" }));
  await refuses(l, ["commit", "--from-plan", "other.json"], /tether 0\.1\.0b7 made it/);

  // The message beside the plan wins, and trips no digest (Δ36).
  assert.match(await l.ok(["commit", "--from-plan", "p.json", "-m", "Reviewed"]), /^ {2}pinned code -> /);
  assert.equal(await l.repo.git(["log", "-1", "--format=%s"]), "Reviewed");
  await refuses(l, ["commit", "--from-plan", "p.json"], /^error: .*\nhint: /);
});

Deno.test("[commands 3.1] a plan that no longer holds does nothing", async () => {
  await using l = await ahead();
  await l.ok(["commit", "-m", "Load", "--plan", "p.json"]);
  await l.advance("third");
  await refuses(l, ["commit", "--from-plan", "p.json"], /^error: /);
});

Deno.test("[commands 3.1, 5.10] new: a dry run makes no bookmark, a saved plan does what it said", async () => {
  await using l = await ahead();
  const dry = await l.ok(["new", "-b", "x", "--eager", "--dry-run"]);
  assert.match(dry, /^plan: new \(1 write\(s\)\)\n {16}fork {2}code {2}\[git\] tether\.ws\.0a1b2c3d\.x/);
  assert.equal(await l.repo.git(["branch", "--list", "x"]), "");
  await l.ok(["new", "-b", "x", "--eager", "--plan", "x.json"]);
  assert.equal(await l.repo.git(["branch", "--list", "x"]), "");
  assert.equal(
    await l.ok(["new", "--from-plan", "x.json"]),
    "on bookmark x; working refs set up\n  code -> tether.ws.0a1b2c3d.x\n",
  );
  assert.notEqual(await l.repo.git(["branch", "--list", "tether.ws.0a1b2c3d.x"], { cwd: l.beside("code") }), "");
});

Deno.test("[commands 5.9] commit --from-plan takes the selection the plan was made with, and no other", async () => {
  await using l = await ahead();
  await l.ok(["add", "raw", "../plate", "--kind", "file"]);
  await l.ok(["commit", "code", "-m", "Load", "--plan", "p.json"]);
  await refuses(l, ["commit", "--from-plan", "p.json", "raw"], /Cannot commit other objects than the plan is about/);
  await refuses(l, ["commit", "--from-plan", "p.json", "code", "raw"], /Cannot commit other objects/);
  assert.match(await l.ok(["commit", "--from-plan", "p.json", "code"]), /^ {2}pinned code -> .*\ncommitted /);
});

Deno.test("[commands 5.20] forget-workspace: shown, saved, applied to the checkout it is about", async () => {
  await using l = await ahead();
  const other = await l.repo.worktree("b");
  await l.ok(["new"], { cwd: other });
  const text = await Deno.readTextFile(`${other}/.tether/workspace.toml`);
  const id = (/"([0-9a-f]{8})[0-9a-f]+"/.exec(text)?.[1]) ?? "";
  assert.match(await l.ok(["forget-workspace", id, "--dry-run"]), /^plan: forget-workspace \(3 write\(s\)\)\n/);
  await refuses(l, ["forget-workspace", "ffffffff"], /Cannot forget workspace "ffffffff": live checkouts are/);
  const file = l.beside("f.json");
  await l.ok(["forget-workspace", id, "--plan", file]);
  await refuses(l, ["forget-workspace", "ffffffff", "--from-plan", file], /the plan is about/);
  assert.match(await l.ok(["plan", "check", file]), /the plan for forget-workspace holds/);
  assert.match(
    await l.ok(["forget-workspace", "--from-plan", file]),
    new RegExp(`^forgot workspace ${id}\n {2}deleted `),
  );
  const main = await l.json(["forget-workspace"]) as Record<string, unknown>;
  assert.deepEqual([main["vcs"], main["failed"]], [null, {}]);
});

Deno.test("[commands 3.1] --plan writes over another plan, and over nothing else", async (t) => {
  await using l = await ahead();
  const { path } = l.repo;
  await Deno.writeTextFile(`${path}/notes.txt`, "mine");
  await Deno.writeTextFile(`${path}/data.json`, '{"command": "mine"}');
  await Deno.symlink("tether.toml", `${path}/link.json`);
  await Deno.symlink(".tether", `${path}/folder`);
  const taken = [
    "tether.toml",
    ".tether/objects/code.toml",
    ".tether/workspace.toml",
    ".tether/ops.jsonl",
    ".tether/new.json",
    ".git/config",
    ".git/new.json",
    "../" + path.split("/").at(-1) + "/./tether.toml",
    "link.json",
    "folder/new.json",
    "notes.txt",
    "data.json",
    "../code/README",
  ];
  await Deno.writeTextFile(`${path}/../code/README`, "mine");
  for (const target of taken) {
    await t.step(target, async () => {
      const text = async (): Promise<string | undefined> => {
        try {
          return await Deno.readTextFile(`${path}/${target}`);
        } catch {
          return undefined;
        }
      };
      const before = await text();
      for (const command of [["commit", "-m", "x"], ["new", "-b", "b"]]) {
        await refuses(l, [...command, "--plan", target], /^error: Cannot write the plan to ".*\nhint: Name a new file/);
      }
      assert.equal(await text(), before);
    });
  }
  for (const target of ["p.json", "p.json", "../p.json", "/dev/null"]) await l.ok(["new", "-b", "b", "--plan", target]);
});
