import type { Identity } from './model-play.ts';
import { argumentsText, pieces, type Answer } from './model-script.ts';

/** The Chat Completions wire format of a scripted answer. */

const CREATED = 1_790_000_000;
const CHUNK_SIZE = 12;

/** The events of `stream: true`, each `data: …` with its empty line, `[DONE]` last. */
export function openAiFrames(answer: Answer, identity: Identity, includeUsage: boolean): readonly string[] {
  const frames: string[] = [];
  const size = answer.chunkSize ?? CHUNK_SIZE;
  const send = (choices: readonly unknown[], usage: unknown): void => {
    frames.push(
      frame({
        id: idOf(identity),
        object: 'chat.completion.chunk',
        created: CREATED,
        model: identity.model,
        choices,
        ...(includeUsage ? { usage } : {}),
      }),
    );
  };
  const delta = (change: object, finishReason: string | null = null): void =>
    send([{ index: 0, delta: change, logprobs: null, finish_reason: finishReason }], null);

  delta({ role: 'assistant', content: '', refusal: null });
  for (const piece of pieces(answer.reasoning ?? '', size)) delta({ reasoning_content: piece });
  for (const piece of pieces(answer.text ?? '', size)) delta({ content: piece });
  for (const [index, call] of (answer.calls ?? []).entries()) {
    const head = { index, id: call.id ?? callId(identity, index), type: 'function' };
    delta({ tool_calls: [{ ...head, function: { name: call.name, arguments: '' } }] });
    for (const piece of pieces(argumentsText(call), size)) {
      delta({ tool_calls: [{ index, function: { arguments: piece } }] });
    }
  }
  if (answer.finishReason !== null) delta({}, finishReasonOf(answer));
  if (includeUsage && answer.usage !== null) send([], usageOf(answer));
  if (answer.noEnd !== true) frames.push('data: [DONE]\n\n');
  return frames;
}

/** The body of an answer that is not streamed. */
export function openAiWhole(answer: Answer, identity: Identity): unknown {
  const calls = (answer.calls ?? []).map((call, index) => ({
    id: call.id ?? callId(identity, index),
    type: 'function',
    function: { name: call.name, arguments: argumentsText(call) },
  }));
  const message = {
    role: 'assistant',
    content: answer.text ?? (calls.length > 0 ? null : ''),
    refusal: null,
    ...(answer.reasoning === undefined ? {} : { reasoning_content: answer.reasoning }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  };
  return {
    id: idOf(identity),
    object: 'chat.completion',
    created: CREATED,
    model: identity.model,
    choices: [{ index: 0, message, logprobs: null, finish_reason: finishReasonOf(answer) }],
    ...(answer.usage === null ? {} : { usage: usageOf(answer) }),
  };
}

function frame(chunk: unknown): string {
  return `data: ${JSON.stringify(chunk)}\n\n`;
}

function idOf(identity: Identity): string {
  return `chatcmpl-${identity.number}`;
}

function callId(identity: Identity, index: number): string {
  return `call_${identity.number}_${index}`;
}

function finishReasonOf(answer: Answer): string | null {
  if (answer.finishReason !== undefined) return answer.finishReason;
  return (answer.calls ?? []).length > 0 ? 'tool_calls' : 'stop';
}

function usageOf(answer: Answer): unknown {
  const usage = answer.usage ?? {};
  const cached = usage.cached ?? 0;
  const cacheWrite = usage.cacheWrite ?? 0;
  const prompt = (usage.input ?? 10) + cached + cacheWrite;
  const output = usage.output ?? 5;
  return {
    prompt_tokens: prompt,
    completion_tokens: output,
    total_tokens: prompt + output,
    prompt_tokens_details: { cached_tokens: cached, cache_write_tokens: cacheWrite, audio_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: usage.reasoning ?? 0, audio_tokens: 0 },
  };
}
