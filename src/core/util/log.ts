import { pino } from 'pino';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent';

/** Structured logging: a constant message, facts as fields. */
export interface Logger {
  debug(message: string, fields?: Record<string, unknown>): void;
  info(message: string, fields?: Record<string, unknown>): void;
  warn(message: string, fields?: Record<string, unknown>): void;
  error(message: string, fields?: Record<string, unknown>): void;
  /** The same log with fields added to each line. */
  with(fields: Record<string, unknown>): Logger;
}

export interface LogOptions {
  readonly level: LogLevel;
  /** `auto` is pretty on a terminal and JSON lines elsewhere. */
  readonly format: 'auto' | 'json' | 'pretty';
}

/** Takes a log line by line. */
export interface LogSink {
  write(line: string): void;
}

/** Opens the process's log: on stderr, as JSON lines in a file, or both; see `scrubbed`. */
export async function openLog(
  options: LogOptions,
  { stderr = true, file }: { readonly stderr?: boolean; readonly file?: LogSink } = {},
): Promise<Logger> {
  const logs = [...(stderr ? [await stderrLog(options)] : []), ...(file === undefined ? [] : [fileLog(options, file)])];
  const [only] = logs;
  return only !== undefined && logs.length === 1 ? only : allOf(logs);
}

function fileLog({ level }: LogOptions, file: LogSink): Logger {
  const formatters = { level: (name: string): object => ({ level: name }) };
  const timestamp = pino.stdTimeFunctions.isoTime;
  return wrap(pino({ level, base: { pid: process.pid }, formatters, timestamp }, file));
}

async function stderrLog(options: LogOptions): Promise<Logger> {
  const pretty = options.format === 'pretty' || (options.format === 'auto' && process.stderr.isTTY);
  const settings = { level: options.level, base: { pid: process.pid } };
  if (!pretty) return wrap(pino(settings, pino.destination({ dest: 2, sync: true })));
  const { default: prettyStream } = await import('pino-pretty');
  const stream = prettyStream({ destination: 2, sync: true, ignore: 'pid,hostname', translateTime: 'SYS:HH:MM:ss' });
  return wrap(pino(settings, stream));
}

/** The same log: every string, in fields too, passes `scrub` before it is written. Errors become their stack. */
export function scrubbed(log: Logger, scrub: (text: string) => string): Logger {
  const write =
    (level: Level) =>
    (message: string, fields: Record<string, unknown> = {}): void =>
      log[level](scrub(message), scrubFields(fields, scrub));
  return {
    debug: write('debug'),
    info: write('info'),
    warn: write('warn'),
    error: write('error'),
    with: (fields) => scrubbed(log.with(scrubFields(fields, scrub)), scrub),
  };
}

function allOf(logs: readonly Logger[]): Logger {
  const write =
    (level: Level) =>
    (message: string, fields?: Record<string, unknown>): void => {
      for (const log of logs) log[level](message, fields);
    };
  return {
    debug: write('debug'),
    info: write('info'),
    warn: write('warn'),
    error: write('error'),
    with: (fields) => allOf(logs.map((log) => log.with(fields))),
  };
}

export const silentLog: Logger = {
  debug: () => {},
  info: () => {},
  warn: () => {},
  error: () => {},
  with: () => silentLog,
};

type Level = 'debug' | 'info' | 'warn' | 'error';
type Sink = Record<Level, (fields: object, message: string) => void>;

function wrap(sink: Sink, fixed: Record<string, unknown> = {}): Logger {
  const write =
    (level: Level) =>
    (message: string, fields: Record<string, unknown> = {}): void =>
      sink[level]({ ...fixed, ...fields }, message);
  return {
    debug: write('debug'),
    info: write('info'),
    warn: write('warn'),
    error: write('error'),
    with: (fields) => wrap(sink, { ...fixed, ...fields }),
  };
}

function scrubFields(fields: Record<string, unknown>, scrub: (text: string) => string): Record<string, unknown> {
  const clean: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(fields)) clean[key] = scrubValue(value, scrub, 0);
  return clean;
}

function scrubValue(value: unknown, scrub: (text: string) => string, depth: number): unknown {
  if (typeof value === 'string') return scrub(value);
  if (value instanceof Error) return scrub(value.stack ?? value.message);
  if (typeof value !== 'object' || value === null) return value;
  if (depth > 4) return '[deep]';
  if (Array.isArray(value)) return value.map((item) => scrubValue(item, scrub, depth + 1));
  return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, scrubValue(v, scrub, depth + 1)]));
}
