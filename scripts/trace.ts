/**
 * Lists the rules of the specification that no test names. A test names a rule in its title, as `[L07]` or `[Δ9]`.
 *
 * @module
 */

const RULES: readonly (readonly [string, readonly string[]])[] = [
  ["Lessons", range("L", 44, 2)],
  ["Conformance", range("C", 31, 2)],
  ["Rulings on commands", range("Δ", 42, 0)],
  ["Divergences of backends", range("DIV-", 12, 0)],
  ["Formats", range("formats ", 20, 0)],
  ["Commands", range("commands ", 9, 0)],
  ["Backends", range("backends ", 9, 0)],
];

function range(prefix: string, last: number, pad: number): string[] {
  return Array.from({ length: last }, (_, i) => prefix + String(i + 1).padStart(pad, "0"));
}

/** Returns the rules named in brackets anywhere in the tests; `[formats 2.4]` names section 2 too. */
async function named(): Promise<Set<string>> {
  const found = new Set<string>();
  for await (const path of testFiles(".")) {
    const text = await Deno.readTextFile(path);
    // The suite's checks carry their ids as values; each kind's test runs them all.
    if (path.includes("/conformance/")) { for (const [id] of text.matchAll(/\bC\d\d\b/g)) found.add(id); }
    for (const [, inside = ""] of text.matchAll(/\[([^\]\n]{2,80})\]/g)) {
      let section = "";
      for (const part of inside.split(/,\s*/)) {
        const sections = /^(formats|commands|backends) (\d+)/.exec(part);
        if (sections) section = sections[1] ?? "";
        const bare = /^(\d+)(\.\d+)*$/.exec(part);
        found.add(sections ? `${sections[1]} ${sections[2]}` : bare && section ? `${section} ${bare[1]}` : part.trim());
      }
    }
  }
  return found;
}

async function* testFiles(folder: string): AsyncGenerator<string> {
  for await (const entry of Deno.readDir(folder)) {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory && !entry.name.startsWith(".") && entry.name !== "node_modules") yield* testFiles(path);
    else if (/_test\.ts$/.test(entry.name) || path.includes("/conformance/")) yield path;
  }
}

const covered = await named();
const lines: string[] = [];
for (const [title, rules] of RULES) {
  const missing = rules.filter((r) => !covered.has(r));
  lines.push(`${title}: ${rules.length - missing.length} of ${rules.length} named by a test`);
  if (missing.length > 0) lines.push(`  without: ${missing.join(" ")}`);
}
await Deno.stdout.write(new TextEncoder().encode(lines.join("\n") + "\n"));
