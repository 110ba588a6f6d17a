import type { ModelEvent, ModelRequest, ModelResponse } from '../provider.ts';
import { beginningOfCalls, splitCalls, unfinishedBeginning, writesCalls } from '../text-calls.ts';

/**
 * Turns calls that a model wrote into its text into calls, where it is known to do so and tools were offered. Their
 * markup is held back from the stream. Text that only quotes such markup stays text.
 */
export async function* withTextCalls(
  events: AsyncIterable<ModelEvent>,
  { model, tools, toolChoice }: ModelRequest,
): AsyncGenerator<ModelEvent> {
  if (tools.length === 0 || toolChoice === 'none' || !writesCalls(model)) {
    yield* events;
    return;
  }
  let text = '';
  let shown = 0;
  let holds = false;
  for await (const event of events) {
    if (event.type === 'text-delta') {
      text += event.text;
      if (holds) continue;
      const begins = beginningOfCalls(text, shown);
      holds = begins !== -1;
      const until = holds ? begins : text.length - unfinishedBeginning(text);
      if (until > shown) yield { type: 'text-delta', text: text.slice(shown, until) };
      shown = Math.max(shown, until);
    } else if (event.type === 'end') {
      const found = calledIn(event.response, tools);
      if (found === null) {
        if (shown < text.length) yield { type: 'text-delta', text: text.slice(shown) };
        yield event;
        return;
      }
      const { content, calls } = found;
      for (const [index, call] of calls.entries()) yield { type: 'tool-call', index, call };
      yield { ...event, stopReason: 'tool-calls', response: { ...event.response, content } };
      return;
    } else yield event;
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
