import type { CliContext } from '../core/cli/context.ts';
import { flagName, type CliCommand, type Group } from '../core/cli/command.ts';
import { usageError } from '../core/cli/usage.ts';

type Row = CliCommand | Group;

const PROGRAM = 'assistant';
/** The hidden command with which a shell asks for candidates. */
export const COMPLETE = '__complete';

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

/** Options of every command. */
const EVERYWHERE = [
  { flag: '--home', description: 'where it lives', takesValue: true, choices: [] },
  { flag: '--agent', description: 'a further assistant, or a home of a machine', takesValue: true, choices: [] },
  { flag: '--help', description: 'show help', takesValue: false, choices: [] },
] as const;

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

/**
 * Completes the last of these words, which may be empty. Returns a line for each candidate: the word, then a tab and its description
 * if it has one. Empty if a file or any other value is expected.
 */
export function candidates(rows: readonly Row[], words: readonly string[]): readonly string[] {
  const [current = '', previous = ''] = words.toReversed();
  const { commands, options } = placeOf(rows, words.slice(0, -1));
  const asked = options.find(({ flag }) => flag === previous);
  const found =
    asked?.takesValue === true
      ? asked.choices.map((name) => ({ name, description: '' }))
      : [...commands, ...options.map(({ flag, description }) => ({ name: flag, description }))];
  return found
    .filter(({ name }) => name.startsWith(current))
    .map(({ name, description }) => (description === '' ? name : `${name}\t${description}`));
}

/** The commands or options that may follow these words. Words that aren't commands are values and are skipped. */
function placeOf(rows: readonly Row[], words: readonly string[]) {
  let commands = rows;
  let options: CliCommand['options'] = {};
  for (const word of words) {
    const row = commands.find(({ name }) => name === word);
    if (row === undefined) continue;
    commands = 'commands' in row ? row.commands : [];
    options = 'commands' in row ? {} : row.options;
  }
  const own = Object.entries(options).map(([key, { description, value, choices = [] }]) => {
    return { flag: flagName(key), description, takesValue: value !== undefined, choices };
  });
  return { commands, options: [...own, ...EVERYWHERE] };
}
