import assert from "node:assert/strict";
import fc from "fast-check";
import { BackendError } from "./backend_errors.ts";
import { namesSecret, redact, redactJson, redactRecord, registerSecret, secretIn, tokenIn } from "./redact.ts";

/** Letters and digits, so that no scanner takes this file for a leak: the shapes are put together here. */
function word(length: number, alphabet = "aB3dE5gH7jK9mN1pQ"): string {
  return Array.from({ length }, (_, i) => alphabet[i % alphabet.length]).join("");
}

/** One token of each shape, by what it is called. */
const TOKENS: readonly (readonly [string, string])[] = [
  ...["ghp_", "gho_", "ghu_", "ghs_", "ghr_"].map((p) => ["a GitHub token", p + word(36)] as const),
  ["a GitHub token", "github_pat_" + word(22) + "_" + word(59)],
  ["a GitLab token", "glpat-" + word(20)],
  ["a GitLab token", "gldt-" + word(20)],
  ["a Slack token", "xoxb-" + "123456789012-" + word(24)],
  ["a Slack token", "xoxp-" + word(30)],
  ["an access key", "AKIA" + word(16, "ABC234XYZ")],
  ["an access key", "ASIA" + word(16, "ABC234XYZ")],
  ["an API key", "sk-" + word(48)],
  ["an API key", "sk-proj-" + word(40)],
  ["an API key", "sk-ant-api03-" + word(40)],
  ["an API key", "sk_live_" + word(24)],
  ["an API key", "AIza" + word(35)],
  ["an API key", "napi_" + word(64, "a1b2z")],
  ["a token", "hf_" + word(34)],
  ["a token", "npm_" + word(36)],
  ["a token", "pypi-AgE" + word(60)],
  ["a token", "dapi" + word(32, "0a1b2c")],
  ["a token", "hvs." + word(24)],
  ["a token", `eyJ${word(20)}.eyJ${word(30)}.${word(43)}`],
  ["a private key", `-----BEGIN RSA PRIVATE KEY-----\n${word(64)}\n${word(64)}\n-----END RSA PRIVATE KEY-----`],
  ["a private key", `-----BEGIN OPENSSH PRIVATE KEY-----\n${word(64)}`],
];

Deno.test("[L39] a token is known by its shape, wherever it stands", () => {
  for (const [what, token] of TOKENS) {
    assert.equal(tokenIn(token), what, token);
    for (const text of [token, `fatal: ${token} is refused`, `"${token}"`, `/data/${token}/x`, `a=${token}&b`]) {
      assert.equal(secretIn(text) === undefined, false, text);
      assert.equal(redact(text).includes(token.slice(-12)), false, redact(text));
      assert.equal(JSON.stringify(redactRecord({ pre: { [text]: [text] } })).includes(token.slice(-12)), false, text);
    }
  }
});

const hexId = (length: number) => fc.stringMatching(new RegExp(`^[0-9a-f]{${length}}$`));
const crockford = fc.stringMatching(/^[0-9ABCDEFGHJKMNPQRSTVWXYZ]{20}$/);

Deno.test("[L39] ids of stores and version control are no secrets, however they are embedded", () => {
  const id = fc.oneof(hexId(40), hexId(64), hexId(16), fc.uuid(), crockford, hexId(32));
  const around = fc.constantFrom(
    (i: string) => i,
    (i: string) => `sha256:${i}`,
    (i: string) => `tether.0a1b2c3d.${i}`,
    (i: string) => `commit ${i} is at s3://bucket/${i}/x`,
    (i: string) => `task-${i}`,
    (i: string) => `sk-${i}`,
    (i: string) => `git://ada@host/${i}`,
  );
  fc.assert(fc.property(id, around, (i, wrap) => {
    const text = wrap(i);
    assert.deepEqual([tokenIn(text), secretIn(text), redact(text)], [undefined, undefined, text]);
    assert.deepEqual(redactRecord({ token: text, [i]: { sig: i } }), { token: text, [i]: { sig: i } });
  }));
});

Deno.test("[L39] ordinary addresses and words are no secrets", () => {
  const plain = [
    "s3://bucket/prefix",
    "ssh://git@example.org/repo.git",
    "/data/sk-learn-models/task-list",
    "mysql://root@127.0.0.1:3306/db",
    "hf_datasets/the_pile",
    "ducklake:postgres:host=h dbname=d user=u",
    "eyJ is how a token begins",
    "AKIA",
    'Cannot find object "token": this dataset has none of that key',
  ];
  for (const text of plain) assert.deepEqual([secretIn(text), redact(text)], [undefined, text], text);
});

Deno.test("[L39] what a program says of a password is masked by the name before it", () => {
  const texts = [
    "password=hunter2x",
    "PASSWORD = hunter2x",
    "token: hunter2x",
    '{"secret_access_key": "hunter2x"}',
    "https://u:hunter2x@host/x",
    "https://host/x?sig=hunter2x&y",
    "Authorization: Bearer hunter2x",
    "postgres:host=h password=hunter2x",
  ];
  for (const text of texts) assert.doesNotMatch(redact(text), /hunter2x/, text);
});

Deno.test("[L39] names of fields that hold credentials, in any spelling, and names of those that say where one is", () => {
  const secret = ["password", "passwd", "token", "session_token", "sas", "sas_token", "secret", "client-secret"];
  secret.push("secret_access_key", "secretAccessKey", "access_key_id", "api_key", "apikey", "API-KEY", "x-api-key");
  secret.push("credential", "credentials", "private_key", "privateKey", "account_key", "azure_storage_account_key");
  const plain = [
    "uri",
    "path",
    "ref",
    "at",
    "key",
    "password_env",
    "user_env",
    "profile",
    "role_arn",
    "region",
    "token_file",
  ];
  plain.push(
    "host",
    "port",
    "database",
    "branch",
    "table",
    "catalog_name",
    "project_id",
    "tokenizer",
    "design",
    "signal",
  );
  for (const name of secret) assert.equal(namesSecret(name), true, name);
  for (const name of plain) assert.equal(namesSecret(name), false, name);
});

Deno.test("[L39] an error keeps no secret, in no part of it", () => {
  const secret = "planted-" + word(20);
  registerSecret(secret);
  const error = new BackendError(`Cannot read: ${secret}`, {
    kind: "file",
    hints: [`open ${secret}`],
    details: { stderr: [secret] },
    cause: new Error(`at ${secret}`),
  });
  assert.doesNotMatch(JSON.stringify([error, error.message, error.reason, error.hints, error.details]), /planted-/);
  assert.deepEqual(redactJson({ a: [secret, 1n] }), { a: ["***", 1n] });
});
