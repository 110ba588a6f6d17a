import type { Command } from 'commander';
import { assistantCommand } from '../util/assistant-command.ts';
import { AppError } from '../util/errors.ts';
import { nearest } from '../util/text.ts';

/** What a wrong command line returns. */
export const USAGE_ERROR = 2;

export function usageError(message: string): AppError {
  return new AppError('usage', message, { exitCode: USAGE_ERROR });
}

/** `help cron add` means `cron add --help`. */
export function withoutHelpWord(argv: readonly string[]): readonly string[] {
  const [first, ...rest] = argv;
  return first === 'help' ? [...rest, '--help'] : argv;
}

/**
 * Throws one sentence for a word in the place of a command that is none, also beside `--help`, which commander answers
 * with the help of the command above.
 */
export function requireKnownCommands(program: Command, argv: readonly string[]): void {
  const path: string[] = [];
  let group = program;
  for (const word of operandsOf(argv)) {
    if (group.commands.length === 0 || word === 'help') return;
    const next = group.commands.find((command) => command.name() === word);
    if (next === undefined) {
      const names = group.commands.map((command) => command.name());
      const where = path.length === 0 ? '' : ` for ${path.join(' ')}`;
      const guess = nearest(word, names);
      const hint = guess === undefined ? '' : ` Did you mean ${guess}?`;
      throw usageError(
        `Unknown command '${word}'${where}.${hint} See ${assistantCommand([...path, '--help'].join(' '))}.`,
      );
    }
    path.push(word);
    group = next;
  }
}

/** Makes each command's complaints one sentence that points to its own help. */
export function pointToOwnHelp(command: Command, path: readonly string[] = []): void {
  command.configureOutput({ outputError: (text, write) => write(usageSentence(text, path)) });
  for (const sub of command.commands) pointToOwnHelp(sub, [...path, sub.name()]);
}

/** commander's complaint as one sentence: `Unknown option '--jsno'. Did you mean --json? …` */
function usageSentence(text: string, path: readonly string[]): string {
  const [first = '', hint = ''] = text
    .replace(/^error: /u, '')
    .trim()
    .split('\n');
  const sentence = `${first.charAt(0).toUpperCase()}${first.slice(1)}`.replace(/\.?$/u, '.');
  const meant = hint === '' ? '' : ` ${hint.replace(/^\(|\)$/gu, '')}`;
  return `${sentence}${meant} See ${assistantCommand([...path, '--help'].join(' '))}.\n`;
}

/** The words that are neither options nor, as far as options of the whole program go, their values. */
function operandsOf(argv: readonly string[]): readonly string[] {
  const end = argv.indexOf('--');
  const words = end === -1 ? argv : argv.slice(0, end);
  return words.filter((word, at) => !word.startsWith('-') && !['--home', '--agent'].includes(words[at - 1] ?? ''));
}
