import * as z from 'zod';

/** A wait beyond this is a misread date. */
const LONGEST_MS = 40 * 24 * 3_600_000;

const UNIT_MS: Readonly<Record<string, number>> = {
  ms: 1,
  milli: 1,
  mi: 60_000,
  m: 60_000,
  s: 1000,
  h: 3_600_000,
  d: 86_400_000,
};

/** Milliseconds from `retry-after-ms`, or `retry-after` in seconds or as an HTTP date; never negative. */
export function waitHeader(headers: unknown, now: number): number | undefined {
  if (!(headers instanceof Headers)) return undefined;
  const ms = number(headers.get('retry-after-ms'));
  if (ms !== undefined) return Math.max(0, ms);
  const header = headers.get('retry-after');
  const seconds = number(header);
  if (seconds !== undefined) return Math.max(0, Math.round(seconds * 1000));
  const date = header === null ? Number.NaN : Date.parse(header);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}

function number(text: string | null): number | undefined {
  return text !== null && /^-?\d+(?:\.\d+)?$/u.test(text.trim()) ? Number(text) : undefined;
}

const seconds = z.coerce.number().nonnegative();
const level = z.looseObject({
  /** Google's `RetryInfo`. */
  details: z
    .array(z.looseObject({ retryDelay: z.string().optional().catch(undefined) }))
    .optional()
    .catch(undefined),
  retry_after: seconds.optional().catch(undefined),
  retry_after_seconds: seconds.optional().catch(undefined),
  resets_in_seconds: seconds.optional().catch(undefined),
  resets_at: z.union([z.number(), z.string()]).optional().catch(undefined),
  /** OpenRouter's. */
  metadata: z
    .looseObject({ headers: z.record(z.string(), z.unknown()).optional() })
    .optional()
    .catch(undefined),
});

/** How long a server asks to wait in the fields of its error or in its words, ms; undefined if it doesn't. */
export function waitIn({
  levels,
  said,
  now,
}: {
  readonly levels: readonly unknown[];
  /** In lower case. */
  readonly said: string;
  readonly now: number;
}): number | undefined {
  for (const one of levels) {
    const { data } = level.safeParse(one);
    if (data === undefined) continue;
    const delay = data.details?.map(({ retryDelay }) => retryDelay).find((text) => text !== undefined);
    const inSeconds = data.retry_after ?? data.retry_after_seconds ?? data.resets_in_seconds;
    const at = data.resets_at ?? data.metadata?.headers?.['X-RateLimit-Reset'];
    const wait =
      (delay === undefined ? undefined : durationMs(delay)) ??
      (inSeconds === undefined ? undefined : inSeconds * 1000) ??
      until(instantOf(at), now);
    if (wait !== undefined) return Math.round(wait);
  }
  return saidWait(said, now);
}

function instantOf(value: unknown): number {
  const count = Number(value);
  if (Number.isNaN(count)) return typeof value === 'string' ? Date.parse(value) : Number.NaN;
  return count < 1e11 ? count * 1000 : count;
}

function until(at: number, now: number): number | undefined {
  return at > now && at - now < LONGEST_MS ? at - now : undefined;
}

const DURATION = String.raw`(?:\d+(?:\.\d+)?\s*(?:ms|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?)(?![a-z])[\s,]*(?:and\s+)?)+`;
const RELATIVE = new RegExp(
  String.raw`(?:(?:try|retry|retrying|available|resets?|wait|resume)(?: again)?(?: (?:in|after|for|at least))*|reset (?:in|after))\s*(?:about |approximately )?(?<wait>${DURATION})`,
  'u',
);
const STAMP =
  /(?<day>\d{4}-\d\d-\d\d)(?:t| at | )(?<time>\d\d:\d\d(?::\d\d)?)(?:\.\d+)?\s*(?<zone>z|utc|gmt|[+-]\d\d:?\d\d)?(?![\w])/u;

function saidWait(said: string, now: number): number | undefined {
  const relative = RELATIVE.exec(said)?.groups?.['wait'];
  if (relative !== undefined) return durationMs(relative);
  const stamp = /reset|again|until|retry|available|after|regain|重置|恢复|刷新/u.test(said)
    ? STAMP.exec(said)?.groups
    : undefined;
  if (stamp === undefined) return undefined;
  const { day = '', time = '', zone } = stamp;
  const named = zone === undefined ? zonesOf(said) : [/^[+-]/u.test(zone) ? zone : 'Z'];
  return named.map((offset) => until(Date.parse(`${day}T${time}${offset}`), now)).find((wait) => wait !== undefined);
}

/** The zones that a time without one may be in. Zhipu (1308, 1310, …) means its own, which is China's. */
function zonesOf(said: string): readonly string[] {
  return /(?:code |\[)1[13]\d\d\b|\p{Script=Han}/u.test(said) ? ['+08:00', 'Z'] : ['Z'];
}

/** The length of `1m23.5s`, `41s` or `2 hours`, ms; undefined for anything else. */
function durationMs(text: string): number | undefined {
  const parts = [...text.toLowerCase().matchAll(/(?<count>\d+(?:\.\d+)?)\s*(?<unit>ms|milli|mi|[smhd])/gu)];
  if (parts.length === 0) return undefined;
  return Math.ceil(
    parts.reduce((sum, { groups }) => sum + Number(groups?.['count']) * (UNIT_MS[groups?.['unit'] ?? ''] ?? 0), 0),
  );
}
