import { wrapAnsi } from 'fast-wrap-ansi';
import { textWidth } from '../channels/markup/terminal-text.ts';
import type { CliContext } from './context.ts';
import { escapeInvisible, json } from './format.ts';

/** How far in the rest of a line stands that was too wide, beyond the line's own beginning. */
const HANG = 4;

/**
 * Writes what a command found: the facts as JSON, else lines for a person that fit the terminal, or `nothing` where there
 * are none.
 */
export function print(
  { stdout }: Pick<CliContext, 'stdout'>,
  isJson: boolean,
  found: {
    readonly facts: unknown;
    readonly lines: readonly string[];
    readonly nothing?: string;
    /** What makes the lines safe for a terminal; `escapeInvisible` if it is not given. */
    readonly escape?: (text: string) => string;
  },
): void {
  const { facts, lines, nothing = '', escape = escapeInvisible } = found;
  const text = isJson ? json(facts) : fitted(escape(lines.join('\n')), stdout);
  stdout.write(`${text === '' ? nothing : text}\n`);
}

/** Breaks lines that are wider than the terminal between words. Words are left whole, so that they can be copied. */
export function fitted(text: string, { isTTY, columns }: CliContext['stdout']): string {
  if (isTTY !== true || columns === undefined) return text;
  const fit = (line: string): string => {
    if (textWidth(line) <= columns) return line;
    const begin = /^ */u.exec(line)?.[0] ?? '';
    const hang = begin + ' '.repeat(HANG);
    const [first = '', ...rest] = wrapAnsi(line.slice(begin.length), Math.max(1, columns - hang.length), {
      trim: true,
    }).split('\n');
    return [begin + first, ...rest.map((more) => hang + more.trimStart())].join('\n');
  };
  return text.split('\n').map(fit).join('\n');
}
