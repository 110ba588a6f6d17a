import { usageError } from '../../core/cli/usage.ts';

const UNIT_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const AGO = /^(\d{1,6})([smhd])$/u;
const DATE = /^\d{4}-\d{2}-\d{2}$/u;
const DATE_TIME = /^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?(?:Z|[+-]\d{2}:\d{2})?$/u;

/**
 * A moment as people give it to an option: `30m`, `2h` or `3d` ago, a date, or a date with a time, in the zone of this
 * machine if none is named. Milliseconds since 1970. Throws a usage error for anything else.
 */
export function readMoment(text: string, { option, now }: { readonly option: string; readonly now: number }): number {
  const [, count = '', unit = ''] = AGO.exec(text) ?? [];
  const ago = UNIT_MS[unit];
  if (ago !== undefined) return now - Number(count) * ago;
  const at = DATE.test(text) ? Date.parse(`${text}T00:00`) : DATE_TIME.test(text) ? Date.parse(text) : Number.NaN;
  if (!Number.isNaN(at)) return at;
  const given = JSON.stringify(text.slice(0, 40));
  throw usageError(`${option} must be as in 30m, 2h, 3d, 2027-03-01 or 2027-03-01T09:00, but ${given} was given.`);
}
