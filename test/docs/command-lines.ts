import { COMMANDS } from '../support/extensions.ts';
import { flagName, type CliCommand, type Group } from '../../src/core/cli/command.ts';
import { codeLines, inlineCode } from './documents.ts';

/** A command line of a page, without the name of the program. */
export interface CommandLine {
  /** As the page has it. */
  readonly text: string;
  readonly words: readonly string[];
}

/** What stands for the name of the program. */
const PROGRAMS: readonly (readonly [RegExp, readonly string[]])[] = [
  [/^(?:sudo |docker compose exec assistant )?assistant(?: |$)/u, []],
  [/^npm run assistant --(?: |$)/u, []],
  [/^npm run chat(?: --)?(?: |$)/u, ['chat']],
  [/^npm start(?: --)?(?: |$)/u, ['gateway']],
];

/** The command lines of a page; each begins with the program, after a prompt or settings of variables. */
export function commandLines(text: string): readonly CommandLine[] {
  return [...new Set([...inlineCode(text), ...codeLines(text)])].flatMap((code) =>
    code.split(/ && | \|\| /u).flatMap((part) => {
      const line = part.replace(/^\$ /u, '').replace(/^(?:[A-Z_]+=\S* )+/u, '');
      const found = PROGRAMS.find(([program]) => program.test(line));
      if (found === undefined) return [];
      const [program, first] = found;
      // Two spaces begin an explanation, a pipe another program, `>` and `<` name files.
      const [own = ''] = line.replace(program, '').split(/ {2,}| \| | >>? | < |; /u);
      return [{ text: code, words: [...first, ...splitWords(own)] }];
    }),
  );
}

function splitWords(line: string): readonly string[] {
  return [...line.matchAll(/'(?<single>[^']*)'|"(?<double>[^"]*)"|(?<plain>\S+)/gu)].map(
    ({ groups }) => groups?.['single'] ?? groups?.['double'] ?? groups?.['plain'] ?? '',
  );
}

/** The command that a line calls; undefined where there is none. */
export function commandOf({
  words,
}: CommandLine): { readonly command: CliCommand; readonly rest: readonly string[] } | undefined {
  const [first, second, ...rest] = words;
  const row: CliCommand | Group | undefined = COMMANDS.find(({ name }) => name === first);
  if (row === undefined) return undefined;
  if (!('commands' in row)) return { command: row, rest: words.slice(1) };
  const named = row.commands.find(({ name }) => name === second);
  if (named !== undefined) return { command: named, rest };
  const standard = row.commands.find(({ isDefault }) => isDefault);
  return standard === undefined ? undefined : { command: standard, rest: words.slice(1) };
}

/** What is wrong with a command line; null: the command exists and takes these arguments and options. */
export function problemOf(line: CommandLine): string | null {
  const first = line.words[0] ?? '';
  if (['', '--help', '--version', 'help', '…'].includes(first)) return null;
  const group = COMMANDS.find(({ name }) => name === first);
  // A page may speak of a group as a whole, as in "`assistant service`".
  if (group !== undefined && 'commands' in group && line.words.length === 1) return null;
  const found = commandOf(line);
  if (found === undefined) return `there is no command ${first}`;
  return restProblem(found.command, found.rest.map(withoutBrackets));
}

function restProblem(command: CliCommand, rest: readonly string[]): string | null {
  const options = new Map(
    Object.entries(command.options).flatMap(([key, option]) => [
      [flagName(key), option] as const,
      ...(option.short === undefined ? [] : [[`-${option.short}`, option] as const]),
    ]),
  );
  let taken = 0;
  for (let at = 0; at < rest.length; at += 1) {
    const word = rest[at] ?? '';
    if (word === '…' || word === '--help') continue;
    if (!/^--?[a-z]/u.test(word)) {
      taken += 1;
      continue;
    }
    if (word === '--home' || word === '--agent') at += 1;
    else {
      const option = options.get(word);
      if (option === undefined) return `${command.name} has no option ${word}`;
      if (option.value !== undefined) {
        at += 1;
        const value = rest[at];
        if (value === undefined) return `${word} needs a value`;
        if (option.choices !== undefined && !option.choices.includes(value)) return `${word} cannot be ${value}`;
      }
    }
  }
  const known = Object.values(command.arguments);
  if (taken > known.length) return `${command.name} takes at most ${known.length} arguments`;
  const needed = known.filter(({ isRequired }) => isRequired).length;
  return taken > 0 && taken < needed ? `${command.name} needs ${needed} arguments` : null;
}

/** `[--all]` stands for an option that may be left out, `[NAME]` for an argument. */
function withoutBrackets(word: string): string {
  return word.replace(/^\[(?<inner>.*)\]$/u, '$<inner>');
}
