/**
 * `tether completions` (commands §1.1): the script that teaches a shell to ask `tether __complete`.
 *
 * @module
 */

import { Argument, type Command } from "@commander-js/extra-typings";
import type { Context } from "./context.ts";
import type { CommandHelp } from "./help.ts";
import { oneOf } from "./options.ts";

/** The long help. */
export const help: CommandHelp = {
  text: [
    "Prints a script that completes commands, options, kinds, keys and bookmarks. Keys come from the manifests and bookmarks from the repository: completing contacts no store.",
  ],
  examples: [
    ["bash, in ~/.bashrc", "source <(tether completions bash)"],
    ["zsh, in ~/.zshrc after compinit", "source <(tether completions zsh)"],
    ["fish", "tether completions fish > ~/.config/fish/completions/tether.fish"],
  ],
  reach: "nothing",
};

/** Shells there is a script for. */
export const SHELLS = ["bash", "zsh", "fish"] as const;

/** Adds arguments, options and the action. */
export function define(command: Command, context: Context): void {
  command
    .addArgument(new Argument("<shell>", "bash, zsh or fish").argParser(oneOf("the shell", SHELLS)))
    .action((shell) => {
      if (context.json) context.ui.json({ shell, script: SCRIPTS[shell] });
      else context.ui.raw(SCRIPTS[shell]);
    });
}

// Each line of `tether __complete` is a candidate, with its description after a tab. No candidate holds shell syntax, but a
// key may hold a space. Where nothing is offered, the shell completes file names.

const BASH = String.raw`# tether completion for bash
_tether() {
  local line
  local -a words=("${"$"}{COMP_WORDS[@]:1:COMP_CWORD}")
  COMPREPLY=()
  while IFS= read -r line; do
    COMPREPLY+=("$(printf '%q' "${"$"}{line%%$'\t'*}")")
  done < <(tether __complete -- "${"$"}{words[@]//\\/}" 2>/dev/null)
}
complete -o default -F _tether tether
`;

const ZSH = String.raw`#compdef tether
# tether completion for zsh
_tether() {
  local line
  local -a words_ texts
  while IFS= read -r line; do
    words_+=("${"$"}{line%%$'\t'*}")
    texts+=("${"$"}{line/$'\t'/  -- }")
  done < <(tether __complete -- "${"$"}{(@Q)words[2,CURRENT]}" 2>/dev/null)
  if (( $#words_ )); then
    compadd -l -d texts -a words_
  else
    _files
  fi
}
compdef _tether tether
`;

const FISH = String.raw`# tether completion for fish
function __tether_complete
    set -l words (commandline -opc) (commandline -ct)
    set -l found (tether __complete -- $words[2..-1] 2>/dev/null)
    if test (count $found) -gt 0
        printf '%s\n' $found
    else
        __fish_complete_path (commandline -ct)
    end
end
complete -c tether -f -a '(__tether_complete)'
`;

const SCRIPTS: Readonly<Record<(typeof SHELLS)[number], string>> = { bash: BASH, zsh: ZSH, fish: FISH };
