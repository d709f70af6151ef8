/**
 * Every command of the program, and a way to run many of them without starting a process for each.
 *
 * @module
 */

import type { World } from "../../cli/context.ts";
import { runCli } from "../../cli/program.ts";
import type { Stream } from "../../cli/stream.ts";
import type { Ran } from "../cli/_tether.ts";

/**
 * Command lines that only read, for a dataset with the objects `code` (git) and `plate` (file) that is on bookmark `y` and has a
 * trunk `main`.
 */
export const READING: readonly (readonly string[])[] = [
  ["status"],
  ["status", "--snapshot"],
  ["verify"],
  ["verify", "--all-history", "--deep"],
  ["diff"],
  ["diff", "main", "--content"],
  ["log", "code"],
  ["ops"],
  ["open", "plate"],
  ["open", "code", "--read-only"],
  ["open", "code", "-r", "main"],
  ["permissions"],
  ["commit", "-m", "x", "--dry-run"],
  ["new", "-b", "z", "--eager", "--dry-run"],
  ["restore", "code", "--from", "main", "--dry-run"],
  ["promote", "--dry-run"],
  ["repair", "--dry-run"],
  ["recover"],
  ["forget-workspace", "--dry-run"],
  ["upgrade", "--dry-run"],
  ["gc"],
  ["drop", "y"],
];

/** Command lines that write, for the same dataset. */
export const WRITING: readonly (readonly string[])[] = [
  ["add", "q", "../plate", "--kind", "file"],
  ["remove", "plate"],
  ["set", "--all", "--pin", "record"],
  ["snapshot"],
  ["commit", "-m", "x"],
  ["new", "-b", "z"],
  ["pull"],
  ["restore", "code", "--from", "main"],
  ["promote"],
  ["undo"],
  ["repair"],
  ["abandon", "y~1"],
  ["gc", "--no-dry-run"],
  ["drop", "y", "--no-dry-run"],
  ["forget-workspace"],
];

/** Command lines that say nothing about a dataset's content, or make one. */
export const ELSEWHERE: readonly (readonly string[])[] = [
  ["init"],
  ["backends"],
  ["root"],
  ["completions", "bash"],
  ["plan", "show", "nosuch.json"],
];

/** Runs a command line in this process as if it had been started in a folder. */
export async function inProcess(cwd: string, args: readonly string[]): Promise<Ran> {
  const [stdout, stderr] = [memoryStream(), memoryStream()];
  const world: World = {
    stdout,
    stderr,
    env: (name) => Deno.env.get(name),
    readLine: () => Promise.resolve(undefined),
    chdir: (path) => Deno.chdir(path),
    signal: new AbortController().signal,
  };
  const before = Deno.cwd();
  Deno.chdir(cwd);
  try {
    return { code: await runCli(args, world), stdout: stdout.text, stderr: stderr.text };
  } finally {
    Deno.chdir(before);
  }
}

function memoryStream(): Stream & { text: string } {
  return {
    text: "",
    terminal: false,
    columns: undefined,
    write(text) {
      this.text += text;
    },
  };
}
