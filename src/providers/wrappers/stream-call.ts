import { raceAbort } from '../../util/clock.ts';
import { deadlinesOf, forThinking, type EndpointOptions } from '../endpoint.ts';
import { abortedError, brokenStream, classifyError, type ErrorContext } from '../errors.ts';
import { withImagesRead } from '../images.ts';
import type { ModelEvent, ModelRequest } from '../provider.ts';
import { noteBody, SentBody } from './sent-body.ts';
import { createWatchedFetch, type Fetch } from './watchdog.ts';

/** The reason of an abort because the caller stopped reading. Made once: its stack would say nothing. */
const LEFT = new Error('the caller stopped reading');

/** One streamed call of a model through an SDK. */
export interface StreamCall<Raw> {
  readonly endpoint: EndpointOptions;
  readonly request: ModelRequest;
  readonly signal: AbortSignal;
  /** Sends the request; `ready` has the data of its images. The signal also fires when the caller stops reading. */
  open(signal: AbortSignal, ready: ModelRequest): Promise<AsyncIterable<Raw>>;
  /** Turns the SDK's events into ours. */
  read(raw: AsyncIterable<Raw>, context: ErrorContext): AsyncIterable<ModelEvent>;
}

/** Runs one call as `Provider` demands: never throws, ends with exactly one `end` or `error`, and at once on abort. */
export async function* streamCall<Raw>(call: StreamCall<Raw>): AsyncGenerator<ModelEvent> {
  const context = errorContext(call.endpoint, call.request);
  const left = new AbortController();
  const sent = new SentBody();
  let announced = false;
  try {
    if (call.signal.aborted) {
      yield abortedError(context);
      return;
    }
    const ready = await raceAbort(withImagesRead(call.request), call.signal);
    const opened = sent.during(() => call.open(AbortSignal.any([call.signal, left.signal]), ready));
    const raw = await raceAbort(opened, call.signal);
    announced = true;
    yield await requestEvent(call, sent);
    const events = call.read(raw, context)[Symbol.asyncIterator]();
    for (;;) {
      const step = await raceAbort(events.next(), call.signal);
      // An SDK may end a stream quietly when it is aborted, which is not the end of the answer.
      call.signal.throwIfAborted();
      if (step.done === true) break;
      yield step.value;
      if (step.value.type === 'end' || step.value.type === 'error') return;
    }
    yield brokenStream(context);
  } catch (thrown) {
    const now = call.endpoint.clock.now();
    if (!announced) yield await requestEvent(call, sent);
    yield call.signal.aborted ? abortedError(context) : classifyError(thrown, { ...context, now });
  } finally {
    left.abort(LEFT);
  }
}

async function requestEvent<Raw>({ endpoint, request }: StreamCall<Raw>, sent: SentBody): Promise<ModelEvent> {
  const { name, keyNumber } = endpoint;
  const { model, reasoning = 'off' } = request;
  const key = keyNumber === undefined ? {} : { key: keyNumber };
  return { type: 'request', provider: name, model, ...key, ...(await sent.facts()), reasoning };
}

/**
 * Opens an SDK's client when it is first needed, and another one for calls in which the model thinks, whose deadlines are
 * longer. After a failure the next call tries again.
 */
export function clientsFor<Client>(
  endpoint: EndpointOptions,
  open: (endpoint: EndpointOptions) => Promise<Client>,
): (request?: ModelRequest) => Promise<Client> {
  const clients = new Map<boolean, Promise<Client>>();
  return (request) => {
    const thinks = (request?.reasoning ?? 'off') !== 'off';
    const found = clients.get(thinks);
    if (found !== undefined) return found;
    const opened = open(thinks ? forThinking(endpoint) : endpoint).catch((error: unknown) => {
      clients.delete(thinks);
      throw error;
    });
    clients.set(thinks, opened);
    return opened;
  };
}

/** The `fetch` with this endpoint's deadlines; notes what each call sends. */
export function endpointFetch(endpoint: EndpointOptions): Fetch {
  const watched = createWatchedFetch({ clock: endpoint.clock, ...deadlinesOf(endpoint) });
  return (input, init) => {
    const response = watched(input, init);
    noteBody(init?.body);
    return response;
  };
}

/** A timeout for the SDK, ms, that never fires before our own deadlines. */
export function sdkTimeout(endpoint: EndpointOptions): number {
  return 2 * deadlinesOf(endpoint).firstByteMs + 60_000;
}

function errorContext(endpoint: EndpointOptions, request: ModelRequest): ErrorContext {
  return {
    provider: endpoint.name,
    host: endpoint.baseUrl === null ? null : (URL.parse(endpoint.baseUrl)?.host ?? endpoint.baseUrl),
    model: request.model,
    toolChoice: request.toolChoice,
    ollama: endpoint.ollama ?? false,
    keyVariable: endpoint.keyVariable ?? null,
    secrets: [endpoint.apiKey ?? '', ...Object.values(endpoint.headers ?? {})].filter((secret) => secret.length >= 6),
    now: endpoint.clock.now(),
  };
}
