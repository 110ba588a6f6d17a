import { receiptOf } from '../../core/agent/receipt/receipt.ts';
import type { App } from '../../core/app.ts';
import type { RequestHandlers } from '../../core/gateway/operations/operations.ts';
import type { TraceStep, TraceTokens, TurnFacts, TurnTrace } from '../../core/gateway/operations/traces.ts';
import { unknownTurn, type TurnRecord } from '../../core/journal/turn-records.ts';
import { type CallRecord, type EntryOf, saidIn, type TapeEntry } from '../../core/session/entry.ts';
import { entriesOfTurn } from '../../core/assistant/why.ts';
import { cut } from '../../core/util/text.ts';
import { turnChanges } from './turn-changes.ts';

const LONGEST_TEXT = 2_000;

/** What a person may ask about turns. */
export function turnRequests(app: App): Pick<RequestHandlers, 'turnsList' | 'turnsTrace'> {
  const { turnRecords } = app.journal;
  const folder = app.paths.sessions;
  return {
    turnsList: async ({ count, before }) => turnRecords.newest(count, before).map(factsOf),
    turnsTrace: async ({ turn }) => {
      const record = turn === undefined ? turnRecords.newest(1)[0] : turnRecords.find(turn);
      if (record === undefined) throw unknownTurn(turn);
      const entries = await entriesOfTurn(folder, record);
      const did = receiptOf(entries);
      return { ...traceOf(record, entries), did, changes: await turnChanges(record, did, app) };
    },
  };
}

function factsOf({ id, session, startedAt, outcome }: TurnRecord): TurnFacts {
  return { turn: id, session, startedAt, outcome };
}

function traceOf(record: TurnRecord, entries: readonly TapeEntry[]): Omit<TurnTrace, 'did' | 'changes'> {
  const start = entries.find((entry) => entry.kind === 'turn-start');
  const end = entries.findLast((entry) => entry.kind === 'turn-end');
  return {
    ...factsOf(record),
    origin: start?.origin ?? '',
    role: start?.role ?? '',
    endedAt: end?.at ?? null,
    model: end?.model ?? null,
    tokens: end === undefined ? null : tokensOf(end.usage),
    costUsd: end?.costUsd ?? null,
    unfinished: end?.unfinished ?? null,
    steps: stepsOf(entries),
  };
}

function stepsOf(entries: readonly TapeEntry[]): readonly TraceStep[] {
  const steps: TraceStep[] = [];
  let before = entries[0]?.at ?? 0;
  let call: CallRecord | undefined;
  for (const entry of entries) {
    const time = { at: entry.at, tookMs: Math.max(0, entry.at - before) };
    if (entry.kind === 'note' && entry.call !== undefined) {
      // A call that failed for good has no message behind its note.
      if (call !== undefined) steps.push({ ...time, ...failedCall(call) });
      ({ call } = entry);
    } else if (entry.kind === 'message') {
      steps.push({ ...time, ...stepOf(entry, call) });
      if (entry.role === 'assistant') call = undefined;
    } else continue;
    before = entry.at;
  }
  if (call !== undefined) steps.push({ at: before, tookMs: 0, ...failedCall(call) });
  return steps;
}

type Step = DistributiveOmit<TraceStep, 'at' | 'tookMs'>;
type DistributiveOmit<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never;

function stepOf(entry: EntryOf<'message'>, call: CallRecord | undefined): Step {
  switch (entry.role) {
    case 'user':
      return { kind: 'message', text: cut(saidIn(entry), LONGEST_TEXT) };
    case 'tool': {
      const { callId, name, output, isError, approved = false } = entry;
      const { length: characters } = output;
      return { kind: 'tool', callId, name, isError, approved, characters, output: cut(output, LONGEST_TEXT) };
    }
    case 'assistant':
      return {
        kind: 'model',
        attempts: attemptsOf(call) ?? [{ model: `${entry.provider}/${entry.model}`, bytes: 0, failed: null }],
        tokens: entry.usage === null ? null : tokensOf(entry.usage),
        stopReason: entry.stopReason,
        text: cut(saidIn(entry), LONGEST_TEXT),
        calls: entry.content.flatMap((part) =>
          part.type === 'tool-call'
            ? [{ callId: part.callId, name: part.name, arguments: cut(part.arguments, LONGEST_TEXT) }]
            : [],
        ),
      };
  }
}

function failedCall(call: CallRecord): Step {
  return { kind: 'model', attempts: attemptsOf(call) ?? [], tokens: null, stopReason: null, text: '', calls: [] };
}

function attemptsOf(call: CallRecord | undefined): Extract<TraceStep, { kind: 'model' }>['attempts'] | undefined {
  return call?.attempts.map(({ provider, model, bytes, failed }) => ({
    model: `${provider}/${model}`,
    bytes,
    failed: failed === undefined ? null : `${failed.kind}${statusOf(failed)}: ${failed.reason}`,
  }));
}

function statusOf({ status }: { readonly status?: number }): string {
  return status === undefined ? '' : ` (${status})`;
}

function tokensOf({ input, cached, output }: TraceTokens): TraceTokens {
  return { input, cached, output };
}
