import type { App } from '../../app.ts';
import { asJson } from './bare-json.ts';
import { ApiError } from './errors.ts';
import { isOver, recordOf } from './followed-turn.ts';
import { keyOf, parseResponseId, responseId, type MessageRef } from './identity.ts';
import { ASSISTANT, LIGHT } from './models.ts';
import type { TurnRecord } from './backend.ts';
import { responseUsage } from './usage.ts';

/** What the object of a response says beside its answer. */
export interface ResponseFacts {
  readonly ref: MessageRef;
  readonly model: string;
  /** Seconds since 1970. */
  readonly createdAt: number;
  /** @default null */
  readonly instructions?: string | null;
  readonly previous?: string | null;
  readonly metadata?: Readonly<Record<string, unknown>>;
  readonly background?: boolean;
}

/** A response in one of its states; `record`: null while its turn has not ended. */
export function responseObject(
  facts: ResponseFacts,
  state: 'queued' | 'in_progress' | 'ended',
  record: TurnRecord | null = null,
): object {
  const { ref, model, createdAt, instructions = null, previous = null, metadata = {}, background = false } = facts;
  const failed = record?.outcome === 'failed';
  return {
    id: responseId(ref),
    object: 'response',
    created_at: createdAt,
    status: record === null ? (state === 'ended' ? 'failed' : state) : statusOf(record),
    background,
    error: failed ? { code: 'server_error', message: record.reason } : null,
    incomplete_details: null,
    instructions,
    max_output_tokens: null,
    metadata,
    model,
    output: record === null || record.text === '' ? [] : [messageItem(ref, record.text, itemStatus(record))],
    parallel_tool_calls: true,
    previous_response_id: previous,
    reasoning: { effort: null, summary: null },
    store: true,
    temperature: null,
    text: { format: { type: 'text' } },
    tool_choice: 'auto',
    tools: [],
    top_p: null,
    truncation: 'disabled',
    usage: record === null ? null : responseUsage(record.usage),
  };
}

/** The answer as an item of the output. */
export function messageItem(ref: MessageRef, text: string | null, status: string): object {
  const content = text === null ? [] : [textPart(text)];
  return { id: itemId(ref), type: 'message', role: 'assistant', status, content };
}

/** Id of the one item that a response has. */
export function itemId({ id }: MessageRef): string {
  return `msg_${id}`;
}

/** The text of the answer as a part of its item. */
export function textPart(text: string): object {
  return { type: 'output_text', text, annotations: [], logprobs: [] };
}

/** Answers `GET /v1/responses/ID` from the journal and the tape. Throws 404 when nothing of it is kept. */
export async function storedResponse(id: string, app: App): Promise<object> {
  const ref = parseResponseId(id);
  const place = ref === undefined ? undefined : app.api.find(keyOf(ref));
  if (ref === undefined || place === undefined) {
    const named = JSON.stringify(id.slice(0, 200));
    throw new ApiError(404, `There is no response with the id ${named}. One without a session is kept for a day.`);
  }
  const model = place.light ? LIGHT : ASSISTANT;
  const facts = { ref, model, createdAt: Math.floor(place.receivedAt / 1000) };
  if (!isOver(place)) return responseObject(facts, place.state === 'accepted' ? 'queued' : 'in_progress');
  const kept = place.turnId === null ? null : await app.api.ended(place.session, place.turnId);
  const record = kept ?? recordOf(null, place);
  return responseObject(facts, 'ended', place.json ? asJson(record) : record);
}

function statusOf({ outcome }: TurnRecord): string {
  if (outcome === 'answered') return 'completed';
  return outcome === 'stopped' ? 'cancelled' : 'failed';
}

function itemStatus({ outcome }: TurnRecord): string {
  return outcome === 'answered' ? 'completed' : 'incomplete';
}
