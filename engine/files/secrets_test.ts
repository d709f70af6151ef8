import assert from "node:assert/strict";
import { join } from "node:path";
import { redact } from "../model/redact.ts";
import { ConfigError } from "../model/errors.ts";
import { inTempDir, plant } from "./_test_dirs.ts";
import { backendConfig, NO_SECRETS, parseSecrets, readSecrets, secretRules } from "./secrets.ts";

const TEXT = `[vcs]
git_path = "/opt/git"
[import]
query = "select 1"
[backends.file]
allow = true
[backends.file.storage_options]
region = "secret-region"
[backends.neon]
api_key_env = "MY_NEON_KEY"
[uris."s3://bucket/"]
profile = "lab-profile"
[uris."s3://bucket/deep"]
access_key_id = "AKIDEXAMPLE12"
secret_access_key = "s3cr3t-value-one"
[objects."db/metrics"]
role_arn = "arn:aws:iam::123456789012:role/reader"
[objects.code]
remote = "https://example.org/x"
token = "t0ken-value-two"
`;

Deno.test("[formats 9] readSecrets() reads every table and warns when others may read it", async () => {
  await inTempDir(async (root) => {
    assert.deepEqual(await readSecrets(root), { secrets: NO_SECRETS, warnings: [] });
    await plant(root, { ".tether/secrets.toml": TEXT });
    await Deno.chmod(join(root, ".tether/secrets.toml"), 0o640);
    const { secrets, warnings } = await readSecrets(root);
    assert.deepEqual(warnings, ['".tether/secrets.toml" can be read by others: chmod 600 .tether/secrets.toml']);
    assert.deepEqual([secrets.vcs, secrets.importQuery], [{ gitPath: "/opt/git" }, "select 1"]);
    assert.deepEqual(Object.keys(secrets.uris), ["s3://bucket/", "s3://bucket/deep"]);
    await Deno.chmod(join(root, ".tether/secrets.toml"), 0o600);
    assert.deepEqual((await readSecrets(root)).warnings, []);
  });
});

Deno.test("[L39] the redactor knows the credentials once they are read, and nothing else", async () => {
  await inTempDir(async (root) => {
    await plant(root, { ".tether/secrets.toml": TEXT });
    await readSecrets(root);
    assert.equal(redact("x s3cr3t-value-one y t0ken-value-two z"), "x *** y *** z");
    for (const plain of ["lab-profile", "secret-region", "MY_NEON_KEY", "arn:aws:iam::123456789012:role/reader"]) {
      assert.equal(redact(plain), plain);
    }
  });
});

Deno.test("[formats 9] [L39] parseSecrets() names a wrong value's place and never the value", async (t) => {
  const cases: [string, RegExp][] = [
    ['[uris]\nx = "hunter2"', /uris\.x: it is not a table/],
    ['[uris."s3://b"]\nsecret_access_key = "hunter2"', /uris\."s3:\/\/b": access_key_id and secret_access_key belong/],
    ['[objects.a]\naccess_key_id = "hunter2"', /objects\.a: access_key_id/],
    ["[vcs]\ngit_path = [1]", /vcs\.git_path: it is not a string/],
    ['[vcs]\njj_path = ""', /vcs\.jj_path: it is blank/],
    ["[uris.a]\npassword = hunter2", /line 2, column 12: invalid value$/],
    ['[uris.a]\npassword = "hunter2', /line 2/],
  ];
  for (const [text, message] of cases) {
    await t.step(text, () => {
      assert.throws(() => parseSecrets(text, "s"), (error) => {
        assert.ok(error instanceof ConfigError);
        assert.match(error.message, message);
        assert.doesNotMatch(JSON.stringify(error.toJSON()), /hunter2/);
        return true;
      });
    });
  }
});

Deno.test("[formats 9] backendConfig() merges at every depth, secrets winning", () => {
  const committed = { file: { storage_options: { region: "committed", allow_http: true }, other: 1 } };
  const secrets = parseSecrets(TEXT, "s");
  assert.deepEqual(backendConfig("file", committed, secrets), {
    storage_options: { region: "secret-region", allow_http: true },
    other: 1,
    allow: true,
  });
  assert.deepEqual(backendConfig("constructor", committed, secrets), {});
});

Deno.test("[formats 9] secretRules() turns an object's entry into a rule for exactly its URI", () => {
  const secrets = parseSecrets(TEXT, "s");
  const rules = secretRules(secrets, {
    uriKeys: ["uri", "path"],
    objects: [
      { key: "code", locator: { path: "/p", uri: "/u" } },
      { key: "code", locator: { path: "/former" } },
      { key: "db/metrics", locator: { project_id: "p" } },
      { key: "constructor", locator: { uri: "/c" } },
    ],
  });
  const code = { remote: "https://example.org/x", token: "t0ken-value-two" };
  assert.deepEqual(rules, [
    { prefix: "/u", exact: true, options: code },
    { prefix: "/former", exact: true, options: code },
    { prefix: "s3://bucket/", exact: false, options: { profile: "lab-profile" } },
    {
      prefix: "s3://bucket/deep",
      exact: false,
      options: { access_key_id: "AKIDEXAMPLE12", secret_access_key: "s3cr3t-value-one" },
    },
  ]);
});
