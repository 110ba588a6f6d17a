import type { ModelRequest, ToolSpec } from '../../core/api-providers.ts';
import {
  systemClock,
  type CallRecord,
  type EntryDraft,
  type StoredImage,
  type TraceFile,
  type TurnPlan,
} from '../../core/api-replay.ts';
import {
  turnOf,
  type AssistantEntry,
  type EntryOf,
  type TapeEntry,
  type TapeTurn,
  type ToolEntry,
} from '../../core/api-tapes.ts';
import { AppError, z, type Clock } from '../../core/api.ts';

/** A model call of a recorded turn. */
export interface RecordedStep {
  /** Id of its note on the tape. */
  readonly note: string;
  readonly call: CallRecord;
  /** What the model said; undefined: it failed, or was stopped. */
  readonly answer: AssistantEntry | undefined;
  /** Ids of messages that joined before it. */
  readonly joined: readonly string[];
  /** What was written beside the turn before it: a trim, a summary, an undo. */
  readonly meanwhile: readonly TapeEntry[];
}

/** A recorded turn, taken apart for running it again. */
export interface RecordedTurn {
  readonly history: readonly TapeEntry[];
  readonly entries: readonly TapeEntry[];
  readonly start: EntryOf<'turn-start'>;
  readonly steps: readonly RecordedStep[];
  readonly results: readonly ToolEntry[];
}

const toolList = z.array(
  z.object({ name: z.string(), description: z.string(), parameters: z.record(z.string(), z.unknown()) }),
);
const reasonings = z.enum(['off', 'low', 'medium', 'high']);

/** Takes the turn of a trace apart. Throws an error of one sentence when the trace does not hold its beginning. */
export function recordedTurn({ head, lines }: TraceFile): RecordedTurn {
  const all = lines.flatMap((line) => (line.kind === 'entry' ? [line.entry] : []));
  const from = all.findIndex(({ turn }) => turn === head.turn);
  const after = from === -1 ? [] : all.slice(from);
  const entries = after.filter(({ turn }) => turn === head.turn);
  const turn = turnOf(entries);
  const { start } = turn;
  if (start === undefined) {
    throw new AppError('trace-incomplete', `The trace does not hold the beginning of the turn ${head.turn}.`);
  }
  return {
    history: all.slice(0, from === -1 ? all.length : from).filter(({ kind }) => kind !== 'session'),
    entries,
    start,
    steps: stepsOf(turn, after, new Set(start.sources)),
    results: resultsOf(turn),
  };
}

/**
 * The results of tools. Older traces don't say which of them silenced the turn: it is the last message of a turn that was
 * answered.
 */
function resultsOf({ steps, results, end }: TapeTurn): readonly ToolEntry[] {
  const last = steps.findLast((step) => step.kind !== 'model' || step.answer !== undefined);
  return results.map((step) =>
    step === last && end?.outcome === 'answered' ? { ...step.entry, silences: true } : step.entry,
  );
}

/** `after`: all entries from the beginning of the turn on. */
function stepsOf(turn: TapeTurn, after: readonly TapeEntry[], first: ReadonlySet<string>): readonly RecordedStep[] {
  const places = new Map(after.map(({ id }, place) => [id, place]));
  const isBefore = ({ id }: TapeEntry, last: string): boolean => (places.get(id) ?? 0) <= (places.get(last) ?? -1);
  let joined: string[] = [];
  let meanwhile = after.filter((entry) => entry.turn !== turn.start?.turn);
  return turn.steps.flatMap((step): readonly RecordedStep[] => {
    if (step.kind === 'message') joined.push(...step.entry.sources.filter((id) => !first.has(id)));
    if (step.kind !== 'model' || step.note === undefined) return [];
    const { id: note, call } = step.note;
    // What came while the model was asked, as a summary may, was not in its request.
    const seen = meanwhile.filter((one) => isBefore(one, call.after));
    const recorded = { note, call, answer: step.answer, joined, meanwhile: seen };
    joined = [];
    meanwhile = meanwhile.filter((one) => !seen.includes(one));
    return [recorded];
  });
}

