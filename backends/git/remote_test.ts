import { strict as assert } from "node:assert";
import { BackendError } from "../../engine/model/backend_errors.ts";
import { type TempRepo, tempRepo } from "../../tests/helpers/repo.ts";
import { type BackendSettings, DEFAULT_SETTINGS, type Locator, type State } from "../backend.ts";
import { GitBackend } from "./git.ts";

const PIN = "0a1b2c3d.0123456789abcdef";
const TAG = `tether.${PIN}`;

interface Pair extends AsyncDisposable {
  readonly repo: TempRepo;
  /** The bare repository pins are pushed to. */
  readonly remote: string;
  readonly backend: GitBackend;
  readonly locator: Locator;
  readonly state: State;
  /** Returns the tags of the checkout and of the remote. */
  tags(): Promise<[string, string]>;
}

async function pair(settings: Partial<BackendSettings> = {}): Promise<Pair> {
  const repo = await tempRepo({ files: { a: "a" } });
  const remote = `${repo.outer}/remote.git`;
  await repo.git(["init", "--quiet", "--bare", remote]);
  await repo.git(["remote", "add", "origin", remote]);
  const backend = new GitBackend({ ...DEFAULT_SETTINGS, ...settings });
  const locator = { path: repo.path, remote: "origin" };
  const list = ["for-each-ref", "--format=%(refname:short)", "refs/tags"];
  return {
    repo,
    remote,
    backend,
    locator,
    state: await backend.fingerprint(locator, undefined),
    tags: async () => [await repo.git(list), await repo.git(["--git-dir", remote, ...list])],
    [Symbol.asyncDispose]: () => repo[Symbol.asyncDispose](),
  };
}

async function hook(remote: string, name: string, body: string): Promise<void> {
  await Deno.writeTextFile(`${remote}/hooks/${name}`, `#!/bin/sh\n${body}\n`);
  await Deno.chmod(`${remote}/hooks/${name}`, 0o755);
}

async function fails(call: Promise<unknown>, code: string): Promise<BackendError> {
  const error = await call.then(() => assert.fail(`must fail with ${code}`), (e) => e);
  assert.ok(error instanceof BackendError, String(error));
  assert.equal(error.code, code, error.message);
  return error;
}

Deno.test("[backends 3.3] a pin is on the remote before it counts, and leaves it first", async () => {
  await using p = await pair();
  const pin = await p.backend.pin(p.locator, p.state, PIN);
  assert.deepEqual(await p.tags(), [TAG, TAG]);
  assert.equal(pin.created, true);
  assert.equal((await p.backend.pin(p.locator, p.state, PIN)).created, false);
  // Another clone released it on the remote already.
  await p.repo.git(["--git-dir", p.remote, "tag", "-d", TAG]);
  await p.backend.unpin(p.locator, pin);
  assert.deepEqual(await p.tags(), ["", ""]);
  await p.backend.pin(p.locator, p.state, PIN);
  await p.backend.unpin(p.locator, pin);
  await p.backend.unpin(p.locator, pin);
  assert.deepEqual(await p.tags(), ["", ""]);
});

Deno.test("[backends 3.3] working refs are never pushed", async () => {
  await using p = await pair();
  await p.backend.fork(p.locator, { on: "state", state: p.state }, "tether.ws.0a1b2c3d.exp");
  assert.equal(await p.repo.git(["--git-dir", p.remote, "for-each-ref"]), "");
});

