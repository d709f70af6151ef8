/**
 * The long help of a command: what it does, examples, and the Deno permissions it needs.
 *
 * @module
 */

/** How far a command reaches, and so what it must be granted. */
export type Reach = "nothing" | "checkout" | "checkout-write" | "registering" | "stores" | "stores-write";

/** One example: what it shows, and the command line. */
export type Example = readonly [shows: string, line: string];

/** The long help of a command. */
export interface CommandHelp {
  /** Paragraphs, each one line; the terminal wraps them. */
  readonly text: readonly string[];
  readonly examples: readonly Example[];
  readonly reach: Reach;
  /** Further paragraphs that have to be looked up, only when help is shown. */
  readonly more?: () => Promise<readonly string[]>;
}

const CHECKOUT = "--allow-read --allow-env --allow-run=git (in a jj repository --allow-run=git,jj)";

/** What a command of each class needs, as one sentence and flags. */
const PERMISSIONS: Readonly<Record<Reach, string>> = {
  "nothing": "none.",
  "checkout": `${CHECKOUT}. No store is contacted, nothing but caches is written.`,
  "checkout-write": `${CHECKOUT} --allow-write=<checkout>. No store is contacted.`,
  "registering":
    `${CHECKOUT} --allow-write=<checkout>. No store is contacted but by --pick and --create, which need what "tether permissions --access lifecycle" prints for such objects.`,
  "stores":
    `${CHECKOUT} --allow-write=<checkout>, and what "tether permissions" prints for the objects. Stores are only read.`,
  "stores-write":
    `${CHECKOUT} --allow-write=<checkout>, and what "tether permissions --access refs" prints for the objects.`,
};

/** Returns what follows the options in a long help: what had to be looked up, examples, permissions. */
export function longHelpTail(
  help: CommandHelp,
  options: { readonly more: readonly string[]; readonly wrap: (text: string) => string },
): string {
  const parts = options.more.map(options.wrap);
  if (help.examples.length > 0) {
    parts.push(["Examples:", ...help.examples.flatMap(([shows, line]) => [`  # ${shows}`, `  ${line}`])].join("\n"));
  }
  parts.push(options.wrap(`Permissions: ${PERMISSIONS[help.reach]}`));
  return "\n" + parts.join("\n\n");
}

/** Returns what follows the options in a short help. */
export function shortHelpTail(name: string): string {
  return `\nMore, with examples: tether ${name} --help`;
}
