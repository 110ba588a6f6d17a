const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const clockTime = new Intl.DateTimeFormat(undefined, { timeStyle: 'short' });
const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });
const day = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short' });
const dayOfYear = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short', year: 'numeric' });
const whole = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' });

/** Such as "now", "5 minutes ago", "in 2 hours", "yesterday", "tomorrow, 09:00", "3 Mar". Days are calendar days of this browser. */
export function relativeTime(at: number, now: number): string {
  const ms = at - now;
  const size = Math.abs(ms);
  if (size < MINUTE) return 'now';
  if (size < HOUR) return relative.format(Math.trunc(ms / MINUTE), 'minute');
  if (size < DAY) return relative.format(Math.trunc(ms / HOUR), 'hour');
  const days = Math.round((midnight(at) - midnight(now)) / DAY);
  if (Math.abs(days) < 7) {
    const words = relative.format(days, 'day');
    return days > 0 ? `${words}, ${clockTime.format(at)}` : words;
  }
  return (size < 300 * DAY ? day : dayOfYear).format(at);
}

/** The start of a time's day. Days with a clock change have 23 or 25 hours. */
function midnight(at: number): number {
  return new Date(at).setHours(0, 0, 0, 0);
}

export function wholeTime(at: number): string {
  return whole.format(at);
}

/** Such as "< 0.1 s", "0.4 s", "12 s", "3 min". */
export function duration(ms: number): string {
  if (ms < 50) return '< 0.1 s';
  if (ms < 10_000) return `${(ms / 1_000).toFixed(1)} s`;
  return ms < 90_000 ? `${Math.round(ms / 1_000)} s` : `${Math.round(ms / MINUTE)} min`;
}
