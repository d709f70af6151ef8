import assert from "node:assert/strict";
import { type Lab, lab } from "../cli/_tether.ts";
import { assertUnchanged, everything } from "../helpers/evidence.ts";
import { inProcess, READING, WRITING } from "./_cli.ts";

/** A token of a known shape, put together so that no scanner takes this file for a leak. */
const BARE = "ghp_" + "R4nd0mLettersAndDigits".repeat(2).slice(0, 36);
/** Credentials without a shape: known by where they are kept. */
const PLANTED = {
  secretKey: "planted-secret-access-key-1",
  catalogToken: "planted-catalog-token-2",
  remotePassword: "planted-remote-password-3",
  awsKey: "planted-aws-environment-4",
  namedVariable: "planted-named-variable-5",
} as const;

/** A fragment of each, so that no half of one gets out either. */
const NEEDLES: readonly string[] = [BARE.slice(6, 30), ...Object.values(PLANTED)];

function assertClean(text: string, where: string): void {
  for (const needle of NEEDLES) assert.equal(text.includes(needle), false, `${where} holds ${needle}: ${text}`);
}

/** Runs a command that must refuse, without printing the token. */
async function refuses(l: Lab, args: readonly string[], message: RegExp): Promise<void> {
  const { code, stdout, stderr } = await inProcess(l.repo.path, args);
  assert.deepEqual([code, stdout], [1, ""], `${args.join(" ")}: ${stderr}`);
  assert.match(stderr, message, args.join(" "));
  assertClean(stdout + stderr, args.join(" "));
}

const FIELDS = [
  "password",
  "passwd",
  "token",
  "secret",
  "secret_access_key",
  "access_key_id",
  "session_token",
  "api_key",
];
FIELDS.push("credential", "private_key", "sas", "sas_token", "account_key", "apiKey");

Deno.test("[L39] add refuses a locator with a secret, by the field's name and by the value's shape, and keeps no copy", async () => {
  await using l = await lab({ init: true });
  const before = await everything(l.repo.path);
  for (const field of FIELDS) {
    await refuses(
      l,
      ["add", "k", "../plate", "--kind", "file", "--set", `${field}=${PLANTED.secretKey}`],
      new RegExp(`^error: .*field "${field}" has a credential.*\\nhint: .*secrets\\.toml.*environment`),
    );
  }
  const flags = [
    "--branch",
    "--project-id",
    "--database",
    "--role",
    "--remote",
    "--region",
    "--host",
    "--table",
    "--at",
  ];
  for (const flag of flags) {
    await refuses(
      l,
      ["add", "k", "../code", "--kind", "git", flag, BARE],
      /field "[a-z_]+" has a GitHub token\nhint: .*secrets\.toml/,
    );
  }
  await refuses(l, ["add", "k", `../${BARE}`, "--kind", "file"], /field "uri" has a GitHub token/);
  await refuses(l, ["add", BARE, "../plate", "--kind", "file"], /Cannot use this key: it holds a GitHub token/);
  await assertUnchanged(l.repo.path, before, "a refused add changed something");
});

Deno.test("[L39] ids in a locator are no secrets", async () => {
  await using l = await lab({ init: true });
  const head = await l.repo.git(["rev-parse", "HEAD"], { cwd: l.beside("code") });
  for (const [index, at] of [head, crypto.randomUUID(), "1CECHNKREP0F1RSTCMT0", "a".repeat(64)].entries()) {
    const ran = await inProcess(l.repo.path, ["add", `k${index}`, "../code", "--kind", "git", "--at", at]);
    assert.equal(ran.code, 0, ran.stderr);
    assert.match(ran.stdout, new RegExp(at));
  }
});

Deno.test("[L39] commit refuses a manifest that was edited to hold a secret, and a message with a token", async () => {
  await using l = await lab({ init: true });
  await l.ok(["add", "plate", "../plate", "--kind", "file"]);
  await l.ok(["add", "code", "../code", "--kind", "git"]);
  const manifest = `${l.repo.path}/.tether/objects/plate.toml`;
  const text = await Deno.readTextFile(manifest);
  const edits = [`password = "${PLANTED.secretKey}"`, `note = "${BARE}"`, `extra = { token = "${PLANTED.secretKey}" }`];
  for (const edit of edits) {
    await Deno.writeTextFile(manifest, text.replace("[locator]\n", `[locator]\n${edit}\n`));
    const before = await everything(l.repo.path);
    for (const more of [[], ["--dry-run"], ["--plan", l.beside("p.json")]]) {
      await refuses(
        l,
        ["commit", "-m", "x", ...more],
        /^error: \[plate\] Cannot commit a locator that holds a secret: .*\nhint: /,
      );
    }
    await assertUnchanged(l.repo.path, before, "a refused commit changed something");
  }
  await Deno.writeTextFile(manifest, text);
  const before = await everything(l.repo.path);
  await refuses(l, ["commit", "-m", `Use ${BARE}`], /Cannot commit with this message: it holds a GitHub token/);
  await assertUnchanged(l.repo.path, before, "a refused commit changed something");
  await l.ok(["commit", "-m", "Mention password=none and a sha256 digest"]);
});

/** The branch of `code` that bookmark `y` stands for. */
const BRANCH = "tether.ws.0a1b2c3d.y";

