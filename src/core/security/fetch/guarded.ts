import type { Socket } from 'node:net';
import { deadline, type Clock } from '../../util/clock.ts';
import { AppError } from '../../util/errors.ts';
import { readBody, streamOf } from './body.ts';
import { openChecked, type Ports } from './connect.ts';
import { fetchFailed, fetchRefused, type FetchOptions, type FetchResult } from './contract.ts';
import { exchange, type Answer } from './exchange.ts';
import { followingRequest, readRequest, type FetchRequest } from './request.ts';
import { judgeTarget, type Target, type TargetRules } from './target.ts';
import { readLocation, readUrl, type PlainUrl } from './url-rules.ts';

const DEFAULT_MAX_BYTES = 5_000_000;
const DEFAULT_TIMEOUT_MS = 30_000;
const FIRST_BYTE_MS = 20_000;
const MOST_REDIRECTS = 5;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);

/** Decides by the text of a URL alone, without a DNS query. Throws `fetch-refused`. */
export function judgeUrlText(text: string, rules: TargetRules): { readonly url: string; readonly opened: boolean } {
  const plain = readUrl(text);
  return { url: plain.url.href, ...judgeTarget(plain, rules) };
}

/** Fetches a URL with its redirects; each hop is checked and gets a connection of its own. */
export async function fetchText(text: string, options: FetchOptions, ports: Ports): Promise<FetchResult> {
  const { clock } = ports;
  const { maxBytes = DEFAULT_MAX_BYTES, timeoutMs = DEFAULT_TIMEOUT_MS } = options;
  let request = readRequest(options);
  let plain = readUrl(text);
  let receiving = false;
  using total = deadline(clock, timeoutMs, 'the fetch');
  const signal = AbortSignal.any([total.signal, ...(options.signal === undefined ? [] : [options.signal])]);
  const seen = new Set<string>();
  try {
    for (let redirects = 0; ; redirects += 1) {
      seen.add(`${request.method} ${plain.url.href}`);
      const { target, socket } = await openChecked(plain, ports, signal);
      await using answer = await ask(socket, { target, request, signal, clock });
      const next = follow(answer, target, request);
      if (next === null) {
        receiving = true;
        const { status, headers } = answer;
        return { url: target.url.href, status, headers, ...(await readBody(answer, target, maxBytes)), redirects };
      }
      ({ plain, request } = next);
      if (redirects === MOST_REDIRECTS) throw badRedirect(target, `more than ${MOST_REDIRECTS} times`);
      if (seen.has(`${request.method} ${plain.url.href}`)) throw badRedirect(target, 'in a circle');
    }
  } catch (error) {
    options.signal?.throwIfAborted();
    if (!total.signal.aborted) throw error;
    const { host } = plain.url;
    if (receiving) throw fetchFailed('too-slow', `The answer of ${host} did not end in ${timeoutMs / 1000} s.`);
    throw fetchFailed('timeout', `${host} did not answer in ${timeoutMs / 1000} s.`);
  }
}

/** Sends a request whose answer is read as it comes. */
export async function streamText(
  text: string,
  init: RequestInit,
  ports: Ports & { readonly headersMs: number; readonly maxBytes: number },
): Promise<Response> {
  const request = readRequest({
    method: init.method,
    headers: Object.fromEntries(new Headers(init.headers)),
    body: typeof init.body === 'string' ? init.body : undefined,
  });
  using limit = deadline(ports.clock, ports.headersMs, 'the answer');
  const signal = AbortSignal.any([limit.signal, ...(init.signal ? [init.signal] : [])]);
  const { target, socket } = await openChecked(readUrl(text), ports, signal);
  const answer = await exchange(socket, { target, request, signal, acceptEncoding: 'identity' });
  return await streamOf(answer, target, ports.maxBytes);
}

async function ask(
  socket: Socket,
  { clock, signal, target, request }: { clock: Clock; signal: AbortSignal; target: Target; request: FetchRequest },
): Promise<Answer> {
  using limit = deadline(clock, FIRST_BYTE_MS, 'the answer');
  try {
    return await exchange(socket, { target, request, signal: AbortSignal.any([signal, limit.signal]) });
  } catch (error) {
    if (signal.aborted || !limit.signal.aborted) throw error;
    throw fetchFailed('timeout', `${target.url.host} did not begin to answer in ${FIRST_BYTE_MS / 1000} s.`);
  }
}

/** Where a redirect leads, and the request to send there; null: the answer is none. Throws for one from https to http. */
function follow(
  { status, headers }: Answer,
  from: Target,
  request: FetchRequest,
): { readonly plain: PlainUrl; readonly request: FetchRequest } | null {
  if (!REDIRECTS.has(status) || headers['location'] === undefined) return null;
  // Node reads header bytes as Latin-1; servers that send more than ASCII send UTF-8.
  const location = Buffer.from(headers['location'], 'latin1').toString('utf8');
  let plain: PlainUrl;
  try {
    plain = readLocation(location, from.url);
  } catch (error) {
    const why = error instanceof AppError ? error.message.replace('This URL was refused', '') : '';
    throw fetchRefused(`A redirect of ${from.url.host} was refused${why === '' ? '.' : why}`, { from: from.url.host });
  }
  if (from.url.protocol === 'https:' && plain.url.protocol === 'http:') {
    throw fetchRefused(
      `A redirect of ${from.url.host} was refused: it leads from https to http, at ${plain.url.host}.`,
      { from: from.url.host, location: plain.url.href },
    );
  }
  const following = followingRequest(request, { status, sameOrigin: plain.url.origin === from.url.origin });
  if (following === undefined) throw badRedirect(from, 'to another host, which would receive the body of the request');
  return { plain, request: following };
}

function badRedirect({ url }: Target, how: string): AppError {
  return fetchFailed('bad-redirect', `${url.host} redirects ${how}.`);
}
