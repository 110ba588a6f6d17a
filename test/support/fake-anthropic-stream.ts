import type { Identity } from './model-play.ts';
import { argumentsText, pieces, type Answer, type ScriptedUsage } from './model-script.ts';

/** The Messages wire format of a scripted answer. */

const CHUNK_SIZE = 12;

interface Block {
  /** As in a whole message. */
  readonly whole: Readonly<Record<string, unknown>>;
  /** As in `content_block_start`. */
  readonly start: Readonly<Record<string, unknown>>;
  readonly deltas: readonly Readonly<Record<string, unknown>>[];
}

/** `event:` and `data:` lines of one event with its empty line. */
export function anthropicFrame(event: { readonly type: string; readonly [key: string]: unknown }): string {
  return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
}

/** The events of `stream: true`, from `message_start` to `message_stop`. */
export function anthropicFrames(answer: Answer, identity: Identity): readonly string[] {
  const message = { ...envelope(identity), content: [], stop_reason: null, usage: startUsage(answer.usage) };
  const frames = [anthropicFrame({ type: 'message_start', message })];
  for (const [index, block] of blocksOf(answer, identity).entries()) {
    frames.push(anthropicFrame({ type: 'content_block_start', index, content_block: block.start }));
    if (index === 0) frames.push(anthropicFrame({ type: 'ping' }));
    for (const delta of block.deltas) frames.push(anthropicFrame({ type: 'content_block_delta', index, delta }));
    frames.push(anthropicFrame({ type: 'content_block_stop', index }));
  }
  if (answer.finishReason !== null) {
    const delta = { stop_reason: stopReasonOf(answer), stop_sequence: null, stop_details: null, container: null };
    frames.push(anthropicFrame({ type: 'message_delta', delta, usage: endUsage(answer.usage) }));
  }
  if (answer.noEnd !== true) frames.push(anthropicFrame({ type: 'message_stop' }));
  return frames;
}

/** The body of an answer that is not streamed. Calls with broken arguments have the text itself as their input. */
export function anthropicWhole(answer: Answer, identity: Identity): unknown {
  return {
    ...envelope(identity),
    content: blocksOf(answer, identity).map((block) => block.whole),
    stop_reason: stopReasonOf(answer),
    usage: { ...startUsage(answer.usage), ...endUsage(answer.usage) },
  };
}

function envelope(identity: Identity): Readonly<Record<string, unknown>> {
  return {
    id: `msg_${identity.number}`,
    type: 'message',
    role: 'assistant',
    model: identity.model,
    stop_sequence: null,
    stop_details: null,
    container: null,
    diagnostics: null,
  };
}

function stopReasonOf(answer: Answer): string | null {
  if (answer.finishReason !== undefined) return answer.finishReason;
  return (answer.calls ?? []).length > 0 ? 'tool_use' : 'end_turn';
}

function blocksOf(answer: Answer, identity: Identity): readonly Block[] {
  const size = answer.chunkSize ?? CHUNK_SIZE;
  const blocks: Block[] = [];
  if (answer.reasoning !== undefined) {
    const signature = Buffer.from(`signature ${identity.number}`).toString('base64');
    blocks.push({
      whole: { type: 'thinking', thinking: answer.reasoning, signature },
      start: { type: 'thinking', thinking: '', signature: '' },
      deltas: [
        ...pieces(answer.reasoning, size).map((thinking) => ({ type: 'thinking_delta', thinking })),
        { type: 'signature_delta', signature },
      ],
    });
  }
  if (answer.redacted !== undefined) {
    const block = { type: 'redacted_thinking', data: answer.redacted };
    blocks.push({ whole: block, start: block, deltas: [] });
  }
  if (answer.text !== undefined) {
    blocks.push({
      whole: { type: 'text', text: answer.text, citations: null },
      start: { type: 'text', text: '', citations: null },
      deltas: pieces(answer.text, size).map((text) => ({ type: 'text_delta', text })),
    });
  }
  for (const [index, call] of (answer.calls ?? []).entries()) {
    const id = call.id ?? `toolu_${identity.number}_${index}`;
    const head = { type: 'tool_use', id, name: call.name, caller: { type: 'direct' } };
    blocks.push({
      whole: { ...head, input: call.arguments },
      start: { ...head, input: {} },
      deltas: ['', ...pieces(argumentsText(call), size)].map((partial) => ({
        type: 'input_json_delta',
        partial_json: partial,
      })),
    });
  }
  return blocks;
}

function startUsage(scripted: ScriptedUsage | null | undefined): Readonly<Record<string, unknown>> {
  const usage = scripted ?? {};
  return {
    input_tokens: scripted === null ? 0 : (usage.input ?? 10),
    cache_read_input_tokens: usage.cached ?? 0,
    cache_creation_input_tokens: usage.cacheWrite ?? 0,
    cache_creation: null,
    output_tokens: 1,
    output_tokens_details: null,
    server_tool_use: null,
    service_tier: 'standard',
    inference_geo: null,
    speed: null,
  };
}

/** Cumulative, as the last `message_delta` has it. */
function endUsage(scripted: ScriptedUsage | null | undefined): Readonly<Record<string, unknown>> {
  if (scripted === null) return { output_tokens: 0 };
  const usage = scripted ?? {};
  return {
    input_tokens: usage.input ?? 10,
    cache_read_input_tokens: usage.cached ?? 0,
    cache_creation_input_tokens: usage.cacheWrite ?? 0,
    output_tokens: usage.output ?? 5,
    output_tokens_details: usage.reasoning === undefined ? null : { thinking_tokens: usage.reasoning },
    server_tool_use: null,
  };
}
