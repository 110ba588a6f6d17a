const DAY_MS = 86_400_000;

/** When the day of `now` began in a time zone, ms since 1970; null: the machine's zone. */
export function startOfDay(now: number, timezone: string | null): number {
  if (timezone === null) return new Date(now).setHours(0, 0, 0, 0);
  const date = (time: number): string => dateFormat(timezone).format(time);
  const today = date(now);
  // A day has 23 to 25 hours: search for its first minute.
  let inside = now;
  let outside = now - 26 * 3_600_000;
  if (date(outside) === today) outside -= DAY_MS;
  while (inside - outside > 1) {
    const middle = Math.floor((inside + outside) / 2);
    if (date(middle) === today) inside = middle;
    else outside = middle;
  }
  return inside;
}

let format: { readonly timezone: string; readonly format: Intl.DateTimeFormat } | undefined;

/** Making one is slow, so that the last is kept. */
function dateFormat(timezone: string): Intl.DateTimeFormat {
  if (format?.timezone === timezone) return format.format;
  const made = new Intl.DateTimeFormat('en-CA', { timeZone: timezone, dateStyle: 'short' });
  format = { timezone, format: made };
  return made;
}
