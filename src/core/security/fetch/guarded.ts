import { deadline } from '../../util/clock.ts';
import { openChecked, type Ports } from './connect.ts';
import { fetchFailed, type FetchOptions, type FetchResult } from './contract.ts';
import { exchange, readBody, streamOf } from './exchange.ts';
import { follow, readRequest } from './request.ts';
import { judgeTarget, type TargetRules } from './target.ts';
import { readUrl } from './url-rules.ts';

const DEFAULT_MAX_BYTES = 5_000_000;
const DEFAULT_TIMEOUT_MS = 30_000;
const FIRST_BYTE_MS = 20_000;
const MOST_REDIRECTS = 5;

/** Decides by the text of a URL alone, without a DNS query. Throws `fetch-refused`. */
export function judgeUrlText(text: string, rules: TargetRules): { readonly url: string; readonly opened: boolean } {
  const plain = readUrl(text);
  return { url: plain.url.href, ...judgeTarget(plain, rules) };
}

/** Fetches a URL with its redirects; each hop is checked and gets a connection of its own. */
export async function fetchText(text: string, options: FetchOptions, ports: Ports): Promise<FetchResult> {
  const { maxBytes = DEFAULT_MAX_BYTES, timeoutMs = DEFAULT_TIMEOUT_MS } = options;
  let request = readRequest(options, 'gzip, br');
  let plain = readUrl(text);
  let isReceiving = false;
  const seen = new Set<string>();
  using total = deadline(ports.clock, timeoutMs, 'the fetch');
  const stops = [total.signal, ...(options.signal === undefined ? [] : [options.signal])];
  const signal = AbortSignal.any(stops);
  const late = (kind: 'timeout' | 'too-slow', what: string, ms: number) =>
    fetchFailed(kind, `${kind === 'timeout' ? '' : 'The answer of '}${plain.url.host} ${what} in ${ms / 1_000} s.`);
  try {
    for (let redirects = 0; ; redirects += 1) {
      seen.add(`${request.method} ${plain.url.href}`);
      const { target, socket } = await openChecked(plain, ports, signal);
      using first = deadline(ports.clock, FIRST_BYTE_MS, 'the answer');
      const asked = exchange(socket, { target, request, signal: AbortSignal.any([...stops, first.signal]) });
      await using answer = await asked.catch((error: unknown) => {
        throw first.signal.aborted && !signal.aborted
          ? late('timeout', 'did not begin to answer', FIRST_BYTE_MS)
          : error;
      });
      first[Symbol.dispose]();
      const next = follow(answer, target, request);
      if (next === null) {
        isReceiving = true;
        const { status, headers } = answer;
        return { url: target.url.href, status, headers, ...(await readBody(answer, target, maxBytes)), redirects };
      }
      ({ plain, request } = next);
      const isCircle = seen.has(`${request.method} ${plain.url.href}`);
      const how = isCircle ? 'in a circle' : redirects === MOST_REDIRECTS ? `more than ${MOST_REDIRECTS} times` : null;
      if (how !== null) throw fetchFailed('bad-redirect', `${target.url.host} redirects ${how}.`);
    }
  } catch (error) {
    options.signal?.throwIfAborted();
    if (!total.signal.aborted) throw error;
    throw isReceiving ? late('too-slow', 'did not end', timeoutMs) : late('timeout', 'did not answer', timeoutMs);
  }
}

/** Sends a request whose answer is read as it comes. */
export async function streamText(
  text: string,
  init: RequestInit,
  ports: Ports & { readonly headersMs: number; readonly maxBytes: number },
): Promise<Response> {
  const headers = Object.fromEntries(new Headers(init.headers));
  const body = typeof init.body === 'string' ? init.body : undefined;
  const request = readRequest({ method: init.method, headers, body }, 'identity');
  using limit = deadline(ports.clock, ports.headersMs, 'the answer');
  const signal = AbortSignal.any([limit.signal, ...(init.signal ? [init.signal] : [])]);
  const { target, socket } = await openChecked(readUrl(text), ports, signal);
  return await streamOf(await exchange(socket, { target, request, signal }), target, ports.maxBytes);
}
