import { AppError } from '../../util/errors.ts';
import { fetchFailed, fetchRefused } from './contract.ts';
import { readLocation, type PlainUrl } from './url-rules.ts';

export interface FetchRequest {
  readonly method: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array | null;
}

const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);
/** Headers that a caller may not set, because they could change the target or the framing of a request. */
const CONNECTION_HEADERS =
  /^(?:host|connection|content-length|transfer-encoding|te|trailer|upgrade|expect|keep-alive|accept-encoding|proxy-.*)$/;
/** Headers that are kept on a redirect to another origin. All others are dropped, because they could hold credentials. */
const FOLLOWING = new Set(['accept', 'accept-language', 'user-agent', 'accept-encoding']);
const DEFAULTS = { accept: '*/*', 'user-agent': 'assistant' };
const REDIRECTS = new Set([301, 302, 303, 307, 308]);

/** Checks the method, headers and body of a request and adds defaults. Throws `fetch-refused` with the reason. */
export function readRequest(
  options: {
    readonly method?: string;
    readonly headers?: Readonly<Record<string, string>>;
    readonly body?: string | Uint8Array;
  },
  acceptEncoding: string,
): FetchRequest {
  const method = (options.method ?? 'GET').toUpperCase();
  if (!METHODS.has(method)) throw fetchRefused('This request was refused: its HTTP method is not allowed.');
  const body = options.body ?? null;
  if (body !== null && (method === 'GET' || method === 'HEAD')) {
    throw fetchRefused(`This request was refused: ${method} has no body.`);
  }
  const headers: Record<string, string> = { ...DEFAULTS, 'accept-encoding': acceptEncoding };
  for (const [written, value] of Object.entries(options.headers ?? {})) {
    const name = written.toLowerCase();
    if (!/^[a-z0-9!#$%&'*+.^_`|~-]+$/.test(name) || !/^[\t\x20-\x7e\x80-\xff]*$/.test(value)) {
      throw fetchRefused('This request was refused: a header contains characters that are not allowed in headers.');
    }
    if (CONNECTION_HEADERS.test(name))
      throw fetchRefused(`This request was refused: it may not set the header ${name}.`);
    headers[name] = value;
  }
  return { method, headers, body };
}

/**
 * Where a redirect leads, and the request to send there; null: the answer is none. POST becomes GET for 301, 302 and 303, as in
 * browsers. To another origin goes no body, and no header but a few harmless ones. Throws `fetch-refused`, also for one from
 * https to http, and `fetch-failed`.
 */
export function follow(
  { status, headers: { location } }: { readonly status: number; readonly headers: Readonly<Record<string, string>> },
  { url: from }: PlainUrl,
  request: FetchRequest,
): { readonly plain: PlainUrl; readonly request: FetchRequest } | null {
  if (!REDIRECTS.has(status) || location === undefined) return null;
  const plain = placeOf(location, from);
  if (from.protocol === 'https:' && plain.url.protocol === 'http:') {
    const why = `it leads from https to http, at ${plain.url.host}`;
    throw fetchRefused(`A redirect of ${from.host} was refused: ${why}.`, {
      from: from.host,
      location: plain.url.href,
    });
  }
  const isSame = plain.url.origin === from.origin;
  const { method, body, headers } = request;
  const becomesGet = (status === 303 && method !== 'HEAD') || ((status === 301 || status === 302) && method === 'POST');
  if (!becomesGet && !isSame && body !== null) {
    const where = 'to another host, which would receive the body of the request';
    throw fetchFailed('bad-redirect', `${from.host} redirects ${where}.`);
  }
  const kept = Object.entries(headers).filter(
    ([name]) => (isSame || FOLLOWING.has(name)) && !(becomesGet && name.startsWith('content-')),
  );
  const following = { ...request, headers: Object.fromEntries(kept) };
  return { plain, request: becomesGet ? { ...following, method: 'GET', body: null } : following };
}

function placeOf(location: string, from: URL): PlainUrl {
  try {
    // Node reads header bytes as Latin-1; servers that send more than ASCII send UTF-8.
    return readLocation(Buffer.from(location, 'latin1').toString('utf8'), from);
  } catch (error) {
    const why = error instanceof AppError && typeof error.facts['why'] === 'string' ? `: ${error.facts['why']}` : '';
    throw fetchRefused(`A redirect of ${from.host} was refused${why}.`, { from: from.host });
  }
}
