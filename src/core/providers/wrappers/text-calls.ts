import type { ModelEvent, ModelRequest, ModelResponse } from '../provider.ts';
import { breaksInCall, CallBeginnings, splitCalls, unfinishedBeginning, writesCalls } from '../text-calls.ts';

/**
 * Turns calls that a model wrote into its text into calls, where it is known to do so and tools were offered. Their
 * markup is held back from the stream, even when the call breaks off. Text that only quotes such markup stays text.
 * `offered` gives the tools that were sent. @default those of the request
 */
export async function* withTextCalls(
  events: AsyncIterable<ModelEvent>,
  { model, tools, toolChoice }: ModelRequest,
  offered = (): ModelRequest['tools'] => tools,
): AsyncGenerator<ModelEvent> {
  if (tools.length === 0 || toolChoice === 'none' || !writesCalls(model)) {
    yield* events;
    return;
  }
  let held = new HeldText();
  for await (const event of events) {
    if (event.type === 'text-delta') yield* held.take(event.text);
    else if (event.type === 'end') {
      const found = calledIn(event.response, offered());
      if (found === null) {
        yield* held.release();
        yield event;
        continue;
      }
      const { content, calls } = found;
      yield* held.finish(offered());
      for (const [index, call] of calls.entries()) yield { type: 'tool-call', index, call };
      yield { ...event, stopReason: 'tool-calls', response: { ...event.response, content } };
    } else {
      if (event.type === 'error') yield* held.breakOff(offered());
      if (event.type === 'restart') held = new HeldText();
      yield event;
    }
  }
}

/** The text of one answer, shown up to where calls may begin. */
class HeldText {
  readonly #beginnings = new CallBeginnings();
  #text = '';
  #shown = 0;
  #begin = -1;

  *take(delta: string): Generator<ModelEvent> {
    this.#text += delta;
    if (this.#begin !== -1) return;
    this.#begin = this.#beginnings.next(this.#text, this.#shown);
    yield* this.#show(this.#begin === -1 ? this.#text.length - unfinishedBeginning(this.#text) : this.#begin);
  }

  /** Shows the rest, because it contains no calls. */
  *release(): Generator<ModelEvent> {
    yield* this.#show(this.#text.length);
  }

  /** There are calls, and the words between and after them are still to be shown. */
  *finish(tools: ModelRequest['tools']): Generator<ModelEvent> {
    const words = splitCalls(this.#text, tools)?.text ?? '';
    const rest = words.slice(this.#text.slice(0, this.#shown).trim().length);
    if (rest.trim() !== '') yield { type: 'text-delta', text: rest };
  }

  /** The answer stops here. A call that was being written stays one, which still counts as written. */
  *breakOff(tools: ModelRequest['tools']): Generator<ModelEvent> {
    if (this.#begin !== -1 && breaksInCall(this.#text, this.#begin, tools)) {
      yield { type: 'tool-call-delta', index: 0, name: '', argumentsDelta: this.#text.slice(this.#shown) };
    } else if (splitCalls(this.#text, tools) === null) yield* this.release();
    else yield* this.finish(tools);
  }

  *#show(until: number): Generator<ModelEvent> {
    if (until > this.#shown) yield { type: 'text-delta', text: this.#text.slice(this.#shown, until) };
    this.#shown = Math.max(this.#shown, until);
  }
}

/** The content with the calls of its last text as calls; null when it has real calls or no written ones. */
function calledIn({ content }: ModelResponse, tools: ModelRequest['tools']) {
  const at = content.findLastIndex(({ type }) => type === 'text');
  const last = content[at];
  if (last?.type !== 'text' || content.some(({ type }) => type === 'tool-call')) return null;
  const split = splitCalls(last.text, tools);
  if (split === null) return null;
  const calls = split.calls.map((call) => ({ id: '', ...call }));
  const parts = content.flatMap((part, index): ModelResponse['content'] => {
    if (index !== at) return [part];
    return split.text === '' ? [] : [{ type: 'text', text: split.text }];
  });
  return { calls, content: [...parts, ...calls.map((call) => ({ type: 'tool-call' as const, ...call }))] };
}
