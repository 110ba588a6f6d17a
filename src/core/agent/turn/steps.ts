import type { EntryOf, TapeEntry } from '../../session/entry.ts';
import type { ToolCallPart } from '../../providers/provider.ts';
import { completionOf, type Completion, type CompletionFacts } from './completion.ts';
import { endlessLoop } from './loop-guard.ts';
import { choseSilence } from './answer-text.ts';

/** A call of the model that has no result on the tape. */
export interface PendingCall {
  readonly call: ToolCallPart;
  /** Its intent is on the tape, so it may have run already. */
  readonly started: boolean;
  /** For a call that makes calls of its own (`batch`): ids (`<call id>.<n>`) of those whose intent is on the tape. @default none */
  readonly begun?: ReadonlySet<string>;
  /** The output limit cut off the model's message, so the arguments may be incomplete: the call is not run. */
  readonly cutOff: boolean;
}

/** What a turn has to do next; `Completion` is in completion.ts. */
export type Step =
  | { readonly type: 'begin' }
  | { readonly type: 'run-calls'; readonly calls: readonly PendingCall[] }
  | Completion
  | { readonly type: 'ended'; readonly end: EntryOf<'turn-end'> };

/**
 * Decides the next step of a turn from its entries on the tape. There is no other record of a turn's progress, so a new
 * turn and one after a crash are continued by the same code. Pure.
 */
export function nextStep(
  entries: readonly TapeEntry[],
  { maxIterations = Number.POSITIVE_INFINITY, hasReader }: Partial<CompletionFacts> = {},
): Step {
  const end = entries.findLast((entry) => entry.kind === 'turn-end');
  if (end !== undefined) return { type: 'ended', end };
  const last = entries.findLast((entry) => entry.kind === 'message');
  if (last === undefined) return { type: 'begin' };
  const calls = pendingCalls(entries);
  if (calls.length > 0) return { type: 'run-calls', calls };
  if (last.role === 'assistant') return completionOf(entries, { maxIterations, hasReader });
  if (choseSilence(entries)) return { type: 'finish', outcome: 'answered', answer: '' };
  const circles = last.role === 'tool' ? endlessLoop(entries) : null;
  if (circles === null) return { type: 'ask-model' };
  return { type: 'finish', outcome: 'failed', answer: circles, errorKind: 'limit' };
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
    .map((call) => ({
      call,
      started: started.has(call.callId),
      begun: new Set([...started].filter((id) => id.startsWith(`${call.callId}.`))),
      cutOff: assistant.stopReason === 'length',
    }));
}

/** How many answers of the model this turn has. */
export function iterationsOf(entries: readonly TapeEntry[]): number {
  return entries.filter((entry) => entry.kind === 'message' && entry.role === 'assistant').length;
}

/** How many tool calls the model made in this turn; the id of the next one continues this count. */
export function callCount(entries: readonly TapeEntry[]): number {
  let count = 0;
  for (const entry of entries) {
    if (entry.kind === 'message' && entry.role === 'assistant') {
      count += entry.content.filter((part) => part.type === 'tool-call').length;
    }
  }
  return count;
}
