/** One figure of a run. */
export interface Row {
  readonly what: string;
  readonly value: number;
  /** Of `value`, e.g. `ms`. */
  readonly unit: Unit;
  /** The same of a program that does nothing of its own, in the same run. */
  readonly floor?: number;
  /** The figure has to be at most, or at least, this much. @default reported only */
  readonly most?: number;
  readonly least?: number;
}

export type Unit = 'ms' | 's' | 'MiB' | 'KiB' | 'tokens' | 'turns/s' | '%' | '×' | '';

export interface Report {
  readonly version: string;
  readonly node: string;
  /** What was measured: `built package` or `source`. */
  readonly program: string;
  /** How much slower this machine starts a bare daemon than the one that the limits were written for; times may take so much longer. */
  readonly scale: number;
  readonly rows: readonly Row[];
}

/** Whether a figure keeps its limit; true where it has none. */
export function isKept({ value, most, least }: Row): boolean {
  return !Number.isNaN(value) && value <= (most ?? Infinity) && value >= (least ?? -Infinity);
}

/** For a terminal. */
export function asText(report: Report): string {
  const widths = [58, 16, 14, 16];
  const line = (cells: readonly string[]): string =>
    cells.map((cell, at) => (at === 0 ? cell.padEnd(58) : cell.padStart(widths[at] ?? 0))).join(' ');
  return [
    headline(report),
    line(['', 'measured', 'floor', 'limit']),
    ...report.rows.map((row) => `${line(cellsOf(row))}${isKept(row) ? '' : '  ✗'}`),
    '',
  ].join('\n');
}

/** For the documentation. */
export function asMarkdown(report: Report): string {
  return [
    `${headline(report)}.`,
    '',
    '| | measured | floor | limit |',
    '|---|---:|---:|---:|',
    ...report.rows.map((row) => `| ${cellsOf(row).join(' | ')} |`),
    '',
  ].join('\n');
}

function headline({ version, node, program, scale }: Report): string {
  return `assistant ${version}, ${program}, Node ${node}, a machine at ${scale.toFixed(1)} × the times of the reference`;
}

function cellsOf({ what, value, unit, floor, most, least }: Row): readonly string[] {
  const limit = most === undefined ? (least === undefined ? '' : `≥ ${shown(least, unit)}`) : `≤ ${shown(most, unit)}`;
  return [what, shown(value, unit), floor === undefined ? '' : shown(floor, unit), limit];
}

function shown(value: number, unit: Unit): string {
  const digits = Math.abs(value) >= 100 || (unit === 'tokens' && value >= 1) ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return `${value.toFixed(digits)}${unit === '' || unit === '%' || unit === '×' ? '' : ' '}${unit}`;
}
