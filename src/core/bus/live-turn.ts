import type { OutboundEvent } from './messages.ts';

/** A tool call of a running turn. */
export interface LiveTool {
  readonly callId: string;
  readonly name: string;
  readonly title: string;
  readonly state: 'running' | 'done' | 'failed';
  readonly startedAt: number;
  /** Set when the call has ended. */
  readonly durationMs?: number;
  readonly diff?: string;
  /** Why the call failed or was refused. */
  readonly problem?: string;
}

/** One thing that a running turn has shown. */
export type LiveSegment =
  | { readonly kind: 'text' | 'reasoning'; readonly text: string }
  | { readonly kind: 'tool'; readonly tool: LiveTool };

/** A running turn, as far as its live events tell. */
export interface LiveTurn {
  readonly session: string;
  readonly turn: string;
  readonly startedAt: number;
  /** An earlier process began the turn: what it did before this time is in its history only. 0: `segments` has everything. */
  readonly since: number;
  /** Oldest first. */
  readonly segments: readonly LiveSegment[];
  /** One line about what the turn is doing; '' when nothing is known. */
  readonly status: string;
}

/** A turn that has shown nothing yet. */
export function startedTurn(turn: Pick<LiveTurn, 'session' | 'turn'>, now: number): LiveTurn {
  const { session, turn: id } = turn;
  return { session, turn: id, startedAt: now, since: 0, segments: [], status: '' };
}

/**
 * Returns the turn with one more of its live events; `before` is undefined for the first one. `now` is on any clock that
 * only moves forward, in milliseconds. Runs in browsers, too.
 */
export function followed(before: LiveTurn | undefined, event: OutboundEvent, now: number): LiveTurn {
  const turn = before ?? startedTurn({ session: event.sessionKey, turn: event.turnId }, now);
  switch (event.type) {
    case 'text':
    case 'reasoning':
      return { ...turn, segments: grown(turn.segments, event.type, event.text), status: '' };
    case 'tool-start': {
      const { callId, name, title } = event;
      const tool: LiveTool = { callId, name, title, state: 'running', startedAt: now };
      return { ...turn, segments: withTool(turn.segments, tool), status: '' };
    }
    case 'tool-end':
      return { ...turn, segments: withTool(turn.segments, endedTool(toolOf(turn, event.callId), event, now)) };
    case 'status':
      return { ...turn, status: event.text };
    case 'typing':
    case 'turn-end':
      return turn;
  }
}

/** The tool calls of a turn, in the order in which they began. */
export function toolsOf({ segments }: Pick<LiveTurn, 'segments'>): readonly LiveTool[] {
  return segments.flatMap((segment) => (segment.kind === 'tool' ? [segment.tool] : []));
}

function toolOf(turn: LiveTurn, callId: string): LiveTool | undefined {
  return toolsOf(turn).find((tool) => tool.callId === callId);
}

/** The text of a model call replaces its beginning; after a tool call, a new text begins. */
function grown(segments: readonly LiveSegment[], kind: 'text' | 'reasoning', text: string): readonly LiveSegment[] {
  const since = segments.findLastIndex((segment) => segment.kind === 'tool') + 1;
  const at = segments.findIndex((segment, index) => index >= since && segment.kind === kind);
  return at === -1 ? [...segments, { kind, text }] : segments.with(at, { kind, text });
}

function withTool(segments: readonly LiveSegment[], tool: LiveTool): readonly LiveSegment[] {
  const at = segments.findIndex((segment) => segment.kind === 'tool' && segment.tool.callId === tool.callId);
  return at === -1 ? [...segments, { kind: 'tool', tool }] : segments.with(at, { kind: 'tool', tool });
}

function endedTool(
  before: LiveTool | undefined,
  { callId, name, title, isError, refused, problem = refused, diff }: Extract<OutboundEvent, { type: 'tool-end' }>,
  now: number,
): LiveTool {
  const startedAt = before?.startedAt ?? now;
  return {
    callId,
    name,
    title,
    state: isError ? 'failed' : 'done',
    startedAt,
    durationMs: now - startedAt,
    ...(diff === undefined ? {} : { diff }),
    ...(problem === undefined ? {} : { problem }),
  };
}
