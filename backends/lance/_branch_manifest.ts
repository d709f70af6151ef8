/**
 * The first manifest of a branch: the source's manifest, with every file it lists pointed at where the source keeps it.
 * Lance calls this a shallow clone; the result is field for field what its own writers make of the same source, less the
 * inline copy of the transaction, which is optional and has another field number in each generation of Lance.
 *
 * @module
 */

import { CapabilityError } from "../../engine/model/backend_errors.ts";
import { basePaths, buildManifestFile, type ManifestFile, sectionAt, withLength } from "./_manifest.ts";
import { Message } from "./_protobuf.ts";

/** Feature flags (table.proto) whose meaning a copy preserves: all of Lance 14 but overlays and tagged fragment reuse. */
const KNOWN_FLAGS = 0b1001_1011_1111n;
const FLAG_BASE_PATHS = 1n << 4n;

/** Fields of the manifest message, as far as a clone names them. */
const F = {
  fields: 1,
  fragments: 2,
  version: 3,
  indexSection: 6,
  timestamp: 7,
  tag: 8,
  readerFlags: 9,
  writerFlags: 10,
  transactionFile: 12,
  basePaths: 18,
  branch: 20,
} as const;

/** Fields a clone keeps or sets; others are of a Lance this code does not know, or point into the source's own file. */
const KEPT: ReadonlySet<number> = new Set([1, 2, 3, 4, 5, 7, 9, 10, 11, 12, 13, 14, 15, 16, 18, 19, 20]);

/** What a branch is cloned from and called. */
export interface CloneOptions {
  /** Name of the new branch. */
  readonly branch: string;
  /** Branch of the source; absent for main. */
  readonly sourceBranch?: string;
  /** Absolute path or URI of the source: the table, or `tree/<branch>` below it. */
  readonly sourceUri: string;
  /** Id of the transaction: a UUID with hyphens. */
  readonly transactionId: string;
  readonly now: Date;
}

/** The files that make a branch, before its ref does. */
export interface BranchFiles {
  /** Name of the transaction file, below `_transactions`. */
  readonly transactionName: string;
  readonly transaction: Uint8Array;
  readonly manifest: Uint8Array;
}

/**
 * Returns the files of a new branch.
 *
 * @throws {CapabilityError} if the table uses features of Lance that this code does not know.
 */
export function cloneForBranch(source: ManifestFile, options: CloneOptions): BranchFiles {
  checkFlags(source.message);
  const version = source.message.integer(F.version) ?? 0n;
  const transactionName = `${version}-${options.transactionId}.txn`;
  const base = unusedId(basePaths(source.message).map((b) => b.id));
  const withBase = (file: Message) => file.integer(7) === undefined ? file.with(7, BigInt(base)) : file;

  let sections = hasDictionaries(source.message) ? source.bytes.subarray(0, source.position) : new Uint8Array();
  let message = new Message(source.message.fields.filter((field) => KEPT.has(field.number)))
    .mapped(F.fragments, (fragment) => fragment.mapped(2, withBase).mapped(3, withBase))
    .with(F.timestamp, timestamp(options.now))
    .with(F.readerFlags, (source.message.integer(F.readerFlags) ?? 0n) | FLAG_BASE_PATHS)
    .with(F.writerFlags, (source.message.integer(F.writerFlags) ?? 0n) | FLAG_BASE_PATHS)
    .with(F.transactionFile, transactionName)
    .and(F.basePaths, basePath(base, options))
    .with(F.branch, options.branch);
  const indexes = source.message.integer(F.indexSection);
  if (indexes !== undefined) {
    const section = sectionAt(source, Number(indexes))
      .mapped(1, (index) => index.integer(9) === undefined ? index.with(9, BigInt(base)) : index);
    message = message.with(F.indexSection, BigInt(sections.length));
    sections = Uint8Array.from([...sections, ...withLength(section)]);
  }
  return {
    transactionName,
    transaction: transaction(version, options).encode(),
    manifest: buildManifestFile(sections, message),
  };
}

/** Tells whether two manifests are clones of the same source under the same name, whenever and by whom each was made. */
export function sameClone(a: Message, b: Message): boolean {
  return essence(a) === essence(b);
}

// Maps and base paths have no order that writers agree on.
function essence(manifest: Message): string {
  return manifest.fields
    .filter((f) => KEPT.has(f.number) && f.number !== F.timestamp && f.number !== F.transactionFile)
    .map((f) => new Message([f]).encode().toHex()).sort().join(" ");
}

function checkFlags(manifest: Message): void {
  const flags = (manifest.integer(F.readerFlags) ?? 0n) | (manifest.integer(F.writerFlags) ?? 0n);
  if ((flags & ~KNOWN_FLAGS) === 0n) return;
  throw new CapabilityError(
    `Cannot create a branch: the table uses features of Lance that tether does not know (flags ${flags})`,
    { kind: "lance", hints: ["Upgrade tether, or create the branch with Lance itself"], details: { flags } },
  );
}

// Files of the 0.1 format keep dictionaries in the manifest file and name them by position.
function hasDictionaries(manifest: Message): boolean {
  return manifest.messages(F.fields).some((field) => (field.message(8)?.integer(2) ?? 0n) > 0n);
}

function unusedId(ids: readonly number[]): number {
  let id = 0;
  while (ids.includes(id)) id++;
  return id;
}

function basePath(id: number, options: CloneOptions): Message {
  return new Message()
    .with(1, id === 0 ? undefined : BigInt(id))
    .with(2, options.sourceBranch)
    .with(3, 1n)
    .with(4, options.sourceUri);
}

function transaction(version: bigint, options: CloneOptions): Message {
  const clone = new Message()
    .with(1, 1n)
    .with(2, options.sourceBranch)
    .with(3, version)
    .with(4, options.sourceUri)
    .with(5, options.branch);
  return new Message().with(1, version).with(2, options.transactionId).with(113, clone);
}

function timestamp(now: Date): Message {
  const ms = now.getTime();
  const nanos = (ms % 1000) * 1_000_000;
  return new Message()
    .with(1, BigInt(Math.floor(ms / 1000)))
    .with(2, nanos === 0 ? undefined : BigInt(nanos));
}
