import { raceAbort } from '../../util/clock.ts';
import { deadlinesOf, forThinking, type EndpointOptions } from '../endpoint.ts';
import { readFacts } from '../error-facts.ts';
import { abortedError, brokenStream, classifyError, mayBeQuirk, type ErrorContext } from '../errors.ts';
import { imagesOf, withImagesRead } from '../images.ts';
import type { ModelError, ModelEvent, ModelRequest } from '../provider.ts';
import { isSameQuirk, quirkBehind, quirkNote, withQuirks, type KnownQuirk, type WireBody } from '../quirks.ts';
import { factsOf } from './retry.ts';
import { noteBody, SentBody } from './sent-body.ts';
import { createWatchedFetch, type Fetch } from './watchdog.ts';

/** The reason of an abort because the caller stopped reading. Made once: its stack would say nothing. */
const LEFT = new Error('the caller stopped reading');

/** One streamed call of a model through an SDK. */
export interface StreamCall<Raw> {
  readonly endpoint: EndpointOptions;
  readonly request: ModelRequest;
  readonly signal: AbortSignal;
  /** The body of the request, of which `ready` has the data of its images. */
  body(ready: ModelRequest, signal: AbortSignal): WireBody | Promise<WireBody>;
  /** Sends a body. The signal also fires when the caller stops reading. */
  send(body: WireBody, signal: AbortSignal): Promise<AsyncIterable<Raw>>;
  /** Turns the SDK's events into ours. */
  read(raw: AsyncIterable<Raw>, context: ErrorContext): AsyncIterable<ModelEvent>;
}

/** A server may refuse one thing after the other; more than this is another fault. */
const MOST_CHANGES = 8;

/** How one attempt ended before the answer began: the server refused something that the request can do without. */
interface Refused {
  readonly error: ModelError;
  readonly quirk: KnownQuirk;
}

/**
 * Runs one call as `Provider` demands: never throws, ends with exactly one `end` or `error`, and at once on abort. When the
 * server refuses a field or a role that it is known not to take, the request is changed and repeated, and the model's
 * later requests are changed before they are sent.
 */
export async function* streamCall<Raw>(call: StreamCall<Raw>): AsyncGenerator<ModelEvent> {
  const { endpoint, request } = call;
  const name = { provider: endpoint.name, model: request.model };
  let quirks = request.quirks ?? endpoint.learned?.quirks(name) ?? [];
  const untold = endpoint.learned?.takeNote(name) ?? null;
  const notes: string[] = untold === null ? [] : [untold];
  const found: Refused[] = [];
  for (;;) {
    let refused: Refused | undefined;
    for await (const event of attempt(call, quirks, found)) {
      if ('quirk' in event) {
        refused = event;
        continue;
      }
      // What did not help isn't remembered: the refusal was about something else.
      if (event.type === 'end')
        for (const { quirk, error } of found) endpoint.learned?.learnQuirk(name, quirk, error.said);
      yield noted(event, notes);
    }
    if (refused === undefined) return;
    const { error, quirk } = refused;
    found.push(refused);
    quirks = [...quirks, quirk];
    const note = quirkNote(quirk, request.model);
    if (note !== null) notes.push(note);
    const message = `${endpoint.name} refused a part of the request; asking again without it`;
    yield { type: 'restart', reason: error.kind, ...factsOf(error), waitMs: 0, message };
  }
}

function noted(event: ModelEvent, notes: readonly string[]): ModelEvent {
  if (event.type !== 'end' || notes.length === 0) return event;
  const { note } = event.response;
  return {
    ...event,
    response: { ...event.response, note: [...(note === undefined ? [] : [note]), ...notes].join(' ') },
  };
}

/** One attempt with these quirks. A refusal that another quirk explains, which this call has not `found` yet, is given in place of its error. */
async function* attempt<Raw>(
  call: StreamCall<Raw>,
  quirks: readonly KnownQuirk[],
  found: readonly Refused[],
): AsyncGenerator<ModelEvent | Refused> {
  const context = errorContext(call.endpoint, call.request);
  const left = new AbortController();
  const sent = new SentBody();
  let body: WireBody = {};
  let announced = false;
  let began = false;
  let heard = false;
  const withCost = (error: ModelError): ModelError => (heard ? { ...error, begun: true } : error);
  try {
    if (call.signal.aborted) {
      yield abortedError(context);
      return;
    }
    const ready = await raceAbort(withImagesRead(call.request), call.signal);
    const opened = sent.during(async () => {
      const signal = AbortSignal.any([call.signal, left.signal]);
      body = withQuirks(await call.body(ready, signal), quirks);
      return await call.send(body, signal);
    });
    const raw = await raceAbort(opened, call.signal);
    announced = true;
    yield await requestEvent(call, sent, quirks);
    const pieces = noting(raw, () => (heard = true));
    const events = call.read(pieces, context)[Symbol.asyncIterator]();
    for (;;) {
      const step = await raceAbort(events.next(), call.signal);
      // An SDK may end a stream quietly when it is aborted, which is not the end of the answer.
      call.signal.throwIfAborted();
      if (step.done === true) break;
      began = true;
      yield step.value.type === 'error' ? withCost(step.value) : step.value;
      if (step.value.type === 'end' || step.value.type === 'error') return;
    }
    yield withCost(brokenStream(context));
  } catch (thrown) {
    if (!announced) yield await requestEvent(call, sent, quirks);
    if (call.signal.aborted) {
      yield abortedError(context);
      return;
    }
    const at = { ...context, now: call.endpoint.clock.now() };
    const error = withCost(classifyError(thrown, at));
    const hasImages = call.request.messages.some((message) => imagesOf(message).length > 0);
    const quirk = found.length < MOST_CHANGES && !began ? refusedPart(thrown, at, { body, hasImages }) : undefined;
    yield quirk === undefined || found.some((known) => isSameQuirk(known.quirk, quirk)) ? error : { error, quirk };
  } finally {
    left.abort(LEFT);
  }
}

/** Gives what a stream gives, and tells of each piece. */
async function* noting<Raw>(raw: AsyncIterable<Raw>, note: () => void): AsyncGenerator<Raw> {
  for await (const piece of raw) {
    note();
    yield piece;
  }
}

/** The quirk behind an answer that is an error. */
function refusedPart(
  thrown: unknown,
  context: ErrorContext,
  { body, hasImages }: { readonly body: WireBody; readonly hasImages: boolean },
): KnownQuirk | undefined {
  const facts = readFacts(thrown, context.now);
  return mayBeQuirk(facts, context, { hasImages }) ? quirkBehind(facts.haystack, body) : undefined;
}

async function requestEvent<Raw>(
  { endpoint, request }: StreamCall<Raw>,
  sent: SentBody,
  quirks: readonly KnownQuirk[],
): Promise<ModelEvent> {
  const { name, keyNumber } = endpoint;
  const { model, reasoning = 'off' } = request;
  const key = keyNumber === undefined ? {} : { key: keyNumber };
  const changed = quirks.length === 0 ? {} : { quirks };
  return { type: 'request', provider: name, model, ...key, ...(await sent.facts()), reasoning, ...changed };
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
    hints: endpoint.hints,
    keyVariable: endpoint.keyVariable ?? null,
    secrets: [endpoint.apiKey ?? '', ...Object.values(endpoint.headers ?? {})].filter((secret) => secret.length >= 6),
    now: endpoint.clock.now(),
  };
}
