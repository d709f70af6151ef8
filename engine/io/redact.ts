/**
 * The one redactor: whatever is printed, journaled, planned or thrown passes it (L39).
 *
 * @module
 */

const known = new Set<string>();

/** Remembers a secret of this process, so that it is masked wherever it turns up. Short texts are ignored. */
export function registerSecret(secret: string): void {
  if (secret.length >= 6) known.add(secret);
}

const PATTERNS: readonly [RegExp, string][] = [
  // user:password@ and token@ of a URL; a bare user name is no secret.
  [/([a-z][a-z0-9+.-]*:\/\/[^\s/:@"']*:)[^\s/@"']+@/gi, "$1***@"],
  [/([a-z][a-z0-9+.-]*:\/\/)(gh[pousr]_|github_pat_|glpat-|x-access-token)[^\s/@"']*@/gi, "$1***@"],
  // Secrets as query parameters or settings.
  [
    /((?:password|passwd|pwd|secret|token|access_key|secret_access_key|session_token|api_key|apikey|sig|signature|x-amz-signature|x-amz-credential|x-amz-security-token|sas|credential)["']?\s*[=:]\s*["']?)[^\s&;,"']+/gi,
    "$1***",
  ],
  [/(authorization:\s*(?:bearer|basic)\s+)\S+/gi, "$1***"],
];

/** Masks secrets in a text. */
export function redact(text: string): string {
  for (const secret of known) text = text.replaceAll(secret, "***");
  for (const [pattern, replacement] of PATTERNS) text = text.replace(pattern, replacement);
  return text;
}

/** Returns what makes a locator value a secret; `undefined` when it is none. A bare user name is none. */
export function secretIn(value: string): string | undefined {
  if (/^[a-z][a-z0-9+.-]*:\/\/[^\s/:@]*:[^\s/@]+@/i.test(value)) return "a password";
  if (/^[a-z][a-z0-9+.-]*:\/\/(gh[pousr]_|github_pat_|glpat-)/i.test(value)) return "a token";
  const query =
    /[?&;](sig|signature|token|access_token|password|secret|x-amz-signature|x-amz-security-token|api_?key)=/i
      .exec(value);
  if (query) return `the parameter "${query[1]}"`;
  if (/(^|\s)password\s*=/i.test(value)) return "a password";
  if (/\b(AKIA|ASIA)[0-9A-Z]{16}\b/.test(value)) return "an access key";
  return undefined;
}
