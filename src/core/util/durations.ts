const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const UNITS: readonly (readonly [names: RegExp, ms: number])[] = [
  [/^(?:s|secs?|seconds?)$/u, SECOND],
  [/^(?:m|mins?|minutes?)$/u, MINUTE],
  [/^(?:h|hrs?|hours?)$/u, HOUR],
  [/^(?:d|days?)$/u, DAY],
  [/^(?:w|weeks?)$/u, 7 * DAY],
];

/** Milliseconds of `20m`, `1h30m`, `2 hours and 5 minutes`, `an hour`; null: it is no length of time. */
export function parseDuration(text: string): number | null {
  const plain = text.trim().toLowerCase();
  const parts = [...plain.matchAll(/(?<count>\d+(?:\.\d+)?|\ban?\b|\bhalf an?\b)\s*(?<unit>[a-z]+)/gu)];
  const rest = parts.reduce((left, [part]) => left.replace(part, ''), plain);
  if (parts.length === 0 || !/^(?:\s|,|and)*$/u.test(rest)) return null;
  let sum = 0;
  for (const { groups } of parts) {
    const ms = UNITS.find(([names]) => names.test(groups?.['unit'] ?? ''))?.[1];
    if (ms === undefined) return null;
    sum += countOf(groups?.['count'] ?? '') * ms;
  }
  return Math.round(sum);
}

/** `1h 30m` */
export function durationText(ms: number): string {
  if (ms < SECOND) return '0s';
  const parts: string[] = [];
  let left = Math.round(ms / SECOND) * SECOND;
  for (const [unit, size] of [
    ['d', DAY],
    ['h', HOUR],
    ['m', MINUTE],
    ['s', SECOND],
  ] as const) {
    const count = Math.floor(left / size);
    left -= count * size;
    if (count > 0) parts.push(`${count}${unit}`);
  }
  return parts.join(' ');
}

function countOf(text: string): number {
  if (text.startsWith('half')) return 0.5;
  return text.startsWith('a') ? 1 : Number(text);
}
