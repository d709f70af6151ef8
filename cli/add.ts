/**
 * `tether add` (commands §5.2).
 *
 * @module
 */

import { type Command, Option } from "@commander-js/extra-typings";
import type { Dataset } from "../engine/dataset.ts";
import { ConfigError } from "../engine/model/errors.ts";
import type { Json, JsonObject } from "../engine/model/json.ts";
import type { AddReport } from "../engine/reports/registering.ts";
import type { Context } from "./context.ts";
import type { CommandHelp } from "./help.ts";
import { collect, fields, given, oneOf, port, TEXT } from "./options.ts";
import { pickPosition } from "./pick.ts";
import type { Line } from "./ui.ts";

/** The long help. */
export const help: CommandHelp = {
  text: [
    "Writes the manifest of one object: its kind, where it is, and its policy. No store is contacted (except by --pick, which lists its history, and --create); the first commit records a state.",
    "For kinds whose address is a path (file, icechunk, lance, delta, git) one argument is the LOCATOR, and the key is its last segment without the store's suffix. For the other kinds it is the KEY, and options give the address. With two arguments the first is the KEY.",
    "A relative local path is made absolute against the current folder, and a leading ~ is the home folder: other clones look for the object at that same path. Passwords and tokens do not belong into a locator: they are refused, and go to .tether/secrets.toml.",
    "--at starts the object at an older state: the first commit pins that one, and a later pull on the trunk moves on.",
    "--create makes an empty store first (file, git, icechunk) and marks it as this dataset's, so that gc --delete-stores may take it away once nothing names it and nothing else is in it. It refuses where anything is already. Experimental.",
    "Kinds without branches (file, delta) move on the trunk only: add them there, and take changes in with pull; a folder that is to be filled takes --file versioned.",
    "--project-id, --database, --role, --region, --host, --port and --table are for kinds of other systems, which this version does not come with.",
  ],
  examples: [
    ["A local folder whose content must not change", "tether add raw/plate1 ../plate1 --kind file"],
    ["An Icechunk repository; the key becomes imaging", "tether add ../imaging.icechunk --kind icechunk"],
    ["A git repository at a tag", "tether add code ~/src/code --kind git --at v1.2"],
    [
      "A store of a bookmark's own, to throw away later",
      "tether add probe/emb /data/emb.icechunk --kind icechunk --create",
    ],
    ["An empty folder to fill, on the trunk", "tether add out /data/out --kind file --file versioned --create"],
  ],
  reach: "registering",
  more: async () => {
    const { kindsOnOffer } = await import("../engine/commands/backends.ts");
    const { stable, experimental } = await kindsOnOffer();
    return [`Kinds: ${stable.join(", ")}. Experimental: ${experimental.join(", ") || "none"}.`];
  },
};

/** Kinds whose address is one path or URI, so that a single argument can be it. */
const PATH_KINDS: ReadonlySet<string> = new Set(["file", "icechunk", "lance", "delta", "git"]);

/** Options that set the locator field of the same name. */
const FIELD_OPTIONS = ["branch", "projectId", "database", "role", "remote", "region", "host", "port", "table"] as const;
type FieldFlags = { readonly [K in (typeof FIELD_OPTIONS)[number]]?: string | number | undefined };

