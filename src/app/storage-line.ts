import type { SweepReport } from '../journal/retention.ts';
import { megabytes } from '../util/text.ts';

const HOUR_MS = 3_600_000;

/** How large each store is and what went last, for people; null before the first sweep. */
export function storageLine(report: SweepReport | undefined, now: number): string | null {
  if (report === undefined) return null;
  const { at, bytes, removed } = report;
  const sizes = Object.entries(bytes)
    .filter(([, size]) => size > 0)
    .toSorted(([, a], [, b]) => b - a)
    .map(([store, size]) => `${store} ${megabytes(size)}`);
  const total = Object.values(bytes).reduce((sum, size) => sum + size, 0);
  const gone = Object.entries(removed).map(([store, count]) => `${count.toLocaleString('en')} ${store}`);
  const when = now - at < HOUR_MS ? 'within the last hour' : `${Math.floor((now - at) / HOUR_MS)} h ago`;
  return `${megabytes(total)} (${sizes.join(', ')}); cleaned up ${when}, ${gone.length === 0 ? 'nothing was old enough to go' : `gone: ${gone.join(', ')}`}`;
}
