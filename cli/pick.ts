/**
 * `add --pick`: lists an object's history and reads a choice (commands §5.2, Δ26).
 *
 * @module
 */

import { ConfigError } from "../engine/model/errors.ts";
import type { LogEntry } from "../engine/reports/reading.ts";
import type { Context } from "./context.ts";
import { columns, firstLine, minute } from "./render.ts";
import type { Line } from "./ui.ts";

/**
 * Lets the user choose one entry of a history and returns its id. The list and the question go to standard error.
 *
 * @throws {ConfigError} if there is nothing to choose, nobody answers, or the answer names no entry.
 */
export async function pickPosition(context: Context, entries: readonly LogEntry[]): Promise<string> {
  if (entries.length === 0) throw new ConfigError("Cannot pick a state: the history is empty", { code: "pick" });
  context.ui.print(pickLines(entries));
  context.ui.raw("which one? [#1] ", "err");
  const answer = await context.world.readLine();
  if (answer === undefined) {
    context.ui.raw("\n", "err");
    throw new ConfigError("Cannot pick a state: standard input has no answer", {
      code: "pick",
      hints: ["tether log LOCATOR --kind KIND lists the states, --at STATE chooses one"],
    });
  }
  return chosen(answer, entries);
}

/** Returns the numbered list. */
export function pickLines(entries: readonly LogEntry[]): Line[] {
  const rows = entries.map((e, i) => [`#${i + 1}`, e.id, minute(e.when), `${firstLine(e.message)}${refsOf(e)}`]);
  return columns(rows).map((text): Line => ({ text: text.trimEnd(), to: "err" }));
}

function refsOf(entry: LogEntry): string {
  return entry.refs.length === 0 ? "" : `  [${entry.refs.join(", ")}]`;
}

/**
 * Returns the id an answer means: `#N` and `N` are places in the list, `id:X` and `X` an id or the beginning of just one.
 * A bare number that is a place as well as an id is not guessed at.
 *
 * @throws {ConfigError} if it names no entry, or more than one.
 */
export function chosen(answer: string, entries: readonly LogEntry[]): string {
  const text = answer.trim() || "#1";
  const place = /^#?([0-9]+)$/.exec(text)?.[1];
  const atPlace = place === undefined ? undefined : entries[Number(place) - 1]?.id;
  const byId = text.startsWith("#") ? [] : withId(text.replace(/^id:/, ""), entries);
  if (text.startsWith("#") || (atPlace !== undefined && !byId.includes(text))) {
    if (atPlace !== undefined) return atPlace;
  } else if (atPlace !== undefined && atPlace !== text) {
    throw new ConfigError(`Cannot tell what "${text}" means: it is a place in the list and an id`, {
      code: "pick",
      hints: [`Answer #${text} for the place or id:${text} for the id`],
    });
  } else if (byId.length === 1 && byId[0] !== undefined) {
    return byId[0];
  }
  const why = byId.length > 1 ? `${byId.length} ids begin with it` : "the list has no such entry";
  throw new ConfigError(`Cannot pick "${text}": ${why}`, { code: "pick" });
}

function withId(prefix: string, entries: readonly LogEntry[]): string[] {
  if (prefix === "") return [];
  const ids = [...new Set(entries.map((e) => e.id))];
  return ids.includes(prefix) ? [prefix] : ids.filter((id) => id.startsWith(prefix));
}
