import type { Identity } from './model-play.ts';
import { pieces, type Answer } from './model-script.ts';

/** The lines of JSON of a scripted answer, as `/api/chat` streams them. */

const CREATED = '2026-01-01T00:00:00.000000000Z';
const CHUNK_SIZE = 12;

/** `promptTokens` are counted when the script does not say how many. */
export function ollamaFrames(answer: Answer, identity: Identity, promptTokens: number): readonly string[] {
  const size = answer.chunkSize ?? CHUNK_SIZE;
  const piece = (message: object): string =>
    frame(identity, { message: { role: 'assistant', ...message }, done: false });
  const calls = (answer.calls ?? []).map((call, index) => ({
    ...(call.id === undefined ? {} : { id: call.id }),
    function: { index, name: call.name, arguments: call.arguments },
  }));
  const isWhole = answer.finishReason !== null && answer.noEnd !== true;
  return [
    ...pieces(answer.reasoning ?? '', size).map((thinking) => piece({ content: '', thinking })),
    ...pieces(answer.text ?? '', size).map((content) => piece({ content })),
    ...(calls.length === 0 ? [] : [piece({ content: '', tool_calls: calls })]),
    ...(isWhole ? [frame(identity, last(answer, promptTokens))] : []),
  ];
}

/** The body of an answer that is not streamed. */
export function ollamaWhole(answer: Answer, identity: Identity): unknown {
  return {
    model: identity.model,
    created_at: CREATED,
    ...last(answer, 0),
    message: { role: 'assistant', content: answer.text ?? '' },
  };
}

function last(answer: Answer, promptTokens: number): object {
  const { usage } = answer;
  const counts = { input: usage?.input ?? promptTokens, output: usage?.output ?? 5 };
  return {
    message: { role: 'assistant', content: '' },
    done: true,
    done_reason: answer.finishReason ?? 'stop',
    ...(usage === null
      ? {}
      : {
          prompt_eval_count: counts.input + (usage?.cached ?? 0) + (usage?.cacheWrite ?? 0),
          eval_count: counts.output,
        }),
    total_duration: 1_000_000,
  };
}

function frame({ model }: Identity, rest: object): string {
  return `${JSON.stringify({ model, created_at: CREATED, ...rest })}\n`;
}
