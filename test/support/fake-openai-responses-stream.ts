import type { Identity } from './model-play.ts';
import { argumentsText, pieces, type Answer } from './model-script.ts';

/** The Responses wire format of a scripted answer. */

const CHUNK_SIZE = 12;

interface Item {
  readonly whole: Readonly<Record<string, unknown>>;
  /** What announces it, and what it is made of. */
  readonly begun: Readonly<Record<string, unknown>>;
  readonly deltas: readonly Readonly<Record<string, unknown>>[];
}

/** The events of `stream: true`, `response.completed` (or how it ended otherwise) last. */
export function responsesFrames(answer: Answer, identity: Identity): readonly string[] {
  const frames: string[] = [];
  const send = (type: string, rest: object): void => {
    frames.push(responsesFrame({ type, sequence_number: frames.length, ...rest }));
  };
  const empty = { ...responsesWhole({ usage: null, text: '' }, identity), status: 'in_progress', output: [] };
  send('response.created', { response: empty });
  for (const [place, item] of itemsOf(answer, identity).entries()) {
    send('response.output_item.added', { output_index: place, item: item.begun });
    for (const { type, ...delta } of item.deltas) {
      send(String(type), { output_index: place, item_id: item.whole['id'], ...delta });
    }
    send('response.output_item.done', { output_index: place, item: item.whole });
  }
  if (answer.finishReason === null || answer.noEnd === true) return frames;
  const response = responsesWhole(answer, identity);
  send(`response.${String(response['status'])}`, { response });
  return frames;
}

/** The body of an answer that is not streamed. */
export function responsesWhole(answer: Answer, identity: Identity): Record<string, unknown> {
  const reason = answer.finishReason ?? null;
  return {
    id: `resp_${identity.number}`,
    object: 'response',
    created_at: 1_790_000_000,
    status: reason === null ? 'completed' : 'incomplete',
    error: null,
    incomplete_details: reason === null ? null : { reason },
    model: identity.model,
    output: itemsOf(answer, identity).map(({ whole }) => whole),
    ...(answer.usage === null ? {} : { usage: usageOf(answer) }),
  };
}

export function responsesFrame(event: Readonly<Record<string, unknown>>): string {
  return `event: ${String(event['type'])}\ndata: ${JSON.stringify(event)}\n\n`;
}

function itemsOf(answer: Answer, { number }: Identity): readonly Item[] {
  const size = answer.chunkSize ?? CHUNK_SIZE;
  const items: Item[] = [];
  if (answer.reasoning !== undefined) {
    const base = { id: `rs_${number}`, type: 'reasoning' };
    const summary = [{ type: 'summary_text', text: answer.reasoning }];
    items.push({
      begun: { ...base, summary: [], encrypted_content: '' },
      whole: { ...base, summary, encrypted_content: encrypted(answer.reasoning) },
      deltas: pieces(answer.reasoning, size).map((delta) => ({
        type: 'response.reasoning_summary_text.delta',
        summary_index: 0,
        delta,
      })),
    });
  }
  if (answer.text !== undefined) {
    const base = { id: `msg_${number}`, type: 'message', role: 'assistant' };
    items.push({
      begun: { ...base, status: 'in_progress', content: [] },
      whole: {
        ...base,
        status: 'completed',
        ...(answer.reasoning === undefined ? {} : { phase: 'final_answer' }),
        content: [{ type: 'output_text', text: answer.text, annotations: [] }],
      },
      deltas: pieces(answer.text, size).map((delta) => ({
        type: 'response.output_text.delta',
        content_index: 0,
        delta,
        logprobs: [],
      })),
    });
  }
  for (const [index, call] of (answer.calls ?? []).entries()) {
    const callId = call.id ?? `call_${number}_${index}`;
    const base = { id: `fc_${number}_${index}`, type: 'function_call', call_id: callId, name: call.name };
    const text = argumentsText(call);
    items.push({
      begun: { ...base, status: 'in_progress', arguments: '' },
      whole: { ...base, status: 'completed', arguments: text },
      deltas: [
        ...pieces(text, size).map((delta) => ({ type: 'response.function_call_arguments.delta', delta })),
        { type: 'response.function_call_arguments.done', name: call.name, arguments: text },
      ],
    });
  }
  return items;
}

/** Stands for what only the server can read. */
function encrypted(thought: string): string {
  return Buffer.from(thought).toString('base64');
}

function usageOf(answer: Answer): unknown {
  const usage = answer.usage ?? {};
  const cached = usage.cached ?? 0;
  const cacheWrite = usage.cacheWrite ?? 0;
  const input = (usage.input ?? 10) + cached + cacheWrite;
  const output = usage.output ?? 5;
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: cached, cache_write_tokens: cacheWrite },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: usage.reasoning ?? 0 },
    total_tokens: input + output,
  };
}
