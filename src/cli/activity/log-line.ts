import { indented } from '../../core/util/text.ts';
import * as z from 'zod';
import { paint, type Piece, type TerminalLook } from '../../core/channels/markup/terminal-text.ts';
import { localSecond } from '../../core/util/time-zone.ts';
import { terminalText } from '../../core/cli/format.ts';

const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const;
export type ShownLevel = (typeof LOG_LEVELS)[number];

/** A line of the log file. */
export interface LogLine {
  /** Milliseconds since 1970; null for text that no logger wrote. */
  readonly at: number | null;
  readonly level: ShownLevel;
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

const lineSchema = z
  .object({
    time: z.iso.datetime(),
    level: z.enum(LOG_LEVELS),
    msg: z.string().default(''),
    pid: z.unknown().optional(),
  })
  .catchall(z.unknown());

/** Reads a line of the log file. Text that is no JSON, such as the last words of a crash, counts as an error. */
export function readLogLine(text: string): LogLine {
  const { data } = lineSchema.safeParse(parsed(text));
  if (data === undefined) return { at: null, level: 'error', message: text, fields: {} };
  const { time, level, msg, pid: _pid, ...fields } = data;
  return { at: Date.parse(time), level, message: msg, fields };
}

/** Whether a line is of this level or a more serious one. */
export function isAtLeast({ level }: Pick<LogLine, 'level'>, least: ShownLevel): boolean {
  return LOG_LEVELS.indexOf(level) >= LOG_LEVELS.indexOf(least);
}

/** A line for a person: time of this machine, level, message and fields; a text of several lines stands below it. */
export function logLineText({ at, level, message, fields }: LogLine, style: TerminalLook['style']): string {
  const entries = Object.entries(fields).map(([name, value]) => [name, fieldText(value)] as const);
  const short = entries.filter(([, value]) => !value.includes('\n'));
  const long = entries.filter(([, value]) => value.includes('\n'));
  const tone: Partial<Piece> = level === 'error' ? { tone: 'wrong' } : level === 'warn' ? { tone: 'number' } : {};
  const time = at === null ? '' : localSecond(at, null);
  const head = paint(
    [
      { text: time, dim: true },
      { text: `${time === '' ? '' : '  '}${level.padEnd(5)}  `, ...tone },
      { text: terminalText(message), bold: level === 'error' },
      ...short.map(([name, value]): Piece => ({ text: terminalText(`  ${name}=${value}`), dim: true })),
    ],
    { style, hyperlinks: false },
  );
  return [head, ...long.map(([name, value]) => indented(terminalText(`${name}=${value}`), '    '))].join('\n');
}

function fieldText(value: unknown): string {
  if (typeof value === 'string') return value;
  return JSON.stringify(value) ?? '';
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