/** Adds arguments, options and the action. */
export function define(command: Command, context: Context): void {
  command
    .argument("[key]", "a name of your choice, with / between its parts")
    .argument("[locator]", "where the object is: a path or URI")
    .requiredOption("--kind <kind>", "the kind of system; see tether backends")
    .option("--branch <name>", "the upstream branch, which the trunk stands for")
    .option("--project-id <id>", "the project of a hosted database")
    .option("--database <name>", "the database on its server")
    .option("--role <name>", "the role that connects to it")
    .option("--remote <name>", "a remote of the repository that pins are pushed to (git)")
    .option("--region <name>", "the region of the bucket")
    .option("--host <name>", "the server of a database")
    .option("--port <number>", "the port of that server", port)
    .option("--table <name>", "one table of a catalog")
    .option("--set <name=value>", TEXT.set, collect)
    .addOption(
      new Option("--file <policy>", "immutable or versioned: whether the content may change")
        .argParser(oneOf("--file", ["immutable", "versioned"] as const)),
    )
    .addOption(
      new Option("--pin <policy>", "native or record: whether commits make a native ref")
        .argParser(oneOf("--pin", ["native", "record"] as const)),
    )
    .addOption(new Option("--at <state>", "start at this state: a snapshot, version, commit or tag").conflicts("pick"))
    .option("--pick", "choose that state from the object's history")
    .addOption(new Option("--create", "make the store first (experimental)").conflicts(["at", "pick"]))
    .action(async (first, second, flags) => {
      const { kind, file, pin } = flags;
      const { key, locator } = placeOf([first, second], { kind, fields: locatorFields(flags, flags.set) });
      await using dataset = await context.dataset();
      const at = flags.pick ? await pick(context, { dataset, kind, locator }) : flags.at;
      const report = await dataset.add({
        ...given({ key, at, create: flags.create }),
        kind,
        locator,
        policy: given({ file, pin }),
        ...context.call,
      });
      for (const note of report.notes) context.ui.note(note);
      context.show(report, addLines);
    });
}

/** The two arguments told apart, with everything else of the address. */
export interface Place {
  readonly key: string | undefined;
  readonly locator: JsonObject;
}

/**
 * Tells which argument is the key and which the locator.
 *
 * @throws {ConfigError} if there is neither, or the locator is given twice.
 */
export function placeOf(
  args: readonly [string | undefined, string | undefined],
  options: { readonly kind: string; readonly fields: JsonObject },
): Place {
  const [first, second] = args;
  const addressed = ["uri", "path"].some((name) => name in options.fields);
  if (first === undefined) {
    if (addressed && PATH_KINDS.has(options.kind)) return { key: undefined, locator: options.fields };
    throw new ConfigError("Cannot add an object without a key or a locator", {
      code: "flag",
      hints: ["tether add KEY LOCATOR --kind KIND"],
    });
  }
  const alone = second === undefined;
  const isLocator = alone && PATH_KINDS.has(options.kind) && !addressed;
  const uri = isLocator ? first : second;
  if (uri !== undefined && "uri" in options.fields) {
    throw new ConfigError(`Cannot use the locator "${uri}": --set gives another uri`, { code: "flag" });
  }
  return {
    key: isLocator ? undefined : first,
    locator: uri === undefined ? options.fields : { uri, ...options.fields },
  };
}

function locatorFields(flags: FieldFlags, pairs: readonly string[] | undefined): JsonObject {
  const extra = fields(pairs, "--set");
  const result: Record<string, Json> = {};
  for (const option of FIELD_OPTIONS) {
    const value = flags[option];
    if (value === undefined) continue;
    const name = option.replaceAll(/[A-Z]/g, (c) => `_${c.toLowerCase()}`);
    if (name in extra) throw new ConfigError(`Cannot use --set ${name}: its own option is given too`, { code: "flag" });
    result[name] = value;
  }
  return { ...result, ...extra };
}

async function pick(
  context: Context,
  o: { readonly dataset: Dataset; readonly kind: string; readonly locator: JsonObject },
): Promise<string> {
  const { entries } = await o.dataset.logOf(o.kind, o.locator, { limit: 20, ...context.call });
  return await pickPosition(context, entries);
}

/** Returns the human form of an add report. */
export function addLines(report: AddReport): Line[] {
  const facts = [
    report.kind,
    ...(report.created ? ["created"] : []),
    ...(report.derivedKey ? ["key from the locator"] : []),
  ];
  return [{ text: `added ${report.key} (${facts.join(", ")})${report.at === null ? "" : ` at ${report.at}`}` }];
}
