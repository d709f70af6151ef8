/**
 * The one redactor, and what counts as a secret: whatever is printed, journaled, planned or thrown passes it (L39).
 *
 * Secrets are known by name (what `secrets.toml` says), by place (the password of a URL, `token=`), or by shape (the prefixes
 * that services give their tokens). The ids that stores and version control print have none of these shapes: hex digests,
 * UUIDs, Icechunk's base-32 ids.
 *
 * @module
 */

import { Float, type Json, type JsonObject } from "./json.ts";

const known = new Set<string>();

/** Remembers a secret of this process, so that it is masked wherever it turns up. Short texts are ignored. */
export function registerSecret(secret: string): void {
  if (secret.length >= 6) known.add(secret);
}

/** Shapes of tokens, by what to call them. None may begin or end within a longer word. */
const SHAPES: readonly [string, readonly RegExp[]][] = [
  ["a GitHub token", [/gh[pousr]_[A-Za-z0-9]{16,}/, /github_pat_[A-Za-z0-9_]{20,}/]],
  ["a GitLab token", [/gl(?:pat|dt|rt|cbt|ptt|ft|imt|agent|soat)-[A-Za-z0-9_.-]{16,}/]],
  ["a Slack token", [/xox[a-z]-[A-Za-z0-9-]{10,}/, /xapp-[0-9]-[A-Za-z0-9-]{10,}/]],
  ["an access key", [/A(?:K|S)IA[0-9A-Z]{16}/]],
  ["an API key", [
    // Letters beyond hex: a name such as `sk-` with a digest behind it is no key.
    /sk-(?=[A-Za-z0-9]*[G-Zg-z])[A-Za-z0-9]{32,}/,
    /sk-(?:proj|svcacct|admin|ant-[a-z0-9]+|or-v1)-[A-Za-z0-9_-]{20,}/,
    /[sr]k_(?:live|test)_[A-Za-z0-9]{16,}/,
    /AIza[A-Za-z0-9_-]{35}/,
    /napi_[a-z0-9]{32,}/,
    /SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}/,
  ]],
  ["a token", [
    /hf_[A-Za-z0-9]{30,}/,
    /npm_[A-Za-z0-9]{36}/,
    /pypi-AgE[A-Za-z0-9_-]{20,}/,
    /dckr_(?:pat|oat)_[A-Za-z0-9_-]{20,}/,
    /do[por]_v1_[0-9a-f]{64}/,
    /dapi[0-9a-f]{32}(?:-[0-9])?/,
    /hv[sb]\.[A-Za-z0-9_-]{24,}/,
    /ya29\.[A-Za-z0-9_-]{20,}/,
    /eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*/,
  ]],
];

const TOKEN = new RegExp(
  `(?<![A-Za-z0-9_])(?:${SHAPES.flatMap(([, shapes]) => shapes.map((s) => s.source)).join("|")})(?![A-Za-z0-9_])`,
  "g",
);

const PRIVATE_KEY = /-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----[\s\S]*?(?:-----END [A-Z0-9 ]*-----|$)/g;

