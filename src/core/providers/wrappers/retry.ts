import { sleep, type Clock } from '../../util/clock.ts';
import type { Logger } from '../../util/log.ts';
import type { Random } from '../../util/random.ts';
import type { ModelError, ModelErrorKind, ModelEvent, ModelRequest, ModelRestart, Provider } from '../provider.ts';

const WORDS: Readonly<Record<ModelErrorKind, string>> = {
  'rate-limit': 'is rate-limiting us',
  overloaded: 'is overloaded',
  timeout: 'was too slow',
  network: 'broke off',
  auth: 'refused the key',
  quota: 'has no credit left',
  'context-overflow': 'found the conversation too long',
  'request-too-large': 'found the request too large',
  'bad-request': 'did not accept the request',
  refusal: 'refused to answer',
  'unsupported-tool-choice': 'does not support this choice of tool',
  aborted: 'was stopped',
  malformed: 'sent an answer that could not be read',
};

export interface RetryOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly log?: Logger;
  /** Waits before the attempts after the first. @default 1, 2, 4 and 8 s */
  readonly waitsMs?: readonly number[];
  /** A server that asks for a longer wait is not waited for. @default 60_000 */
  readonly longestWaitMs?: number;
}

const WAITS_MS = [1000, 2000, 4000, 8000];
const LONGEST_WAIT_MS = 60_000;
/** How long a server that loads its model is asked again, and how often: as long as a first byte is waited for. */
const LOADING_MS = 300_000;
const LOADING_EVERY_MS = 3_000;
/** A quarter more, at most this, so that calls that failed together do not come back together. */
const LONGEST_JITTER_MS = 1000;

const REPEATED: ReadonlySet<ModelErrorKind> = new Set(['rate-limit', 'overloaded', 'timeout', 'network', 'malformed']);

/**
 * Repeats calls that failed for a passing reason, announcing each new attempt by a `restart`. Nonsense (`malformed`)
 * is repeated once, a timed-out local model never. The last error is given as it came.
 */
export function withRetry(provider: Provider, options: RetryOptions): Provider {
  return {
    name: provider.name,
    ...(provider.local === undefined ? {} : { local: provider.local }),
    chat: (request, { signal }) => chatWithRetry(provider, options, { request, signal }),
    warm: async () => provider.warm?.(),
  };
}

async function* chatWithRetry(
  provider: Provider,
  { clock, random, log, waitsMs = WAITS_MS, longestWaitMs = LONGEST_WAIT_MS }: RetryOptions,
  { request, signal }: { readonly request: ModelRequest; readonly signal: AbortSignal },
): AsyncGenerator<ModelEvent> {
  const failures: ModelError[] = [];
  const began = clock.monotonic();
  for (const backoff of [...waitsOf(request, waitsMs), undefined]) {
    let failure = yield* attempt(provider, request, signal);
    while (failure?.about === 'loading' && clock.monotonic() - began < LOADING_MS && !signal.aborted) {
      const message = `${provider.name} is still loading its model. I'll answer as soon as it's ready.`;
      yield { ...restart(failure, LOADING_EVERY_MS, provider.name), about: 'loading', message };
      await sleep(clock, LOADING_EVERY_MS, signal).catch(() => {});
      failure = signal.aborted ? stopped(provider) : yield* attempt(provider, request, signal);
    }
    if (failure === undefined) return;
    failures.push(failure);
    const least = Math.max(failure.retryAfterMs ?? 0, backoff ?? Number.POSITIVE_INFINITY);
    if (least > longestWaitMs || !mayRepeat(provider, failures) || signal.aborted) {
      yield failure;
      return;
    }
    const wait = Math.round(least + random.fraction() * Math.min(least / 4, LONGEST_JITTER_MS));
    log?.info('model: call repeated', {
      provider: provider.name,
      model: request.model,
      kind: failure.kind,
      waitMs: wait,
      ...factsOf(failure),
    });
    yield restart(failure, wait, provider.name);
    try {
      await sleep(clock, wait, signal);
    } catch {
      yield stopped(provider);
      return;
    }
  }
}

/** The waits before further attempts; the longest one again for those that a request asks for beyond the usual. */
function waitsOf({ retries }: ModelRequest, usual: readonly number[]): readonly number[] {
  if (retries === undefined) return usual;
  return Array.from({ length: retries }, (_, n) => usual[n] ?? usual.at(-1) ?? 0);
}

/** Passes on what one attempt gives, but for its error, which it returns. */
async function* attempt(
  provider: Provider,
  request: ModelRequest,
  signal: AbortSignal,
): AsyncGenerator<ModelEvent, ModelError | undefined> {
  for await (const event of provider.chat(request, { signal })) {
    if (event.type === 'error') return event;
    yield event;
    if (event.type === 'end') return undefined;
  }
  return { type: 'error', kind: 'network', retryable: true, message: `${provider.name} ended its answer too early.` };
}

function mayRepeat(provider: Provider, failures: readonly ModelError[]): boolean {
  const last = failures.at(-1);
  if (last === undefined || !last.retryable || !REPEATED.has(last.kind)) return false;
  if (last.kind === 'timeout') return provider.local !== true;
  return last.kind !== 'malformed' || failures.filter(({ kind }) => kind === 'malformed').length === 1;
}

/** What a `restart` tells of the error before it. */
export function factsOf({ status, said }: ModelError): Pick<ModelRestart, 'status' | 'said'> {
  return { ...(status === undefined ? {} : { status }), ...(said === undefined ? {} : { said }) };
}

function restart(failure: ModelError, waitMs: number, name: string): ModelRestart {
  const { kind } = failure;
  const seconds = Math.max(1, Math.round(waitMs / 1000));
  return {
    type: 'restart',
    reason: kind,
    ...factsOf(failure),
    waitMs,
    message: `${failureNote(name, kind)}; trying again in ${seconds} s`,
  };
}

function stopped(provider: Provider): ModelError {
  return { type: 'error', kind: 'aborted', retryable: false, message: `The call to ${provider.name} was stopped.` };
}

/** A few words for those who watch: who failed, and how. */
export function failureNote(name: string, kind: ModelErrorKind): string {
  return `${name} ${WORDS[kind]}`;
}
