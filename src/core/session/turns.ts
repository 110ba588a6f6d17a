import type { AssistantEntry, CallNote, EntryOf, MessageEntry, TapeEntry, ToolEntry, UserEntry } from './entry.ts';

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
  const steps: TurnStep[] = [];
  const modelCalls: Mutable<ModelCall>[] = [];
  const toolCalls = new Map<string, Mutable<ToolCall>>();
  const results: ToolResultStep[] = [];
  let answers = 0;
  const called = (call: Mutable<ModelCall>): void => {
    modelCalls.push(call);
    steps.push(call);
  };
  const said = (entry: MessageEntry): void => {
    const { at } = entry;
    switch (entry.role) {
      case 'user':
        steps.push({ kind: 'message', at, entry });
        return;
      case 'assistant': {
        answers += 1;
        const last = modelCalls.at(-1);
        if (last === undefined || last.answer !== undefined)
          called({ kind: 'model', at, note: undefined, answer: entry });
        else {
          last.at = at;
          last.answer = entry;
        }
        for (const asked of entry.content) {
          if (asked.type !== 'tool-call') continue;
          toolCalls.set(asked.callId, { asked, askedAt: at, intent: undefined, result: undefined });
        }
        return;
      }
      case 'tool': {
        const call = toolCalls.get(entry.callId);
        if (call !== undefined) call.result ??= entry;
        const step = { kind: 'tool', at, entry, call, answers } as const;
        results.push(step);
        steps.push(step);
      }
    }
  };
  for (const entry of entries) {
    switch (entry.kind) {
      case 'turn-start':
        start ??= entry;
        break;
      case 'turn-end':
        end = entry;
        break;
      case 'message':
        said(entry);
        break;
      case 'intent': {
        const call = toolCalls.get(entry.callId);
        if (call !== undefined) call.intent ??= entry;
        break;
      }
      default:
        if (isCallNote(entry)) called({ kind: 'model', at: entry.at, note: entry, answer: undefined });
    }
  }
  const notes = modelCalls.flatMap(({ note }) => note ?? []);
  return { start, end, steps, modelCalls, notes, toolCalls: [...toolCalls.values()], results };
}

/** Whether an entry is the record of a model call. */
export function isCallNote(entry: TapeEntry): entry is CallNote {
  return entry.kind === 'note' && entry.call !== undefined;
}
