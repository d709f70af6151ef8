/**
 * The command line that asks for what a plan was made for: without its operands a command would be refused, or would act on
 * something else.
 *
 * @module
 */

import { operands, shellQuote } from "../io/shell.ts";
import { isJsonObject, type Json, type JsonObject } from "../model/json.ts";

/** What a plan says of the request it was made for. */
interface Asked {
  readonly command: string;
  readonly context: JsonObject;
  readonly actions: readonly { readonly key: string }[];
}

/** Returns the command that a plan was made for, with more flags. */
export function askAgain(plan: Asked, ...more: string[]): string {
  const [command, flags, values] = requestOf(plan);
  return ["tether", command, ...flags, ...more.filter((flag) => !flags.includes(flag)), operands(values)]
    .filter((word) => word !== "").join(" ");
}

/** Returns the command that makes a plan anew, without applying it; `pull` makes none, so it is run. */
export function planAgain(plan: Asked): string {
  return isPull(plan) ? askAgain(plan) : askAgain(plan, "--dry-run");
}

function isPull({ context }: Asked): boolean {
  return context["pull"] === true;
}

type Request = readonly [command: string, flags: readonly string[], values: readonly string[]];

function requestOf(plan: Asked): Request {
  const { command, context, actions } = plan;
  const keys = texts(context["keys"]);
  const acted = [...new Set(actions.map((a) => a.key))];
  const flag = (name: string, field: string): string[] => context[field] === true ? [name] : [];
  const valued = (name: string, value: Json | undefined): string[] =>
    typeof value === "string" ? [`${name} ${shellQuote(value)}`] : [];
  const value = (field: string): string[] => texts([context[field] ?? null]);
  switch (command) {
    case "commit":
      if (isPull(plan)) return ["pull", keys.flatMap((key) => valued("--key", key)), []];
      return [command, valued("-m", context["message"]), keys];
    case "new": {
      const create = context["create"] === true ? valued("-b", context["bookmark"]) : [];
      const flags = ["shared", "keep", "eager", "discard", "adopt"].flatMap((name) => flag(`--${name}`, name));
      return [command, [...create, ...flags, ...flag("--defer-record", "defer_record")], value("rev")];
    }
    case "restore": {
      const where = [...valued("--from", context["from_rev"]), ...valued("--at", context["at"])];
      return [command, [...where, ...flag("--discard", "discard")], acted];
    }
    case "promote": {
      const strategy = context["strategy"] === "auto" ? [] : valued("--strategy", context["strategy"]);
      const named = [...new Set([...acted, ...texts(context["current"])])].sort();
      return [command, [...valued("--rev", context["rev"]), ...strategy], context["subset"] === true ? named : []];
    }
    case "gc": {
      return [command, [
        ...flag("--release-foreign", "release_foreign"),
        ...flag("--prune-bookmarks", "prune_bookmarks"),
        ...texts(context["keep_bookmarks"]).flatMap((name) => valued("--keep-bookmark", name)),
        ...flag("--force-prune", "force_prune"),
        ...flag("--delete-stores", "delete_stores"),
        ...storesOf(context["stores"]).flatMap((name) => valued("--store", name)),
      ], []];
    }
    case "drop":
      return [command, [
        ...valued("--to", context["leave"]),
        ...flag("--force-prune", "force_prune"),
        ...flag("--delete-stores", "delete_stores"),
      ], value("bookmark")];
    case "repair":
      return [command, flag("--all-history", "all_history"), keys];
    case "forget-workspace":
      return [command, [], value("workspace").map((id) => id.slice(0, 8))];
    case "upgrade":
      return [command, flag("--ignore-immutable", "ignore_immutable"), []];
    default:
      return [command, [], []];
  }
}

function texts(value: Json | undefined): string[] {
  return Array.isArray(value) ? value.filter((v) => typeof v === "string") : [];
}

/** Stores as `--store` takes them. */
function storesOf(value: Json | undefined): string[] {
  const stores = Array.isArray(value) ? value : [];
  return stores.flatMap((store) => {
    const [kind, locator] = Array.isArray(store) ? store : [];
    const uri = isJsonObject(locator) ? locator["uri"] : undefined;
    return typeof kind === "string" && typeof uri === "string" ? [`${kind}=${uri}`] : [];
  });
}
