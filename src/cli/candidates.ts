import { flagName, type CliCommand, type Group } from '../core/cli/command.ts';

type Row = CliCommand | Group;

/** The hidden command with which a shell asks for candidates. */
export const COMPLETE = '__complete';

/** Options of every command. */
const EVERYWHERE = [
  { flag: '--home', description: 'where it lives', takesValue: true, choices: [] },
  { flag: '--agent', description: 'a further assistant, or a home of a machine', takesValue: true, choices: [] },
  { flag: '--help', description: 'show help', takesValue: false, choices: [] },
] as const;

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
