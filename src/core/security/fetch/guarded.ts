import { deadline, raceAbort, type Clock } from '../../util/clock.ts';
import { AppError } from '../../util/errors.ts';
import { readBody } from './body.ts';
import { connectPinned, type Dial } from './connect.ts';
import { type FetchOptions, type FetchResult, fetchFailed, fetchRefused } from './contract.ts';
import { exchange, fetchError, type Answer } from './exchange.ts';
import { followingRequest, readRequest, type FetchRequest } from './request.ts';
import { checkTarget, judgeTarget, type Target, type TargetRules } from './target.ts';
import { readLocation, readUrl, type PlainUrl } from './url-rules.ts';

/** An abort signal for one fetch, triggered by several deadlines or by the caller's signal. */
interface Stopper extends Disposable {
  /** Aborts with the error of a deadline or the caller's reason. */
  readonly signal: AbortSignal;
  /** Aborts after `ms`, unless disposed of before. */
  after(ms: number, error: () => AppError): Disposable;
  /** Aborts at the end of the first window of `ms` for which `enough` is false, unless disposed of before. */
  unless(ms: number, window: { readonly enough: () => boolean; readonly error: () => AppError }): Disposable;
}

export interface Ports extends TargetRules {
  readonly clock: Clock;
  readonly dial: Dial;
}

const DEFAULT_MAX_BYTES = 5_000_000;
const DEFAULT_TIMEOUT_MS = 30_000;
const RESOLVE_MS = 10_000;
const FIRST_BYTE_MS = 20_000;
/** A body with fewer bytes than this in one window is too slow. */
const SLOW = { windowMs: 10_000, bytes: 1_024 };
const MOST_REDIRECTS = 5;

/** Decides by the text of a URL alone, without a DNS query. Throws `fetch-refused`. */
export function judgeUrlText(text: string, rules: TargetRules): { readonly url: string; readonly opened: boolean } {
  const plain = readUrl(text);
  return { url: plain.url.href, ...judgeTarget(plain, rules) };
}

/** Decides about a URL and resolves its name. Throws as `checkTarget`, or the signal's reason. */
export async function checkUrlText(text: string, ports: Ports, signal?: AbortSignal): Promise<Target> {
  return await check(readUrl(text), ports, signal);
}

/** Fetches a URL with its redirects; each hop is checked and gets a connection of its own. */
export async function fetchText(text: string, options: FetchOptions, ports: Ports): Promise<FetchResult> {
  let request = readRequest(options);
  let plain = readUrl(text);
  const timeoutMs = options.timeoutMs ?? DEFAULT_TIMEOUT_MS;
  let receiving = false;
  using stop = stopper(ports.clock, options.signal);
  using _total = stop.after(timeoutMs, () =>
    receiving
      ? fetchFailed('too-slow', `The answer of ${plain.url.host} did not end in ${timeoutMs / 1000} s.`)
      : fetchFailed('timeout', `${plain.url.host} did not answer in ${timeoutMs / 1000} s.`),
  );
  const seen = new Set<string>();
  for (let redirects = 0; ; redirects += 1) {
    seen.add(`${request.method} ${plain.url.href}`);
    const target = await check(plain, ports, stop.signal);
    await using answer = await ask(target, request, { ports, stop });
    const next = isRedirect(answer) ? follow(answer, target, request) : undefined;
    if (next === undefined) {
      receiving = true;
      const body = await receive(answer, target, { stop, maxBytes: options.maxBytes ?? DEFAULT_MAX_BYTES });
      return { url: target.url.href, status: answer.status, headers: answer.headers, ...body, redirects };
    }
    ({ plain, request } = next);
    if (redirects === MOST_REDIRECTS) throw badRedirect(target, `more than ${MOST_REDIRECTS} times`);
    if (seen.has(`${request.method} ${plain.url.href}`)) throw badRedirect(target, 'in a circle');
  }
}

async function check(plain: PlainUrl, ports: Ports, signal?: AbortSignal): Promise<Target> {
  using limit = deadline(ports.clock, RESOLVE_MS, 'the look-up of a name');
  const checked = checkTarget(plain, ports);
  try {
    return await raceAbort(checked, signal === undefined ? limit.signal : AbortSignal.any([signal, limit.signal]));
  } catch (error) {
    signal?.throwIfAborted();
    if (error instanceof AppError) throw error;
    throw fetchFailed('dns', `The host ${plain.host} could not be looked up in ${RESOLVE_MS / 1000} s.`, error);
  }
}

async function ask(
  target: Target,
  request: FetchRequest,
  { ports, stop }: { ports: Ports; stop: Stopper },
): Promise<Answer> {
  const socket = await connectPinned(target, { ...ports, signal: stop.signal });
  using _firstByte = stop.after(FIRST_BYTE_MS, () =>
    fetchFailed('timeout', `${target.url.host} did not begin to answer in ${FIRST_BYTE_MS / 1000} s.`),
  );
  return await exchange(socket, { target, request, signal: stop.signal });
}

async function receive(
  answer: Answer,
  target: Target,
  { stop, maxBytes }: { stop: Stopper; maxBytes: number },
): Promise<Pick<FetchResult, 'bytes' | 'truncated'>> {
  const { host } = target.url;
  let came = 0;
  using _pace = stop.unless(SLOW.windowMs, {
    enough: () => {
      const enough = came >= SLOW.bytes;
      came = 0;
      return enough;
    },
    error: () => fetchFailed('too-slow', `The answer of ${host} comes too slowly.`),
  });
  const onBytes = (count: number): void => {
    came += count;
  };
  try {
    return await readBody(answer.body, { encoding: answer.headers['content-encoding'], maxBytes, host, onBytes });
  } catch (error) {
    stop.signal.throwIfAborted();
    throw fetchError(error, target);
  }
}

const REDIRECTS = new Set([301, 302, 303, 307, 308]);

function isRedirect({ status, headers }: Answer): boolean {
  return REDIRECTS.has(status) && headers['location'] !== undefined;
}

/** Reads where a redirect leads, and the request to send there. Throws for one from https to http. */
function follow(
  answer: Answer,
  from: Target,
  request: FetchRequest,
): { readonly plain: PlainUrl; readonly request: FetchRequest } {
  // Node reads header bytes as Latin-1; servers that send more than ASCII send UTF-8.
  const location = Buffer.from(answer.headers['location'] ?? '', 'latin1').toString('utf8');
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
  const sameOrigin = plain.url.origin === from.url.origin;
  const following = followingRequest(request, { status: answer.status, sameOrigin });
  if (following === undefined) throw badRedirect(from, 'to another host, which would receive the body of the request');
  return { plain, request: following };
}

function badRedirect({ url }: Target, how: string): AppError {
  return fetchFailed('bad-redirect', `${url.host} redirects ${how}.`);
}

function stopper(clock: Clock, caller: AbortSignal | undefined): Stopper {
  const controller = new AbortController();
  const onAbort = (): void => controller.abort(caller?.reason);
  if (caller?.aborted === true) onAbort();
  caller?.addEventListener('abort', onAbort, { once: true });
  return {
    signal: controller.signal,
    after: (ms, error) => clock.timer(ms, () => controller.abort(error()), { keepAlive: true }),
    unless(ms, { enough, error }) {
      const next = (): Disposable =>
        clock.timer(ms, () => {
          if (enough()) timer = next();
          else controller.abort(error());
        });
      let timer = next();
      return { [Symbol.dispose]: () => timer[Symbol.dispose]() };
    },
    [Symbol.dispose]: () => caller?.removeEventListener('abort', onAbort),
  };
}
