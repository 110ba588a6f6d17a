/** A moment as a clock on the wall of a time zone shows it. */
export interface LocalTime {
  /** `2026-11-21` */
  readonly date: string;
  /** `14:05` */
  readonly time: string;
  /** `Sat` */
  readonly weekday: string;
  /** IANA name. */
  readonly zone: string;
}

interface ZoneFormat {
  readonly timezone: string | null;
  readonly format: Intl.DateTimeFormat;
  readonly zone: string;
}

/** Making a format costs more than a hundred uses of it, and an assistant has one zone. */
let known: ZoneFormat | undefined;

/** `at`: milliseconds since 1970. `timezone`: IANA name, or null for the machine's. */
export function localTime(at: number, timezone: string | null): LocalTime {
  if (known === undefined || known.timezone !== timezone) known = formatOf(timezone);
  const parts = known.format.formatToParts(at);
  const part = (type: Intl.DateTimeFormatPartTypes): string => parts.find((found) => found.type === type)?.value ?? '';
  return {
    date: `${part('year').padStart(4, '0')}-${part('month')}-${part('day')}`,
    time: `${part('hour')}:${part('minute')}`,
    weekday: part('weekday'),
    zone: known.zone,
  };
}

/** `2026-11-21 14:05` */
export function localMinute(at: number, timezone: string | null): string {
  const { date, time } = localTime(at, timezone);
  return `${date} ${time}`;
}

function formatOf(timezone: string | null): ZoneFormat {
  const format = new Intl.DateTimeFormat('en-CA', {
    ...(timezone === null ? {} : { timeZone: timezone }),
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    weekday: 'short',
    hourCycle: 'h23',
  });
  return { timezone, format, zone: format.resolvedOptions().timeZone };
}