/** What is a secret wherever it stands. */
const EXACT: readonly [RegExp, string][] = [
  // user:password@ and token@ of a URL; a bare user name is no secret.
  [/([a-z][a-z0-9+.-]*:\/\/[^\s/:@"']*:)[^\s/@"']+@/gi, "$1***@"],
  [/([a-z][a-z0-9+.-]*:\/\/)(gh[pousr]_|github_pat_|glpat-|x-access-token)[^\s/@"']*@/gi, "$1***@"],
  [
    /([?&](?:sig|signature|(?:access_|refresh_|auth_)?token|password|secret|x-amz-signature|x-amz-credential|x-amz-security-token|api_?key)=)[^\s&;,"'#]+/gi,
    "$1***",
  ],
  [PRIVATE_KEY, "***"],
  [TOKEN, "***"],
];

const NAMES =
  "password|passwd|passphrase|secret|token|(?:secret_?)?access_?key|private_?key|account_?key|api_?key|signature|" +
  "x-amz-signature|x-amz-credential|x-amz-security-token|credential|(?<![a-z])(?:pwd|sig|sas)";

/** What is a secret by the name before it, in the words of programs. */
const NAMED: readonly [RegExp, string][] = [
  // A quoted name has a quoted value; prose such as `object "token": it has` is none.
  [new RegExp(`(["'](?:[a-z0-9_-]*)(?:${NAMES})["']\\s*[=:]\\s*["'])[^"']+`, "gi"), "$1***"],
  [new RegExp(`((?:${NAMES})\\s*=\\s*["']?)[^\\s&;,"']+`, "gi"), "$1***"],
  [new RegExp(`((?:${NAMES}):\\s*["']?)[^\\s&;,"']{6,}`, "gi"), "$1***"],
  [/(authorization:\s*(?:bearer|basic)\s+)\S+/gi, "$1***"],
];

/** Masks secrets in a text meant for people. */
export function redact(text: string): string {
  for (const secret of known) text = text.replaceAll(secret, "***");
  for (const [pattern, replacement] of [...EXACT, ...NAMED]) text = text.replace(pattern, replacement);
  return text;
}

/** Masks secrets in every text of a JSON value. The text of a document must stay valid, so it is not enough to mask that. */
export function redactJson(value: Json): Json {
  return eachText(value, redact);
}

/**
 * Masks what is a secret wherever it stands in the texts of a record that programs read back: a mere name before a value proves
 * nothing there, an object may be called `token`.
 */
export function redactRecord<T extends JsonObject>(record: T): T {
  return eachText(record, redactExact) as T;
}

function redactExact(text: string): string {
  // A password that is a word might be an object's name.
  for (const secret of known) if (secret.length >= 8) text = text.replaceAll(secret, "***");
  for (const [pattern, replacement] of EXACT) text = text.replace(pattern, replacement);
  return text;
}

function eachText(value: Json, mask: (text: string) => string): Json {
  if (typeof value === "string") return mask(value);
  if (value === null || typeof value !== "object" || value instanceof Float) return value;
  if (Array.isArray(value)) return value.map((item) => eachText(item, mask));
  return Object.fromEntries(Object.entries(value).map(([k, v]) => [mask(k), eachText(v, mask)]));
}

/** Returns what makes a text a token by its shape alone, such as `a GitHub token`; `undefined` when it holds none. */
export function tokenIn(text: string): string | undefined {
  if (new RegExp(PRIVATE_KEY.source).test(text)) return "a private key";
  const found = text.match(TOKEN)?.[0];
  if (found === undefined) return undefined;
  return SHAPES.find(([, shapes]) => shapes.some((s) => new RegExp(`^(?:${s.source})$`).test(found)))?.[0] ?? "a token";
}

/** Returns what makes a locator value a secret; `undefined` when it is none. A bare user name is none. */
export function secretIn(value: string): string | undefined {
  if (/^[a-z][a-z0-9+.-]*:\/\/[^\s/:@]*:[^\s/@]+@/i.test(value)) return "a password";
  if (/^[a-z][a-z0-9+.-]*:\/\/(gh[pousr]_|github_pat_|glpat-)/i.test(value)) return "a token";
  const query =
    /[?&;](sig|signature|token|access_token|password|secret|x-amz-signature|x-amz-security-token|account_?key|api_?key)=/i
      .exec(value);
  if (query) return `the parameter "${query[1]}"`;
  if (/(^|[\s;:])(password|passwd|pwd)\s*=/i.test(value)) return "a password";
  return tokenIn(value);
}

/** Last words of field names that hold a credential. */
const CREDENTIAL_WORDS =
  /(?:^|_)(?:pass|password|passwd|pwd|passphrase|passcode|secrets?|tokens?|api_?key|access_?key(?:_?id)?|private_?key|account_?key|secret_?key|shared_?key|storage_?key|master_?key|encryption_?key|ssh_?key|service_?account_?key|credentials?|bearer|auth|authorization|sas|sig|signature)$/;

/** Tells whether a field of this name would hold a credential. One that names where it comes from, as `password_env`, would not. */
export function namesSecret(field: string): boolean {
  // `secretAccessKey`, `secret-access-key` and `SECRET ACCESS KEY` are one name.
  const words = field.trim().replace(/([a-z0-9])([A-Z])/g, "$1_$2").replace(/[^A-Za-z0-9]+/g, "_").toLowerCase();
  return CREDENTIAL_WORDS.test(words.replace(/\d+$/, ""));
}
