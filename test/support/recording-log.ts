import type { Logger } from '../../src/core/util/log.ts';

export interface LogLine {
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** A log that remembers its lines. */
export function recordingLog(
  lines: LogLine[] = [],
  fixed: Record<string, unknown> = {},
): Logger & { lines: LogLine[] } {
  const write =
    (level: LogLine['level']) =>
    (message: string, fields: Record<string, unknown> = {}): void =>
      void lines.push({ level, message, fields: { ...fixed, ...fields } });
  return {
    lines,
    debug: write('debug'),
    info: write('info'),
    warn: write('warn'),
    error: write('error'),
    with: (fields) => recordingLog(lines, { ...fixed, ...fields }),
  };
}
