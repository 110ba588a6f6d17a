import type { AssistantEntry, CallNote, EntryOf, TapeEntry, ToolEntry, UserEntry } from './entry.ts';

/** A turn as its tape has it. */
export interface TapeTurn {
  /** Undefined: the entries do not reach back to it. */
  readonly start: EntryOf<'turn-start'> | undefined;
  /** Undefined: it is running, or was cut off. */
  readonly end: EntryOf<'turn-end'> | undefined;
  /** What happened, in order. */
  readonly steps: readonly TurnStep[];
  readonly modelCalls: readonly ModelCall[];
  /** The records of the model calls. */
  readonly notes: readonly CallNote[];
  /** The calls that the model asked for, in its order. */
  readonly toolCalls: readonly ToolCall[];
  /** The results of tools, in the order in which they came. */
  readonly results: readonly ToolResultStep[];
}

export type TurnStep = MessageStep | ModelCall | ToolResultStep;

/** A message of a person, or a note of the program to the model. */
interface MessageStep {
  readonly kind: 'message';
  /** When it was over, milliseconds since 1970. */
  readonly at: number;
  readonly entry: UserEntry;
}

export interface ModelCall {
  readonly kind: 'model';
  readonly at: number;
  /** The record of the call; undefined: the tape has none. */
  readonly note: CallNote | undefined;
  /** What the model said; undefined: the call failed, or was stopped. */
  readonly answer: AssistantEntry | undefined;
}

export interface ToolResultStep {
  readonly kind: 'tool';
  readonly at: number;
  readonly entry: ToolEntry;
  /** Undefined: no answer of the model asked for it. */
  readonly call: ToolCall | undefined;
  /** How many answers of the model came before it: the last of them asked for the call. */
  readonly answers: number;
}

export interface ToolCall {
  readonly asked: Extract<AssistantEntry['content'][number], { type: 'tool-call' }>;
  /** When the model asked for it, milliseconds since 1970. */
  readonly askedAt: number;
  /** Undefined: nothing shows that a call with effects began. */
  readonly intent: EntryOf<'intent'> | undefined;
  /** Undefined: it has not ended, or was cut off. */
  readonly result: ToolEntry | undefined;
}

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };

/** Folds the entries of one turn, oldest first; entries of no turn may be among them. */
export function turnOf(entries: readonly TapeEntry[]): TapeTurn {
  let start: TapeTurn['start'];
  let end: TapeTurn['end'];
  let answers = 0;
  /** The newest model call, until it has its answer. */
  let open: Mutable<ModelCall> | undefined;
  const steps: TurnStep[] = [];
  const toolCalls = new Map<string, Mutable<ToolCall>>();
  for (const entry of entries) {
    const { at } = entry;
    if (entry.kind === 'turn-start') start ??= entry;
    else if (entry.kind === 'turn-end') end = entry;
    else if (isCallNote(entry)) {
      open = { kind: 'model', at, note: entry, answer: undefined };
      steps.push(open);
    } else if (entry.kind === 'intent') {
      const call = toolCalls.get(entry.callId);
      if (call !== undefined) call.intent ??= entry;
    } else if (entry.kind !== 'message') continue;
    else if (entry.role === 'user') steps.push({ kind: 'message', at, entry });
    else if (entry.role === 'tool') {
      const call = toolCalls.get(entry.callId);
      if (call !== undefined) call.result ??= entry;
      steps.push({ kind: 'tool', at, entry, call, answers });
    } else {
      answers += 1;
      if (open === undefined) steps.push({ kind: 'model', at, note: undefined, answer: entry });
      else Object.assign(open, { at, answer: entry } satisfies Partial<ModelCall>);
      open = undefined;
      for (const asked of entry.content) {
        if (asked.type !== 'tool-call') continue;
        toolCalls.set(asked.callId, { asked, askedAt: at, intent: undefined, result: undefined });
      }
    }
  }
  return {
    start,
    end,
    steps,
    modelCalls: steps.filter((step) => step.kind === 'model'),
    notes: steps.flatMap((step) => (step.kind === 'model' ? (step.note ?? []) : [])),
    toolCalls: [...toolCalls.values()],
    results: steps.filter((step) => step.kind === 'tool'),
  };
}

/** Whether an entry is the record of a model call. */
export function isCallNote(entry: TapeEntry): entry is CallNote {
  return entry.kind === 'note' && entry.call !== undefined;
}
