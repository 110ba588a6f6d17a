import { createHash } from 'node:crypto';
import { turnOf, type EntryOf, type ModelCall, type TapeEntry, type ToolResultStep } from '../../core/api-tapes.ts';

/** A finished span, in the JSON form of OTLP (opentelemetry-proto, trace/v1). */
export interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  /** 1: inside the program; 3: a request to another. */
  readonly kind: 1 | 3;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly Attribute[];
  readonly status: { readonly code: 0 | 2; readonly message?: string };
}

export interface Attribute {
  readonly key: string;
  readonly value: AttributeValue;
}

type AttributeValue =
  | { readonly stringValue: string }
  | { readonly intValue: string }
  | { readonly doubleValue: number }
  | { readonly arrayValue: { readonly values: readonly AttributeValue[] } };

/** What a span says beyond the names that the conventions of OpenTelemetry for GenAI give. */
type Facts = Readonly<Record<string, string | number | readonly string[] | undefined>>;

interface Draft {
  /** What makes the id of the span. */
  readonly id: string;
  readonly name: string;
  readonly kind: Span['kind'];
  /** Milliseconds since 1970. */
  readonly from: number;
  readonly to: number;
  readonly facts: Facts;
  readonly problem?: string;
}

/**
 * The spans of a turn that ended, made from its entries: one of the turn, below it one for each call of a model and of a
 * tool. They hold names, times and numbers, never what was said. A turn that has not begun has none.
 */
export function turnSpans(session: string, turnId: string, entries: readonly TapeEntry[]): readonly Span[] {
  const { start, end, modelCalls, results } = turnOf(entries);
  if (start === undefined || end === undefined) return [];
  const root = spanId(turnId);
  const times = new Map(entries.map(({ id, at }) => [id, at]));
  const calls = [
    ...modelCalls.flatMap((call) => modelCall(call, (id) => times.get(id) ?? start.at)),
    ...results.map(toolCall),
  ];
  const spans = calls.map((draft) =>
    spanOf(turnId, { ...draft, facts: { ...draft.facts, 'gen_ai.conversation.id': session } }, root),
  );
  return [spanOf(turnId, wholeTurn({ session, turnId, start, end })), ...spans];
}

function wholeTurn({
  session,
  turnId,
  start,
  end,
}: {
  readonly session: string;
  readonly turnId: string;
  readonly start: EntryOf<'turn-start'>;
  readonly end: EntryOf<'turn-end'>;
}): Draft {
  return {
    id: turnId,
    name: 'invoke_agent assistant',
    kind: 1,
    from: start.at,
    to: end.at,
    facts: {
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.agent.name': 'assistant',
      'gen_ai.conversation.id': session,
      'gen_ai.response.model': end.model ?? undefined,
      ...tokens(end.usage),
      'assistant.turn.id': turnId,
      'assistant.turn.origin': start.origin,
      'assistant.turn.outcome': end.outcome,
      'assistant.turn.cost_usd': end.costUsd ?? undefined,
    },
    ...(end.outcome === 'failed' ? { problem: 'failed' } : {}),
  };
}

/** A call begins with the newest entry that it was made from: when it began is not on the tape. */
function modelCall({ note, answer }: ModelCall, timeOf: (entry: string) => number): readonly Draft[] {
  if (note === undefined) return [];
  const { after, attempts, maxOutputTokens, temperature } = note.call;
  const first = attempts[0];
  const failed = answer === undefined ? attempts.at(-1)?.failed : undefined;
  const model = first?.model ?? 'unknown';
  return [
    {
      id: note.id,
      name: `chat ${model}`,
      kind: 3,
      from: timeOf(after),
      to: note.at,
      facts: {
        'gen_ai.operation.name': 'chat',
        'gen_ai.provider.name': answer?.provider ?? first?.provider,
        'gen_ai.request.model': model,
        'gen_ai.request.max_tokens': maxOutputTokens,
        'gen_ai.request.temperature': temperature,
        'gen_ai.response.model': answer?.model,
        'gen_ai.response.finish_reasons': answer === undefined ? undefined : [answer.stopReason],
        ...tokens(answer?.usage ?? null),
        'assistant.attempts': attempts.length,
      },
      ...(failed === undefined ? {} : { problem: failed.kind }),
    },
  ];
}

function toolCall({ entry: { callId, name, isError, at }, call }: ToolResultStep): Draft {
  return {
    id: callId,
    name: `execute_tool ${name}`,
    kind: 1,
    from: call?.intent?.at ?? call?.askedAt ?? at,
    to: at,
    facts: {
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': name,
      'gen_ai.tool.call.id': callId,
    },
    ...(isError ? { problem: 'tool_error' } : {}),
  };
}

function tokens(usage: EntryOf<'turn-end'>['usage'] | null): Facts {
  if (usage === null) return {};
  return {
    'gen_ai.usage.input_tokens': usage.input,
    'gen_ai.usage.output_tokens': usage.output,
    'gen_ai.usage.cache_read.input_tokens': usage.cached,
    'gen_ai.usage.cache_creation.input_tokens': usage.cacheWrite,
  };
}

function spanOf(turnId: string, { id, name, kind, from, to, facts, problem }: Draft, parent?: string): Span {
  return {
    traceId: hashed(turnId, 32),
    spanId: spanId(id),
    ...(parent === undefined ? {} : { parentSpanId: parent }),
    name,
    kind,
    startTimeUnixNano: nanoseconds(from),
    endTimeUnixNano: nanoseconds(Math.max(from, to)),
    attributes: attributesOf({ ...facts, 'error.type': problem }),
    status: problem === undefined ? { code: 0 } : { code: 2, message: problem },
  };
}

export function attributesOf(facts: Facts): readonly Attribute[] {
  return Object.entries(facts).flatMap(([key, value]) => (value === undefined ? [] : [{ key, value: wire(value) }]));
}

function wire(value: string | number | readonly string[]): AttributeValue {
  if (typeof value === 'string') return { stringValue: value };
  if (typeof value !== 'number') return { arrayValue: { values: value.map((text) => ({ stringValue: text })) } };
  return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value };
}

/** The same for every look at the same turn, so that a collector sees a span that is sent again as the same one. */
function spanId(id: string): string {
  return hashed(id, 16);
}

function hashed(text: string, digits: number): string {
  return createHash('sha256').update(text).digest('hex').slice(0, digits);
}

function nanoseconds(ms: number): string {
  return `${Math.round(ms)}000000`;
}
