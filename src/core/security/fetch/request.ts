import { fetchRefused } from './contract.ts';

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
/**
 * Headers that are kept on a redirect to another origin. All others are dropped, because they could hold credentials.
 */
const FOLLOWING = new Set(['accept', 'accept-language', 'user-agent']);
const DEFAULTS = { accept: '*/*', 'user-agent': 'assistant' };

/** Checks the method, headers and body of a request and adds defaults. Throws `fetch-refused` with the reason. */
export function readRequest(options: {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
}): FetchRequest {
  const method = (options.method ?? 'GET').toUpperCase();
  if (!METHODS.has(method)) throw fetchRefused('This request was refused: its HTTP method is not allowed.');
  const body = options.body ?? null;
  if (body !== null && (method === 'GET' || method === 'HEAD')) {
    throw fetchRefused(`This request was refused: ${method} has no body.`);
  }
  const headers: Record<string, string> = { ...DEFAULTS };
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
 * The request to send after a redirect. POST becomes GET for 301, 302 and 303, as in browsers. To another origin it
 * keeps only three harmless headers. Undefined when it would send the body to another origin.
 */
export function followingRequest(
  request: FetchRequest,
  { status, sameOrigin }: { status: number; sameOrigin: boolean },
): FetchRequest | undefined {
  const becomesGet =
    (status === 303 && request.method !== 'HEAD') || ((status === 301 || status === 302) && request.method === 'POST');
  if (!becomesGet && !sameOrigin && request.body !== null) return undefined;
  const kept = Object.entries(request.headers).filter(
    ([name]) => (sameOrigin || FOLLOWING.has(name)) && !(becomesGet && name.startsWith('content-')),
  );
  return {
    method: becomesGet ? 'GET' : request.method,
    headers: Object.fromEntries(kept),
    body: becomesGet ? null : request.body,
  };
}
