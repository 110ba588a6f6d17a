import type { EntryDraft, EntryOf, TapeEntry } from '../../src/core/session/entry.ts';
import { type Clock, systemClock } from '../../src/core/util/clock.ts';
import type { IdFactory } from '../../src/core/util/ids.ts';
import { type Logger, silentLog } from '../../src/core/util/log.ts';
import { noUsage } from '../../src/core/util/token-usage.ts';

/** Builders for drafts of tape entries, and a stamp that makes entries of them without a disk. */

type Flags = Pick<EntryDraft, 'id' | 'untrusted' | 'private'>;

export const turnStart = (turn: string): EntryDraft => ({
  kind: 'turn-start',
  turn,
  sources: [`in-${turn}`],
  role: 'owner',
  origin: 'user',
});

export const user = (turn: string | null, text: string, flags: Flags = {}): EntryDraft => ({
  kind: 'message',
  role: 'user',
  turn,
  sources: [],
  content: [{ type: 'text', text }],
  ...flags,
});

export const assistant = (
  turn: string,
  text: string,
  calls: readonly string[] = [],
  flags: Flags = {},
): EntryDraft => ({
  kind: 'message',
  role: 'assistant',
  turn,
  content: [
    ...(text === '' ? [] : [{ type: 'text' as const, text }]),
    ...calls.map((callId) => ({
      type: 'tool-call' as const,
      callId,
      providerCallId: '',
      name: 'read_file',
      arguments: '{}',
    })),
  ],
  provider: 'demo',
  model: 'scripted',
  stopReason: calls.length > 0 ? 'tool-calls' : 'stop',
  usage: null,
  ...flags,
});

export const result = (turn: string, callId: string, output: string, flags: Flags = {}): EntryDraft => ({
  kind: 'message',
  role: 'tool',
  turn,
  callId,
  name: 'read_file',
  output,
  isError: false,
  ...flags,
});

export const intent = (turn: string, callId: string): EntryDraft => ({
  kind: 'intent',
  turn,
  callId,
  name: 'read_file',
  class: 'effect',
});

export const turnEnd = (turn: string, answer = '', outcome = 'answered', flags: Flags = {}): EntryDraft => ({
  kind: 'turn-end',
  turn,
  outcome,
  answer,
  target: { channel: 'terminal', chatId: 'local' },
  usage: noUsage,
  costUsd: null,
  model: null,
  iterations: 1,
  ...flags,
});

export const anchor = (summary: string, upTo: string, flags: Flags = {}): EntryDraft => ({
  kind: 'anchor',
  turn: null,
  summary,
  upTo,
  reason: 'size',
  ...flags,
});

export const trim = (cuts: Partial<Pick<EntryOf<'trim'>, 'stubUpTo' | 'imagesUpTo' | 'dropUpTo'>>): EntryDraft => ({
  kind: 'trim',
  turn: null,
  stubUpTo: null,
  imagesUpTo: null,
  dropUpTo: null,
  ...cuts,
});

export const reset = (flags: Flags = {}, turn: string | null = null): EntryDraft => ({
  kind: 'reset',
  turn,
  reason: '/new',
  ...flags,
});
export const retract = (...turns: string[]): EntryDraft => ({ kind: 'retract', turn: null, turns });
export const note = (text: string): EntryDraft => ({ kind: 'note', turn: null, text });

/** A whole turn without tools. */
export const plainTurn = (turn: string, question: string, answer: string): readonly EntryDraft[] => [
  turnStart(turn),
  user(turn, question),
  assistant(turn, answer),
  turnEnd(turn, answer, 'answered', { id: `end-${turn}` }),
];

/** Entries as a tape would have stamped them; ids are `e0`, `e1` … by position. */
export function stamp(drafts: readonly EntryDraft[]): readonly TapeEntry[] {
  return drafts.map((draft, index) => ({ v: 1, id: `e${index}`, at: 1000 + index, ...draft }));
}

export const testClock: Clock = { ...systemClock, now: () => 1_700_000_000_000 };

export function countingIds(): IdFactory {
  let count = 0;
  return () => {
    count += 1;
    return `id-${String(count).padStart(8, '0')}`;
  };
}

/** A log that keeps what it is told. */
export function memoryLog(): Logger & { readonly lines: { message: string; fields: Record<string, unknown> }[] } {
  const lines: { message: string; fields: Record<string, unknown> }[] = [];
  const keep = (message: string, fields: Record<string, unknown> = {}): void => {
    lines.push({ message, fields });
  };
  return { ...silentLog, debug: keep, info: keep, warn: keep, error: keep, lines };
}
