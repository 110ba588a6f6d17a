import { computed, signal } from '@preact/signals';
import type { HistoryItem, RunningTool, RunningTurn, ServerFrame } from '../../core/gateway/http/wire.ts';
import { now } from '../clock.ts';

/** What a running turn showed so far, in order. */
export type Segment =
  | { readonly kind: 'text' | 'reasoning'; readonly text: string }
  | { readonly kind: 'tool'; readonly tool: RunningTool };

/** A running turn as this page follows it. */
export interface LiveTurn {
  readonly session: string;
  readonly turn: string;
  readonly startedAt: number;
  readonly segments: readonly Segment[];
  /** One line about what it does; '': nothing is known. */
  readonly status: string;
}

/** All running turns, by their id. */
export const liveTurns = signal<ReadonlyMap<string, LiveTurn>>(new Map());

/** Their ids; the same set until one begins or ends, so that text that grows draws nothing else anew. */
export const runningTurns = computed<ReadonlySet<string>>(() => {
  const ids = [...liveTurns.value.keys()];
  if (ids.length !== known.size || ids.some((id) => !known.has(id))) known = new Set(ids);
  return known;
});
let known: ReadonlySet<string> = new Set();

type LiveEvent = Extract<ServerFrame, { type: 'live' }>['event'];

const waiting: LiveEvent[] = [];
let isPlanned = false;

/** Takes an event of a turn; what comes quickly is shown together, once for each frame of the screen. */
export function hearLive(event: LiveEvent): void {
  waiting.push(event);
  if (isPlanned) return;
  isPlanned = true;
  // A tab in the background draws no frames.
  if (document.visibilityState === 'hidden') flush();
  else requestAnimationFrame(flush);
}

function flush(): void {
  isPlanned = false;
  const turns = new Map(liveTurns.value);
  for (const event of waiting.splice(0)) {
    const turn = turns.get(event.turnId) ?? begun(event);
    if (event.type !== 'turn-end') turns.set(event.turnId, followed(turn, event));
  }
  liveTurns.value = turns;
}

function begun(event: LiveEvent): LiveTurn {
  return { session: event.sessionKey, turn: event.turnId, startedAt: now(), segments: [], status: '' };
}

/** The turn with what one event adds to it. */
function followed(turn: LiveTurn, event: LiveEvent): LiveTurn {
  switch (event.type) {
    case 'text':
    case 'reasoning':
      return { ...turn, segments: grown(turn.segments, event.type, event.text), status: '' };
    case 'tool-start': {
      const { callId, name, title } = event;
      const tool: RunningTool = { callId, name, title, state: 'running', startedAt: now() };
      return { ...turn, segments: [...turn.segments, { kind: 'tool', tool }], status: '' };
    }
    case 'tool-end':
      return { ...turn, segments: turn.segments.map((segment) => ended(segment, event)) };
    case 'status':
      return { ...turn, status: event.text };
    default:
      return turn;
  }
}

/** The text of one model call replaces itself until a tool is called. */
function grown(segments: readonly Segment[], kind: 'text' | 'reasoning', text: string): readonly Segment[] {
  const since = segments.findLastIndex((segment) => segment.kind === 'tool') + 1;
  const at = segments.findIndex((segment, index) => index >= since && segment.kind === kind);
  return at === -1 ? [...segments, { kind, text }] : segments.with(at, { kind, text });
}

function ended(segment: Segment, event: Extract<LiveEvent, { type: 'tool-end' }>): Segment {
  if (segment.kind !== 'tool' || segment.tool.callId !== event.callId) return segment;
  const problem = event.refused ?? event.problem;
  return {
    kind: 'tool',
    tool: {
      ...segment.tool,
      title: event.title,
      state: event.isError || event.refused !== undefined ? 'failed' : 'done',
      durationMs: now() - segment.tool.startedAt,
      ...(event.diff === undefined ? {} : { diff: event.diff }),
      ...(problem === undefined ? {} : { problem }),
    },
  };
}

/** Takes the snapshot of all running turns in place of what was known. */
export function takeSnapshot(turns: readonly RunningTurn[]): void {
  waiting.length = 0;
  const before = liveTurns.peek();
  liveTurns.value = new Map(turns.map((turn) => [turn.turn, continued(fromSnapshot(turn), before.get(turn.turn))]));
}

/** A turn that another process continues has said nothing there yet: what it had said stays until it does. */
function continued(turn: LiveTurn, before: LiveTurn | undefined): LiveTurn {
  if (before === undefined || turn.segments.length > 0) return turn;
  const segments = before.segments.filter((segment) => segment.kind !== 'tool' || segment.tool.state !== 'running');
  return { ...turn, segments };
}

function fromSnapshot({ session, turn, startedAt, text, reasoning, tools, status }: RunningTurn): LiveTurn {
  const segments: Segment[] = tools.map((tool) => ({ kind: 'tool', tool }));
  if (reasoning !== '') segments.push({ kind: 'reasoning', text: reasoning });
  if (text !== '') segments.push({ kind: 'text', text });
  return { session, turn, startedAt, segments, status };
}

/** Forgets a turn that has ended, when what it left is shown from its history. */
export function dropTurn(turn: string): void {
  // What waits for the next frame would bring it back.
  const others = waiting.splice(0).filter(({ turnId }) => turnId !== turn);
  waiting.push(...others);
  const turns = new Map(liveTurns.value);
  if (turns.delete(turn)) liveTurns.value = turns;
}

/** What of a running turn is not in the history yet. */
export function withoutHistory(segments: readonly Segment[], items: readonly HistoryItem[]): readonly Segment[] {
  const finished = new Set(items.filter(({ kind }) => kind === 'result').map(({ callId }) => callId));
  const shown = segments.findLastIndex((segment) => segment.kind === 'tool' && finished.has(segment.tool.callId));
  const texts = new Set(items.filter(({ kind }) => kind === 'assistant').map(({ text }) => text.trim()));
  return segments
    .filter((segment, at) => (segment.kind === 'tool' ? !finished.has(segment.tool.callId) : at > shown))
    .filter((segment) => segment.kind !== 'text' || !texts.has(segment.text.trim()));
}
