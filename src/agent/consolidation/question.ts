import type { Role } from '../../bus/messages.ts';
import { consolidationQuestion, readSaved } from '../../memory/consolidation/consolidate.ts';
import { copyOf } from '../../memory/consolidation/consolidation-input.ts';
import type { TurnSpan } from '../../memory/consolidation/session-span.ts';
import { deadline, type Clock } from '../../util/clock.ts';
import type { SideCall, SideCalls } from '../side-calls/side-calls.ts';
import { askStructured, type ToolChoices } from '../side-calls/structured.ts';
import type { ChosenModel } from '../turn/turn-ports.ts';

/** A part of a conversation as one question takes it. */
export interface ConsolidationPart {
  readonly turns: readonly TurnSpan[];
  readonly note: string | null;
  /** The weakest of those who speak in it. */
  readonly role: Role;
  /** It is the owner's direct chat, whose facts go into MEMORY.md. */
  readonly own: boolean;
}

export interface ConsolidationQuestionPorts {
  readonly calls: SideCalls;
  readonly choices: ToolChoices;
  readonly clock: Clock;
  /** Aborts when the process stops. */
  readonly signal: AbortSignal;
}

export type ConsolidationReply =
  | { readonly ok: true; readonly entry: string; readonly update: string | null }
  /** `held`: no budget is left, which is nobody's failure. */
  | {
      readonly ok: false;
      readonly held: boolean;
      readonly reason: string;
      /** It has fixed sentences only: asking again changes nothing. @default false */
      readonly scripted?: boolean;
    };

/** A model that is still thinking after this long has failed. */
const LONGEST_QUESTION_MS = 300_000;
const BYTES_PER_TOKEN = 3.6;
/** Of the model's window: what one question takes of the conversation, and what its answer may be. */
const PART_SHARE = 0.4;
const ANSWER_SHARE = 0.25;
const ENTRY_SHARE = 0.1;
const ANSWER_TOKENS = { entry: 2048, least: 4096, most: 16_384 };

/** Tokens of conversation that fit into one question. */
export function partLimit(window: number): number {
  return Math.floor(PART_SHARE * window);
}

/** Tokens of a turn in a question. */
export function copySize(turn: TurnSpan, window: number): number {
  return tokensIn(copyOf(turn, { most: mostPerTurn(window) }));
}

/** Whether a model with this window could write the whole text anew. */
export function fitsAnswer(memory: string, window: number): boolean {
  return neededFor(memory, window) <= longestAnswer(window);
}

/** Asks a model what a part of a conversation leaves behind. Rejects only when the process stops. */
export async function askToConsolidate(
  question: {
    readonly part: ConsolidationPart;
    /** MEMORY.md; null when it is not to be changed. */
    readonly memory: string | null;
    readonly model: ChosenModel;
    readonly window: number;
    readonly call: SideCall;
  },
  { calls, choices, clock, signal }: ConsolidationQuestionPorts,
): Promise<ConsolidationReply> {
  const { part, memory, model, window, call } = question;
  const refused = await calls.refusal(call);
  if (refused !== null) return { ok: false, held: true, reason: refused };
  using limit = deadline(clock, LONGEST_QUESTION_MS, 'asking what to remember');
  const { turns, note } = part;
  const asked = await askStructured(
    {
      ...consolidationQuestion({ memory, turns, note, mostPerTurn: mostPerTurn(window) }),
      model,
      maxOutputTokens: Math.min(longestAnswer(window), Math.max(ANSWER_TOKENS.least, neededFor(memory ?? '', window))),
    },
    { choices, signal: AbortSignal.any([signal, limit.signal]) },
  );
  await calls.count(call, model, asked.usage);
  signal.throwIfAborted();
  if (!asked.ok) return { ok: false, held: false, reason: asked.reason, scripted: asked.scripted === true };
  return { ok: true, ...readSaved(asked.value) };
}

function mostPerTurn(window: number): number {
  return Math.floor(partLimit(window) * BYTES_PER_TOKEN);
}

function longestAnswer(window: number): number {
  return Math.max(1, Math.min(ANSWER_TOKENS.most, Math.floor(ANSWER_SHARE * window)));
}

/** Tokens of an answer that has an entry and a memory that grew by a third. */
function neededFor(memory: string, window: number): number {
  return Math.min(ANSWER_TOKENS.entry, Math.floor(ENTRY_SHARE * window)) + Math.ceil(1.34 * tokensIn(memory));
}

function tokensIn(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN);
}
