import { localName } from './office-archive.ts';
import { xmlEvents } from './xml-events.ts';

/** What the number of a cell stands for, by its format. */
export type NumberKind = 'number' | 'percent' | 'date' | 'time' | 'date-time';

/** The formats that every program knows and files only name by number. */
const BUILT_IN: readonly (readonly [from: number, to: number, NumberKind])[] = [
  [9, 10, 'percent'],
  [14, 17, 'date'],
  [18, 21, 'time'],
  [22, 22, 'date-time'],
  [27, 31, 'date'],
  [32, 35, 'time'],
  [36, 36, 'date'],
  [45, 47, 'time'],
  [50, 58, 'date'],
];

/** What the numbers of each cell style stand for, in the order of the styles. */
export function readStyles(xml: string): readonly NumberKind[] {
  const own = new Map<number, NumberKind>();
  const styles: NumberKind[] = [];
  let inCells = false;
  for (const event of xmlEvents(xml)) {
    if (event.type === 'text') continue;
    const name = localName(event.name);
    if (name === 'cellXfs') inCells = event.type === 'open';
    else if (event.type === 'close') continue;
    else if (name === 'numFmt')
      own.set(Number(event.attribute('numFmtId')), kindOf(event.attribute('formatCode') ?? ''));
    else if (name === 'xf' && inCells) {
      const id = Number(event.attribute('numFmtId') ?? 0);
      const known = BUILT_IN.find(([from, to]) => id >= from && id <= to)?.[2];
      styles.push(own.get(id) ?? known ?? 'number');
    }
  }
  return styles;
}

/** Of a format such as `dd.mm.yyyy hh:mm` or `0.0%`. */
function kindOf(format: string): NumberKind {
  // Without texts in quotes, escaped and spacing characters, and colours or languages in brackets (but not [h]).
  const [bare = ''] = format
    .replaceAll(/"[^"]*"|\\.|_.|\*.|\[(?!(?:h+|m+|s+)\])[^\]]*\]/giu, '')
    .toLowerCase()
    .split(';');
  if (bare === 'general') return 'number';
  const hasDate = /[yd]/u.test(bare) || (bare.includes('m') && !/[hs]/u.test(bare));
  const hasTime = /[hs]/u.test(bare);
  if (hasDate) return hasTime ? 'date-time' : 'date';
  if (hasTime) return 'time';
  return bare.includes('%') ? 'percent' : 'number';
}

const DAY_MS = 86_400_000;
/** Day 0 of both ways to count. The first one counts a February 29 in 1900, which there was not. */
const EPOCH = Date.UTC(1899, 11, 30);
const EPOCH_1904 = Date.UTC(1904, 0, 1);
/** 9999-12-31. */
const LAST_DAY = 2_958_465;

/** A number as people see it: 2026-11-27 for a date, 25% for a share; what is no number stays as it is. */
export function shownNumber(text: string, kind: NumberKind, { is1904 }: { readonly is1904: boolean }): string {
  const value = Number(text);
  if (text.trim() === '' || !Number.isFinite(value)) return text;
  if (kind === 'percent') return `${precise(value * 100)}%`;
  if (kind === 'number' || value < 0 || value > LAST_DAY) return precise(value);
  if (kind === 'time') return clockTime(value);
  const early = !is1904 && value < 60 ? 1 : 0;
  const at = new Date(Math.round(((value + early) * DAY_MS) / 1_000) * 1_000 + (is1904 ? EPOCH_1904 : EPOCH));
  const date = at.toISOString();
  return kind === 'date' ? date.slice(0, 10) : `${date.slice(0, 10)} ${secondsWhere(date.slice(11, 19))}`;
}

/** Without the rounding errors of binary fractions. */
function precise(value: number): string {
  return String(Number(value.toPrecision(15)));
}

/** Hours may be more than 24. */
function clockTime(days: number): string {
  const seconds = Math.round(days * 86_400);
  const parts = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60, seconds % 60];
  return secondsWhere(parts.map((part) => String(part).padStart(2, '0')).join(':'));
}

function secondsWhere(time: string): string {
  return time.replace(/(?<=:\d\d):00$/u, '');
}