Deno.test("[L08] a push that was refused fails the pin and takes the new tag back", async (t) => {
  await t.step("by a hook of the remote", async () => {
    await using p = await pair();
    await hook(p.remote, "pre-receive", "echo no tags here >&2; exit 1");
    await fails(p.backend.pin(p.locator, p.state, PIN), "ref-conflict");
    assert.deepEqual(await p.tags(), ["", ""]);
    await p.repo.git(["tag", TAG]);
    await fails(p.backend.pin(p.locator, p.state, PIN), "ref-conflict");
    assert.deepEqual(await p.tags(), [TAG, ""], "a tag that was there before stays");
  });
  await t.step("because the remote has the tag elsewhere", async () => {
    await using p = await pair();
    await p.repo.git(["push", "--quiet", "origin", "HEAD:refs/heads/main"]);
    const tree = await p.repo.git(["rev-parse", "HEAD^{tree}"]);
    await p.repo.git(["--git-dir", p.remote, "update-ref", `refs/tags/${TAG}`, tree]);
    await fails(p.backend.pin(p.locator, p.state, PIN), "ref-conflict");
    assert.deepEqual(await p.tags(), ["", TAG]);
  });
  await t.step("because there is no such repository", async () => {
    await using p = await pair();
    await Deno.remove(p.remote, { recursive: true });
    await fails(p.backend.pin(p.locator, p.state, PIN), "store-not-found");
    assert.equal(await p.repo.git(["tag"]), "");
  });
  await t.step("because of the key", async () => {
    await using p = await pair();
    const ssh = await p.repo.write(
      "../ssh",
      "#!/bin/sh\necho 'git@host: Permission denied (publickey).' >&2\nexit 255\n",
    );
    await Deno.chmod(ssh, 0o755);
    await p.repo.git(["remote", "set-url", "origin", "ssh://git@host.invalid/x.git"]);
    const env = { PATH: Deno.env.get("PATH") ?? "", HOME: p.repo.outer, GIT_SSH_COMMAND: ssh };
    await fails(new GitBackend({ ...DEFAULT_SETTINGS, env }).pin(p.locator, p.state, PIN), "credentials");
    assert.equal(await p.repo.git(["tag"]), "");
  });
  await t.step("because a transport may run any program", async () => {
    await using p = await pair();
    await p.repo.git(["remote", "set-url", "origin", `ext::sh -c touch% ${p.repo.outer}/sprung`]);
    await fails(p.backend.pin(p.locator, p.state, PIN), "library");
    await assert.rejects(Deno.lstat(`${p.repo.outer}/sprung`), Deno.errors.NotFound);
    assert.equal(await p.repo.git(["tag"]), "");
  });
});

Deno.test("[L08] a push whose answer was lost is read back", async (t) => {
  // The remote's side is killed right after it moved the ref.
  const kill = (more: string) => `test "$1" = committed || exit 0\n${more}\nkill -9 $PPID`;
  await t.step("the remote has the tag: the pin was made", async () => {
    await using p = await pair();
    await hook(p.remote, "reference-transaction", kill(""));
    assert.equal((await p.backend.pin(p.locator, p.state, PIN)).created, true);
    assert.deepEqual(await p.tags(), [TAG, TAG]);
  });
  await t.step("nobody can tell: the tag stays and the error says so", async () => {
    await using p = await pair();
    await hook(p.remote, "reference-transaction", kill(`mv '${p.remote}' '${p.remote} away'`));
    const error = await fails(p.backend.pin(p.locator, p.state, PIN), "unknown-outcome");
    assert.match(error.message, /took "tether\./);
    assert.equal(await p.repo.git(["tag"]), TAG);
  });
});

Deno.test("[L40] a URL to push to comes from secrets.toml alone", async () => {
  await using p = await pair();
  const path = p.repo.path;
  const rules = [{ prefix: path, exact: true, options: { remote: p.remote } }];
  const backend = new GitBackend({ ...DEFAULT_SETTINGS, rules });
  await p.repo.git(["remote", "remove", "origin"]);
  const pin = await backend.pin({ path }, p.state, PIN);
  assert.deepEqual(await p.tags(), [TAG, TAG]);
  await backend.unpin({ path }, pin);
  assert.deepEqual(await p.tags(), ["", ""]);
  // Nor is a folder that happens to have the name of a remote that does not exist.
  await p.repo.git(["init", "--quiet", "--bare", `${path}/elsewhere`]);
  await fails(p.backend.pin({ path, remote: "elsewhere" }, p.state, PIN), "locator");
  assert.equal(await p.repo.git(["tag"]), "");
});

Deno.test("[L40] the repository's pre-push hook does not run", async () => {
  await using p = await pair();
  await hook(`${p.repo.path}/.git`, "pre-push", `touch '${p.repo.outer}/sprung'`);
  const pin = await p.backend.pin(p.locator, p.state, PIN);
  await p.backend.unpin(p.locator, pin);
  await assert.rejects(Deno.lstat(`${p.repo.outer}/sprung`), Deno.errors.NotFound);
});
