// SPDX-License-Identifier: Apache-2.0
import type { Io } from "../io.ts";
import type { CommandInput } from "../options/command-spec.ts";
import { UserError } from "../user-error.ts";

/** `purlin completion SHELL` */
export async function run(input: CommandInput, io: Io): Promise<undefined> {
  const [shell = ""] = input.args;
  if (!isShell(shell)) throw new UserError(`shell "${shell}" is not supported: use bash, zsh or fish`, { exitCode: 2 });
  io.stdout.write(completionScripts[shell]);
}

function isShell(name: string): name is Shell {
  return (shells as readonly string[]).includes(name);
}

/** A shell that completion scripts exist for. */
export type Shell = "bash" | "zsh" | "fish";

export const shells: readonly Shell[] = ["bash", "zsh", "fish"];

// The first line of an answer says what the shell adds to the candidates: file names, folder names, or nothing.

const bash = `# Completion of purlin for bash: source <(purlin completion bash)
_purlin() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" line action=""
  COMPREPLY=()
  while IFS= read -r line; do
    if [[ -z $action ]]; then action=$line; continue; fi
    line=\${line%%$'\\t'*}
    # Within quotes readline inserts a word as it is.
    [[ $line == *[^[:alnum:]_./:=@%+,-]* && $cur != [\\"\\']* ]] && printf -v line %q "$line"
    COMPREPLY+=("$line")
  done < <("\${COMP_WORDS[0]}" __complete --line "\${COMP_LINE:0:COMP_POINT}" "$cur" 2>/dev/null)
  case $action in
    files | folders)
      compopt -o filenames 2>/dev/null
      local flag=-f
      [[ $action == folders ]] && flag=-d
      while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen $flag -- "$cur") ;;
    open) compopt -o nospace 2>/dev/null ;;
  esac
  return 0
}
complete -F _purlin purlin
`;

const zsh = `#compdef purlin
# Completion of purlin for zsh: source <(purlin completion zsh), or save it as _purlin in a folder of $fpath
_purlin() {
  local -a lines candidates
  local line value
  lines=("\${(@f)$(\${words[1]} __complete -- "\${(@Q)words[2,CURRENT-1]}" "\${(Q)PREFIX}" 2>/dev/null)}")
  for line in "\${(@)lines[2,-1]}"; do
    value=\${line%%$'\\t'*}
    if [[ $line == *$'\\t'* ]]; then
      candidates+=("\${value//:/\\\\:}:\${line#*$'\\t'}")
    else
      candidates+=("\${value//:/\\\\:}")
    fi
  done
  if (( \${#candidates} )); then
    if [[ \${lines[1]} == open ]]; then
      _describe -t purlin purlin candidates -S ''
    else
      _describe -t purlin purlin candidates
    fi
  fi
  case \${lines[1]} in
    files) _files ;;
    folders) _files -/ ;;
  esac
}
if [[ \${funcstack[1]} == _purlin ]]; then
  _purlin "$@"
else
  compdef _purlin purlin
fi
`;

const fish = `# Completion of purlin for fish: purlin completion fish | source
function __purlin_complete
  set -l words (commandline -opc)
  set -l raw (commandline -ct)
  # Without the quotes of an unfinished word.
  set -l current (commandline -oct)
  set -l lines ($words[1] __complete -- $words[2..-1] "$current" 2>/dev/null)
  test (count $lines) -gt 1; and printf '%s\\n' $lines[2..-1]
  switch "$lines[1]"
    case files
      __fish_complete_path "$raw"
    case folders
      __fish_complete_directories "$raw"
  end
end
complete -c purlin -f -a '(__purlin_complete)'
`;

/** The script that makes a shell complete the words of this command. */
export const completionScripts: Readonly<Record<Shell, string>> = { bash, zsh, fish };