/** The parts of a trace by their hashes. */
interface TraceParts {
  readonly layers: (call: CallRecord) => readonly string[];
  readonly tools: (call: CallRecord) => readonly ToolSpec[];
  readonly images: (hash: string) => StoredImage | undefined;
}

export function partsOfTrace({ lines }: TraceFile): TraceParts {
  const parts = new Map(lines.flatMap((line) => (line.kind === 'part' ? [[line.hash, line.text]] : [])));
  const images = new Map(lines.flatMap((line) => (line.kind === 'image' ? [[line.hash, line.data]] : [])));
  return {
    layers: (call) => call.layers.flatMap((hash) => parts.get(hash) ?? []),
    tools: (call) => toolList.safeParse(JSON.parse(parts.get(call.tools) ?? '[]')).data ?? [],
    images: (hash) => {
      const data = images.get(hash);
      return data === undefined ? undefined : { size: Buffer.byteLength(data, 'base64'), read: async () => data };
    },
  };
}

export function reasoningOf(call: CallRecord | undefined): NonNullable<ModelRequest['reasoning']> {
  return reasonings.safeParse(call?.attempts[0]?.reasoning).data ?? 'off';
}

/** The plan of the recorded turn without its model and without the answers to its calls. */
export function planOf(
  trace: TraceFile,
  turn: RecordedTurn,
  asked: () => RecordedStep | undefined,
): Omit<TurnPlan, 'chosen' | 'inPlaceOf'> {
  const { head } = trace;
  const parts = partsOfTrace(trace);
  const { start, steps, entries, history } = turn;
  const first = steps[0]?.call;
  const given = { joined: new Set<RecordedStep>(), meanwhile: new Set<RecordedStep>() };
  const once = (set: Set<RecordedStep>): RecordedStep | undefined => {
    const step = asked();
    if (step === undefined || set.has(step)) return undefined;
    set.add(step);
    return step;
  };
  const effects = entries.flatMap((entry) => (entry.kind === 'intent' ? [entry.name] : []));
  return {
    turn: head.turn,
    sessionKey: head.session,
    history,
    role: start.role,
    sources: start.sources,
    system: first === undefined ? [] : parts.layers(first),
    tools: first === undefined ? [] : parts.tools(first),
    effects: new Set(effects),
    images: parts.images,
    reasoning: reasoningOf(first),
    temperature: first?.temperature ?? null,
    maxIterations: mostCalls(steps),
    clock: clockAt(head.startedAt),
    joining: () => once(given.joined)?.joined ?? [],
    meanwhile: () => once(given.meanwhile)?.meanwhile ?? [],
    maxOutputTokens: () => (asked() ?? steps.at(-1))?.call.maxOutputTokens ?? 1,
  };
}

/** The recorded message of a person in place of the one that the turn makes. */
export function recordedMessage(draft: EntryDraft, { entries }: RecordedTurn): EntryDraft {
  if (draft.kind === 'turn-start') return entries.find(({ kind }) => kind === 'turn-start') ?? draft;
  if (draft.kind !== 'message' || draft.role !== 'user' || draft.sources.length === 0) return draft;
  const recorded = entries.find(
    (entry) => entry.kind === 'message' && entry.role === 'user' && entry.sources[0] === draft.sources[0],
  );
  return recorded ?? draft;
}

/** The cap of the recorded turn, as its last call without tools shows it; else far away. */
function mostCalls(steps: readonly RecordedStep[]): number {
  const last = steps.findIndex(({ call }) => call.toolChoice === 'none');
  if (last === -1) return 10_000;
  return steps.slice(0, last).filter(({ answer }) => answer !== undefined).length + 1;
}

/** A clock that stands at the beginning of the turn; timers run as usual. */
function clockAt(startedAt: number): Clock {
  return { ...systemClock, now: () => startedAt };
}
