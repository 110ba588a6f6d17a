import type { CliContext } from '../core/cli/context.ts';
import { usageError } from '../core/cli/usage.ts';
import { COMPLETE } from './candidates.ts';

const PROGRAM = 'assistant';

/** Each shell's script for the Tab key. Without candidates, the shell completes file names. */
const SCRIPTS = {
  bash: `_assistant() {
  local IFS=$'\\n'
  COMPREPLY=($(${PROGRAM} ${COMPLETE} "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f 1))
}
complete -o default -F _assistant assistant
`,
  zsh: `_assistant() {
  local -a items=("\${(@f)$(${PROGRAM} ${COMPLETE} "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  items=("\${(@)items/$'\\t'/:}")
  [[ -n $items ]] && _describe assistant items || _files
}
compdef _assistant assistant
`,
  fish: `function __assistant_complete
    set -l items (${PROGRAM} ${COMPLETE} (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null)
    test -n "$items" && printf '%s\\n' $items || __fish_complete_path (commandline -ct)
end
complete -c assistant -f -a '(__assistant_complete)'
`,
} as const;

/** `assistant completion SHELL`: a script that completes commands and their options. */
export async function completionCommand(
  { shell }: { readonly shell: string },
  { stdout }: Pick<CliContext, 'stdout'>,
): Promise<number> {
  if (!Object.hasOwn(SCRIPTS, shell)) {
    const known = Object.keys(SCRIPTS).join(', ');
    throw usageError(`There is no completion for ${JSON.stringify(shell)}. Choose one of: ${known}.`);
  }
  const head = `${shell === 'zsh' ? '#compdef assistant\n' : ''}# Completion of assistant for ${shell}.\n`;
  stdout.write(`${head}${SCRIPTS[shell as keyof typeof SCRIPTS]}`);
  return 0;
}
