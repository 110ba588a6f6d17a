import { oneLine } from '../util/text.ts';

/** What a thrown value says about a failed call, whichever SDK or layer threw it. */
export interface ErrorFacts {
  /** The HTTP status; undefined if there was no response. */
  readonly status: number | undefined;
  /** The status, or the one that the error's own type stands for. */
  readonly effectiveStatus: number | undefined;
  /** The server's message on one line; '' if there is none or it is a page of HTML. */
  readonly detail: string;
  /** The server's types, codes and message in lower case, to search for known phrases. */
  readonly haystack: string;
  readonly retryAfterMs: number | undefined;
}

const STATUS_OF_TYPE: Readonly<Record<string, number>> = {
  invalid_request_error: 400,
  authentication_error: 401,
  billing_error: 402,
  insufficient_quota: 402,
  permission_error: 403,
  not_found_error: 404,
  timeout_error: 504,
  request_too_large: 413,
  rate_limit_error: 429,
  rate_limit_exceeded: 429,
  api_error: 500,
  server_error: 500,
  overloaded_error: 529,
};

const DETAIL_LENGTH = 300;

/** Reads the facts of a thrown value. `now`: ms since 1970, for a `retry-after` that is a date. */
export function readFacts(thrown: unknown, now: number): ErrorFacts {
  const status = httpStatus(field(thrown, 'status'));
  // OpenAI's SDK keeps what was under `error`, Anthropic's the whole body.
  const body = field(thrown, 'error');
  const nested = field(body, 'error');
  const inner = typeof nested === 'object' ? nested : body;
  const words = [field(inner, 'message'), field(body, 'message'), field(body, 'detail'), nested, body];
  const text = [...words, field(thrown, 'message')].find((value) => typeof value === 'string' && value !== '') ?? '';
  const said = typeof text === 'string' && !isHtml(text) ? text : '';
  const labels = [inner, thrown].flatMap((from) => [field(from, 'type'), field(from, 'code')]);
  return {
    status,
    effectiveStatus: status ?? labels.map(impliedStatus).find((implied) => implied !== undefined),
    detail: oneLine(said.replace(/^\d{3} /u, ''), DETAIL_LENGTH),
    haystack: [...labels.filter((label) => typeof label === 'string'), said].join(' ').toLowerCase(),
    retryAfterMs: retryAfter(field(thrown, 'headers'), now),
  };
}

function field(from: unknown, key: string): unknown {
  return typeof from === 'object' && from !== null ? Reflect.get(from, key) : undefined;
}

function impliedStatus(label: unknown): number | undefined {
  return typeof label === 'string' && Object.hasOwn(STATUS_OF_TYPE, label) ? STATUS_OF_TYPE[label] : httpStatus(label);
}

function httpStatus(value: unknown): number | undefined {
  const status = typeof value === 'string' && /^\d{3}$/u.test(value) ? Number(value) : value;
  return typeof status === 'number' && status >= 400 && status < 600 ? status : undefined;
}

function isHtml(text: string): boolean {
  return /<(?:!doctype|html|head|body|title|center|h1)\b/iu.test(text);
}

/** Milliseconds from `retry-after-ms`, or `retry-after` in seconds or as an HTTP date; never negative. */
function retryAfter(headers: unknown, now: number): number | undefined {
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