/** A dataset on bookmark `y` with a secret in every place that may hold one. */
async function planted(): Promise<Lab & { rewind(): Promise<void> }> {
  const l = await lab({ init: true });
  await l.ok(["add", "../code", "--kind", "git"]);
  await l.ok(["add", "plate", "../plate", "--kind", "file"]);
  await l.ok(["commit", "-m", "Baseline"]);
  await l.ok(["new", "-b", "y"]);
  await l.repo.write(
    ".tether/secrets.toml",
    `[uris."s3://bucket/"]\naccess_key_id = "planted-id"\nsecret_access_key = "${PLANTED.secretKey}"\n` +
      `[backends.iceberg.catalog]\ntoken = "${PLANTED.catalogToken}"\n` +
      `[uris."mysql://127.0.0.1:1"]\npassword_env = "LAB_PASSWORD"\n` +
      `[objects.code]\nremote = "http://ada:${PLANTED.remotePassword}@127.0.0.1:1/x.git"\n`,
  );
  await Deno.chmod(`${l.repo.path}/.tether/secrets.toml`, 0o600);
  // Something to commit and to promote on the branch, and news upstream.
  await l.ok(["open", "code"]);
  await l.advance("second");
  const tree = await l.repo.git(["rev-parse", "HEAD^{tree}"], { cwd: l.beside("code") });
  const made = await l.repo.git(["commit-tree", tree, "-p", BRANCH, "-m", "On the branch"], { cwd: l.beside("code") });
  await l.repo.git(["update-ref", `refs/heads/${BRANCH}`, made], { cwd: l.beside("code") });
  const copy = (from: string, to: string) => new Deno.Command("cp", { args: ["-a", from, to] }).output();
  for (const name of ["repo", "code"]) await copy(l.beside(name), l.beside(`kept-${name}`));
  return Object.assign(l, {
    async rewind() {
      for (const name of ["repo", "code"]) {
        await Deno.remove(l.beside(name), { recursive: true });
        await copy(l.beside(`kept-${name}`), l.beside(name));
      }
    },
  });
}

/** Asserts that no file a command may have written holds a secret; hooks and `secrets.toml` are the user's own. */
async function assertFilesClean(folder: string): Promise<void> {
  for await (const entry of Deno.readDir(folder)) {
    const path = `${folder}/${entry.name}`;
    if (entry.isSymlink || /\/\.git\/(hooks|objects)$|\/\.tether\/secrets\.toml$/.test(path)) continue;
    if (entry.isDirectory) await assertFilesClean(path);
    else assertClean(new TextDecoder("latin1").decode(await Deno.readFile(path)), path);
  }
}

const SAYS =
  `echo "refused: ${BARE}" >&2; echo "$AWS_SECRET_ACCESS_KEY and $LAB_PASSWORD, ${PLANTED.catalogToken}" >&2; ` +
  `echo "also ${BARE} ${PLANTED.remotePassword}"`;

/** What goes wrong while a command runs. */
const CIRCUMSTANCES: Readonly<Record<string, (l: Lab) => Promise<void>>> = {
  "a hook that refuses": async (l) => {
    // The remote is another object's here, so that the commit gets as far as the hook.
    await editSecrets(l, (text) => text.replace("[objects.code]", "[objects.other]"));
    await script(l.beside("repo/.git/hooks/pre-commit"), `${SAYS}\nexit 1`);
  },
  "a driver that fails": async (l) => {
    await script(l.beside("git"), `case "$*" in *-C*/code*) ${SAYS}; exit 128 ;; esac\nexec git "$@"`);
    await editSecrets(l, (text) => `[vcs]\ngit_path = "${l.beside("git")}"\n${text}`);
  },
  "a server that is not there, a branch that is named after a token": async (l) => {
    await l.repo.git(["branch", "--force", BARE, BRANCH], { cwd: l.beside("code") });
    await script(l.beside("repo/.git/hooks/post-checkout"), `${SAYS}\nexit 1`);
  },
};

async function editSecrets(l: Lab, edit: (text: string) => string): Promise<void> {
  const path = `${l.repo.path}/.tether/secrets.toml`;
  await Deno.writeTextFile(path, edit(await Deno.readTextFile(path)));
}

async function script(path: string, text: string): Promise<void> {
  await Deno.writeTextFile(path, `#!/bin/sh\n${text}\n`);
  await Deno.chmod(path, 0o755);
}

Deno.test("[L39] no command lets a planted secret out, printed or kept, whatever fails", async (t) => {
  await using l = await planted();
  Deno.env.set("AWS_SECRET_ACCESS_KEY", PLANTED.awsKey);
  Deno.env.set("LAB_PASSWORD", PLANTED.namedVariable);
  try {
    for (const [circumstance, arrange] of Object.entries(CIRCUMSTANCES)) {
      await t.step(circumstance, async () => {
        const masked = new Set<string>();
        for (const args of [...READING, ...WRITING].flatMap((a) => [a, [...a, "--json"]])) {
          await l.rewind();
          await arrange(l);
          const { code, stdout, stderr } = await inProcess(l.repo.path, args);
          assert.notEqual(code, 2, `${args.join(" ")}: ${stderr}`);
          assertClean(stdout + stderr, args.join(" "));
          if ((stdout + stderr).includes("***")) masked.add(args[0] ?? "");
          await assertFilesClean(l.repo.path);
        }
        // Without a command that met a secret, nothing was shown.
        assert.notEqual(masked.size, 0);
      });
    }
  } finally {
    Deno.env.delete("AWS_SECRET_ACCESS_KEY");
    Deno.env.delete("LAB_PASSWORD");
  }
});
