import type { Context } from 'hono';
import type { App } from '../../app.ts';
import { errorMessage } from '../../util/errors.ts';
import { beginTurn, stopTurn } from './begin-turn.ts';
import { chatSchema, readChat } from './chat-request.ts';
import { ApiError, errorBody, failureOf, parsed } from './errors.ts';
import { eventOf, STREAM_HEADERS, streamOf } from './event-stream.ts';
import type { FollowedTurn } from './followed-turn.ts';
import { ephemeralConversation, messageId } from './identity.ts';
import { LIGHT, modelNamed } from './models.ts';
import type { TurnRecord } from './backend.ts';
import { readFacts } from './request.ts';
import { chatUsage } from './usage.ts';

/**
 * Answers `POST /v1/chat/completions`. The turn of a client that goes away is stopped, unless its session has a name: of
 * any other nobody can fetch the answer.
 */
export async function chatCompletion(context: Context, json: unknown, app: App): Promise<Response> {
  const body = parsed(chatSchema, json);
  const { id: model } = modelNamed(body.model);
  const request = readChat(body);
  const header = (name: string): string | undefined => context.req.header(name);
  const { named, ask } = readFacts(header, body.metadata);
  const id = messageId(header('Idempotency-Key'), app.newId);
  const ref = { id, ...(named ?? ephemeralConversation(id)) };
  const turn = await beginTurn({ ref, request, ask, light: model === LIGHT }, app);
  const answer = new Completion({ id: `chatcmpl-${id}`, model, created: Math.floor(app.clock.now() / 1000) });
  const gone = new AbortController();
  const leave = (): void => {
    gone.abort(new Error('the client is gone'));
    if (ref.isEphemeral) {
      stopTurn({ ref, isWhole: true }, app).catch((error: unknown) =>
        app.log.warn('api: turn of a client that is gone not stopped', { reason: errorMessage(error) }),
      );
    }
  };
  if (body.stream === true) {
    const withUsage = body.stream_options?.include_usage === true;
    const events = answer.events(turn, { withUsage, signal: gone.signal, log: app.log });
    return context.body(streamOf(events, { clock: app.clock, onGone: leave }), 200, STREAM_HEADERS);
  }
  const { signal } = context.req.raw;
  signal.addEventListener('abort', leave, { once: true });
  try {
    using followed = turn;
    return context.json(answer.whole(await followed.end(gone.signal)));
  } finally {
    signal.removeEventListener('abort', leave);
  }
}

/** The objects of one completion. */
class Completion {
  readonly #facts: { readonly id: string; readonly model: string; readonly created: number };

  constructor(facts: { readonly id: string; readonly model: string; readonly created: number }) {
    this.#facts = facts;
  }

  whole(record: TurnRecord): object {
    const failure = failureOf(record);
    if (failure !== undefined) throw failure;
    const message = { role: 'assistant', content: record.text, refusal: null, annotations: [] };
    return {
      ...this.#facts,
      object: 'chat.completion',
      choices: [{ index: 0, message, logprobs: null, finish_reason: 'stop' }],
      usage: chatUsage(record.usage),
    };
  }

  async *events(
    followed: FollowedTurn,
    options: { readonly withUsage: boolean; readonly signal: AbortSignal; readonly log: App['log'] },
  ): AsyncGenerator<string, void, void> {
    using turn = followed;
    const none = options.withUsage ? { usage: null } : {};
    try {
      yield this.#chunk({ role: 'assistant', content: '', refusal: null }, null, none);
      const pieces = turn.pieces(options.signal);
      for (;;) {
        const next = await pieces.next();
        if (next.done !== true) {
          yield this.#chunk({ content: next.value }, null, none);
          continue;
        }
        const failure = failureOf(next.value);
        if (failure !== undefined) throw failure;
        yield this.#chunk({}, 'stop', none);
        if (options.withUsage) yield this.#event({ choices: [], usage: chatUsage(next.value.usage) });
        break;
      }
    } catch (error) {
      if (options.signal.aborted) return;
      if (!(error instanceof ApiError)) options.log.error('api: stream failed', { reason: errorMessage(error) });
      yield eventOf(errorBody(error));
    }
    yield eventOf('[DONE]');
  }

  #chunk(delta: object, finish: string | null, more: object): string {
    return this.#event({ choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }], ...more });
  }

  #event(fields: object): string {
    return eventOf({ ...this.#facts, object: 'chat.completion.chunk', ...fields });
  }
}
