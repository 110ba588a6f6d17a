import type { Context } from 'hono';
import type { App } from '../../app.ts';
import { deadline } from '../../util/clock.ts';
import { errorMessage } from '../../util/errors.ts';
import { beginTurn, stopTurn } from './begin-turn.ts';
import { ApiError, errorBody, failureOf, parsed } from './errors.ts';
import { eventOf, STREAM_HEADERS, streamOf } from './event-stream.ts';
import { FollowedTurn, isOver } from './followed-turn.ts';
import {
  ephemeralConversation,
  keyOf,
  messageId,
  namedConversation,
  parseResponseId,
  type Conversation,
} from './identity.ts';
import { LIGHT, modelNamed } from './models.ts';
import { readFacts } from './request.ts';
import {
  itemId,
  messageItem,
  responseObject,
  storedResponse,
  textPart,
  type ResponseFacts,
} from './response-object.ts';
import { readResponses, responsesSchema } from './responses-request.ts';

/** How long a cancelled turn may take to end; tools get less than that to clean up. */
const CANCEL_MS = 10_000;

/** Answers `POST /v1/responses`. The turn of a client that goes away goes on: its answer is fetched by its id. */
export async function createResponse(context: Context, json: unknown, app: App): Promise<Response> {
  const body = parsed(responsesSchema, json);
  const { id: model } = modelNamed(body.model);
  const request = readResponses(body);
  const header = (name: string): string | undefined => context.req.header(name);
  const { named, ask } = readFacts(header, body.metadata);
  const previous = body.previous_response_id ?? null;
  const id = messageId(header('Idempotency-Key'), app.newId);
  const conversation =
    (previous === null ? null : conversationOf(previous, app)) ??
    named ??
    (typeof body.conversation === 'string' ? namedConversation(body.conversation, 'conversation') : null) ??
    ephemeralConversation(id);
  const ref = { id, ...conversation };
  const background = body.background === true;
  const facts: ResponseFacts = {
    ref,
    model,
    createdAt: Math.floor(app.clock.now() / 1000),
    instructions: body.instructions ?? null,
    previous,
    metadata: body.metadata ?? {},
    background,
  };
  const turn = await beginTurn({ ref, request, ask, light: model === LIGHT }, app);
  const gone = new AbortController();
  const leave = (): void => gone.abort(new Error('the client is gone'));
  if (body.stream === true) {
    const events = eventsOf(turn, facts, { signal: gone.signal, log: app.log });
    return context.body(streamOf(events, { clock: app.clock, onGone: leave }), 200, STREAM_HEADERS);
  }
  using followed = turn;
  if (background) return context.json(responseObject(facts, 'queued'));
  const { signal } = context.req.raw;
  signal.addEventListener('abort', leave, { once: true });
  try {
    const record = await followed.end(gone.signal);
    // A stopped response is an answer (`cancelled`); a failed turn is an error, as with OpenAI's own servers.
    const failure = record.outcome === 'stopped' ? undefined : failureOf(record);
    if (failure !== undefined) throw failure;
    return context.json(responseObject(facts, 'ended', record));
  } finally {
    signal.removeEventListener('abort', leave);
  }
}

/**
 * Answers `POST /v1/responses/ID/cancel`: stops the turn and returns the response as it is then. A response that has ended
 * is returned unchanged.
 */
export async function cancelResponse(id: string, app: App): Promise<object> {
  const ref = parseResponseId(id);
  const place = ref === undefined ? undefined : app.api.find(keyOf(ref));
  if (ref !== undefined && place !== undefined && !isOver(place)) {
    using turn = new FollowedTurn(ref, place.session, app);
    turn.isLate();
    using limit = deadline(app.clock, CANCEL_MS, 'stopping the turn');
    await stopTurn({ ref }, app);
    await turn.end(limit.signal);
  }
  return await storedResponse(id, app);
}

/** The conversation of an earlier response. Throws when nothing of it is kept. */
function conversationOf(previous: string, { api }: App): Conversation {
  const ref = parseResponseId(previous);
  if (ref !== undefined && api.find(keyOf(ref)) !== undefined)
    return { chatId: ref.chatId, isEphemeral: ref.isEphemeral };
  const named = JSON.stringify(previous.slice(0, 200));
  throw new ApiError(400, `There is no response with the id ${named}. One without a session is kept for a day.`, {
    param: 'previous_response_id',
    code: 'previous_response_not_found',
  });
}

async function* eventsOf(
  followed: FollowedTurn,
  facts: ResponseFacts,
  options: { readonly signal: AbortSignal; readonly log: App['log'] },
): AsyncGenerator<string, void, void> {
  using turn = followed;
  const { ref } = facts;
  let sequence = 0;
  const event = (type: string, fields: object): string => {
    const data = { type, sequence_number: sequence, ...fields };
    sequence += 1;
    return eventOf(data, type);
  };
  const at = { item_id: itemId(ref), output_index: 0, content_index: 0 };
  let text = '';
  const begin = function* (): Generator<string> {
    if (text !== '') return;
    yield event('response.output_item.added', { output_index: 0, item: messageItem(ref, null, 'in_progress') });
    yield event('response.content_part.added', { ...at, part: textPart('') });
  };
  try {
    yield event('response.created', { response: responseObject(facts, 'in_progress') });
    yield event('response.in_progress', { response: responseObject(facts, 'in_progress') });
    const pieces = turn.pieces(options.signal);
    for (;;) {
      const next = await pieces.next();
      if (next.done !== true) {
        yield* begin();
        text += next.value;
        yield event('response.output_text.delta', { ...at, delta: next.value, logprobs: [] });
        continue;
      }
      // What was sent counts, also where the tape has it in other words.
      const record = { ...next.value, text };
      if (text !== '') {
        const status = record.outcome === 'answered' ? 'completed' : 'incomplete';
        yield event('response.output_text.done', { ...at, text, logprobs: [] });
        yield event('response.content_part.done', { ...at, part: textPart(text) });
        yield event('response.output_item.done', { output_index: 0, item: messageItem(ref, text, status) });
      }
      const type = record.outcome === 'answered' ? 'response.completed' : 'response.failed';
      yield event(type, { response: responseObject(facts, 'ended', record) });
      return;
    }
  } catch (error) {
    if (options.signal.aborted) return;
    if (!(error instanceof ApiError)) options.log.error('api: stream failed', { reason: errorMessage(error) });
    const { message, code, param } = errorBody(error).error;
    yield event('error', { message, code, param });
  }
}
