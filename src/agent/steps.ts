import type { EntryOf, TapeEntry } from '../session/entry.ts';
import type { ToolCallPart } from '../providers/provider.ts';

/** A call of the model that has no result on the tape. */
export interface PendingCall {
  readonly call: ToolCallPart;
  /** Its intent is on the tape: it may have run already. */
  readonly started: boolean;
}

/** What a turn has to do next. */
export type Step =
  | { readonly type: 'begin' }
  | { readonly type: 'run-calls'; readonly calls: readonly PendingCall[] }
  | { readonly type: 'ask-model' }
  | { readonly type: 'finish' }
  | { readonly type: 'ended'; readonly end: EntryOf<'turn-end'> };

/**
 * Reads from a turn's own entries what comes next. A fresh turn, a turn in the middle and a turn cut off by a crash
 * are all continued from here; there is no other memory of a turn's progress.
 */
export function nextStep(entries: readonly TapeEntry[]): Step {
  const end = entries.findLast((entry) => entry.kind === 'turn-end');
  if (end !== undefined) return { type: 'ended', end };
  const last = entries.findLast((entry) => entry.kind === 'message');
  if (last === undefined) return { type: 'begin' };
  const calls = pendingCalls(entries);
  if (calls.length > 0) return { type: 'run-calls', calls };
  return last.role === 'assistant' ? { type: 'finish' } : { type: 'ask-model' };
}

/** The calls of the newest assistant message that have no result yet, in call order. */
export function pendingCalls(entries: readonly TapeEntry[]): readonly PendingCall[] {
  const at = entries.findLastIndex((entry) => entry.kind === 'message' && entry.role === 'assistant');
  const assistant = entries[at];
  if (assistant?.kind !== 'message' || assistant.role !== 'assistant') return [];
  const answered = new Set<string>();
  const started = new Set<string>();
  for (const entry of entries.slice(at + 1)) {
    if (entry.kind === 'message' && entry.role === 'tool') answered.add(entry.callId);
    if (entry.kind === 'intent') started.add(entry.callId);
  }
  return assistant.content
    .filter((part) => part.type === 'tool-call')
    .filter((call) => !answered.has(call.callId))
    .map((call) => ({ call, started: started.has(call.callId) }));
}

/** How often the model was asked in this turn. */
export function iterationsOf(entries: readonly TapeEntry[]): number {
  return entries.filter((entry) => entry.kind === 'message' && entry.role === 'assistant').length;
}

/** How many calls the model made in this turn; the next call id counts on from here. */
export function callCount(entries: readonly TapeEntry[]): number {
  let count = 0;
  for (const entry of entries) {
    if (entry.kind === 'message' && entry.role === 'assistant') {
      count += entry.content.filter((part) => part.type === 'tool-call').length;
    }
  }
  return count;
}

/** Texts between tool calls that are long enough to be worth sending by themselves. */
const PART_MIN = 300;

/** What the turn says: the last non-empty text is the answer, earlier long ones go before it. */
export function textsOf(entries: readonly TapeEntry[]): { readonly parts: readonly string[]; readonly answer: string } {
  const texts: string[] = [];
  for (const entry of entries) {
    if (entry.kind !== 'message' || entry.role !== 'assistant') continue;
    const text = entry.content
      .filter((part) => part.type === 'text')
      .map((part) => part.text)
      .join('')
      .trim();
    if (text !== '') texts.push(text);
  }
  const answer = texts.at(-1) ?? '';
  const seen = new Set([sameText(answer)]);
  const parts = texts.slice(0, -1).filter((text) => {
    if (text.length <= PART_MIN || seen.has(sameText(text))) return false;
    seen.add(sameText(text));
    return true;
  });
  return { parts, answer };
}

function sameText(text: string): string {
  return text.replace(/\s+/gu, ' ').trim();
}
