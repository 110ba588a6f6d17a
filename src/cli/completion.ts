import type { CliContext } from '../core/cli/context.ts';
import { flagName, type CliCommand, type Group } from '../core/cli/command.ts';
import type { Option } from '../core/cli/values.ts';
import { usageError } from '../core/cli/usage.ts';

const PROGRAM = 'assistant';
const SHELLS = ['bash', 'zsh', 'fish'] as const;
type Shell = (typeof SHELLS)[number];

/** What may follow the words of a path, such as `cron add`. */
interface Place {
  /** The words before, joined by a space; '' for the beginning. */
  readonly path: string;
  readonly commands: readonly { readonly name: string; readonly description: string }[];
  readonly options: readonly { readonly flag: string; readonly option: Option<unknown> }[];
}

const HOME: Option<unknown> = { description: 'where it lives', value: '<folder>', read: () => undefined };
const AGENT: Option<unknown> = {
  description: 'a further assistant, or a home of a machine',
  value: '<name>',
  read: () => undefined,
};
const HELP: Option<unknown> = { description: 'show help', read: () => undefined };

/** `assistant completion SHELL`: a script that completes these commands and their options. */
export function completionCommand(
  rows: readonly (CliCommand | Group)[],
): (given: { readonly shell: string }, context: Pick<CliContext, 'stdout'>) => Promise<number> {
  return async ({ shell }, { stdout }) => {
    const known = SHELLS.find((name) => name === shell);
    if (known === undefined)
      throw usageError(`There is no completion for ${JSON.stringify(shell)}. Choose one of: ${SHELLS.join(', ')}.`);
    stdout.write(SCRIPTS[known](placesOf(rows)));
    return 0;
  };
}

function placesOf(rows: readonly (CliCommand | Group)[], path: readonly string[] = []): readonly Place[] {
  const here: Place = { path: path.join(' '), commands: rows, options: optionsOf({}) };
  const below = rows.flatMap((row): readonly Place[] => {
    const inner = [...path, row.name];
    if ('commands' in row) return placesOf(row.commands, inner);
    return [{ path: inner.join(' '), commands: [], options: optionsOf(row.options) }];
  });
  return [here, ...below];
}

function optionsOf(options: Readonly<Record<string, Option<unknown>>>): Place['options'] {
  const own = Object.entries(options).map(([key, option]) => ({ flag: flagName(key), option }));
  return [
    ...own,
    { flag: '--home', option: HOME },
    { flag: '--agent', option: AGENT },
    { flag: '--help', option: HELP },
  ];
}

const words = ({ commands, options }: Place): string =>
  [...commands.map(({ name }) => name), ...options.map(({ flag }) => flag)].join(' ');

/** Each option with fixed values, and its place. */
const choicesOf = (places: readonly Place[]): readonly (readonly [Place, string, readonly string[]])[] =>
  places.flatMap((place) =>
    place.options.flatMap(({ flag, option: { choices } }) =>
      choices === undefined ? [] : [[place, flag, choices] as const],
    ),
  );

function bash(places: readonly Place[]): string {
  const paths = places.filter(({ path }) => path !== '').map(({ path }) => `"${path}"`);
  const values = choicesOf(places).map(
    ([{ path }, flag, choices]) =>
      `    "${path} ${flag}") COMPREPLY=($(compgen -W "${choices.join(' ')}" -- "$cur")); return ;;`,
  );
  const names = places.map((place) => `    "${place.path}") COMPREPLY=($(compgen -W "${words(place)}" -- "$cur")) ;;`);
  return `# Completion of assistant for bash.
_assistant() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" prev="\${COMP_WORDS[COMP_CWORD - 1]}" path="" next i
  for ((i = 1; i < COMP_CWORD; i++)); do
    next="\${path:+$path }\${COMP_WORDS[i]}"
    case "$next" in
    ${paths.join(' | ')}) path="$next" ;;
    esac
  done
  case "$path $prev" in
${values.join('\n')}
  esac
  [[ $prev == --* && $prev != --json && $prev != --help && $cur != -* ]] && return
  case "$path" in
${names.join('\n')}
  esac
}
complete -o default -F _assistant assistant
`;
}

function zsh(places: readonly Place[]): string {
  const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
  const described = (name: string, description: string): string =>
    quoted(`${name.replaceAll(':', '\\:')}:${description.replaceAll(':', '\\:')}`);
  const cases = places.map(({ path, commands, options }) => {
    const items = [
      ...commands.map(({ name, description }) => described(name, description)),
      ...options.map(({ flag, option }) => described(flag, option.description)),
    ];
    return `    ${quoted(path)}) items=(${items.join(' ')}) ;;`;
  });
  const values = choicesOf(places).map(
    ([{ path }, flag, choices]) => `    ${quoted(`${path} ${flag}`)}) compadd -- ${choices.join(' ')}; return ;;`,
  );
  const paths = places.filter(({ path }) => path !== '').map(({ path }) => quoted(path));
  return `#compdef assistant
# Completion of assistant for zsh.
_assistant() {
  local path_so_far="" next i prev="\${words[CURRENT - 1]}"
  local -a items
  for ((i = 2; i < CURRENT; i++)); do
    next="\${path_so_far:+$path_so_far }\${words[i]}"
    case "$next" in
    ${paths.join('|')}) path_so_far="$next" ;;
    esac
  done
  case "$path_so_far $prev" in
${values.join('\n')}
  esac
  case "$path_so_far" in
${cases.join('\n')}
  esac
  _describe assistant items || _files
}
compdef _assistant assistant
`;
}

function fish(places: readonly Place[]): string {
  const quoted = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
  const lines = places.flatMap(({ path, commands, options }) => {
    const when = `-n ${quoted(`__assistant_at "${path}"`)}`;
    return [
      ...commands.map(
        ({ name, description }) => `complete -c ${PROGRAM} -f ${when} -a ${name} -d ${quoted(description)}`,
      ),
      ...options.map(({ flag, option: { short, value, choices, description } }) => {
        const letter = short === undefined ? '' : ` -s ${short}`;
        const fixed = choices === undefined ? '' : ` -x -a ${quoted(choices.join(' '))}`;
        const takes = value === undefined || choices !== undefined ? fixed : ' -r';
        return `complete -c ${PROGRAM} ${when} -l ${flag.slice(2)}${letter}${takes} -d ${quoted(description)}`;
      }),
    ];
  });
  const paths = places.filter(({ path }) => path !== '').map(({ path }) => quoted(path));
  return `# Completion of assistant for fish.
function __assistant_at
    set -l path
    for word in (commandline -opc)[2..-1]
        if contains -- (string join ' ' -- $path $word) ${paths.join(' ')}
            set -a path $word
        end
    end
    test (string join ' ' -- '' $path) = (string join ' ' -- '' (string split -n ' ' -- $argv))
end
${lines.join('\n')}
`;
}

const SCRIPTS: Readonly<Record<Shell, (places: readonly Place[]) => string>> = { bash, zsh, fish };
