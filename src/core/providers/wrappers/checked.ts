import * as z from 'zod';
import { deadline, DeadlineError, raceAbort, type Clock } from '../../util/clock.ts';
import { misfit, thrownLine } from '../../util/misfit.ts';
import { MODEL_ERROR_KINDS, type ModelEvent } from '../provider.ts';

const text = z.string();
const key = z.string().min(1);
const call = z.looseObject({ id: text, name: key, arguments: text });
const count = z.number().nonnegative();
const usage = z.looseObject({ input: count, cached: count, cacheWrite: count, output: count, reasoning: count });
const kinds = z.enum(MODEL_ERROR_KINDS);
const part = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('text'), text }),
  z.looseObject({ type: z.literal('reasoning'), provider: text, model: text, text }),
  z.looseObject({ type: z.literal('tool-call'), ...call.shape }),
]);
const event = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('request'), provider: text, model: text, body: text.nullable(), bytes: count }),
  z.looseObject({ type: z.literal('text-delta'), text }),
  z.looseObject({ type: z.literal('reasoning-delta'), text }),
  z.looseObject({ type: z.literal('tool-call-delta'), index: count, name: text, argumentsDelta: text }),
  z.looseObject({ type: z.literal('tool-call'), index: count, call }),
  z.looseObject({ type: z.literal('usage'), usage }),
  z.looseObject({
    type: z.literal('end'),
    stopReason: z.enum(['stop', 'tool-calls', 'length', 'refusal']),
    response: z.looseObject({ content: z.array(part), model: text, usage: usage.nullable() }),
  }),
  z.looseObject({ type: z.literal('restart'), reason: kinds, waitMs: count, message: text }),
  z.looseObject({ type: z.literal('error'), kind: kinds, retryable: z.boolean(), message: text }),
]);

/**
 * Holds the events of somebody else's code to the contract of `Provider`: ends with exactly one `end` or `error`, and with
 * `aborted` as soon as the signal aborts, whatever the code does. `who` names it in the sentence of an error. `spare` is asked if
 * the code fails before its first event. @default an error
 */
export async function* checkedEvents(
  open: () => unknown,
  {
    who,
    signal,
    spare,
    patience,
  }: {
    readonly who: string;
    readonly signal: AbortSignal;
    readonly spare?: (error: unknown) => AsyncIterable<ModelEvent>;
    /** How long it may take to its next event. @default for ever */
    readonly patience?: { readonly clock: Clock; readonly idleMs: number };
  },
): AsyncGenerator<ModelEvent, void, void> {
  let iterator: AsyncIterator<unknown> | undefined;
  let began = false;
  const soon = async <T>(promise: Promise<T>): Promise<T> => {
    if (patience === undefined) return await raceAbort(promise, signal);
    using limit = deadline(patience.clock, patience.idleMs, 'its next word');
    return await raceAbort(promise, AbortSignal.any([signal, limit.signal]));
  };
  try {
    iterator = iteratorOf(await soon(Promise.resolve(open())));
    for (;;) {
      const next = await soon(Promise.resolve(iterator.next()));
      if (next.done === true) throw new Error('it ended its answer without saying so');
      const wrong = misfit(next.value, event, 'an event');
      if (wrong !== null) throw new Error(wrong);
      const value = next.value as ModelEvent;
      began = true;
      yield value;
      if (value.type === 'end' || value.type === 'error') return;
    }
  } catch (error) {
    if (signal.aborted) yield { type: 'error', kind: 'aborted', retryable: false, message: `${who} was stopped.` };
    else if (!began && spare !== undefined) yield* spare(error);
    else {
      // Of this kind people read the sentence.
      const kind = error instanceof DeadlineError ? 'timeout' : 'bad-request';
      yield { type: 'error', kind, retryable: false, message: `${who} failed: ${thrownLine(error)}.` };
    }
  } finally {
    // It may hang there too, so no one waits for it.
    void Promise.resolve(iterator?.return?.()).catch(() => {});
  }
}

function iteratorOf(stream: unknown): AsyncIterator<unknown> {
  if (typeof stream !== 'object' || stream === null || !(Symbol.asyncIterator in stream)) {
    throw new Error('it gave no stream of events');
  }
  return (stream as AsyncIterable<unknown>)[Symbol.asyncIterator]();
}
