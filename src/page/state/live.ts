import { computed, signal } from '@preact/signals';
import { followed, type LiveTurn } from '../../core/bus/live-turn.ts';
import type { LiveEvent } from '../../core/gateway/http/wire.ts';
import { now } from '../clock.ts';

/** All running turns, by their id. */
export const liveTurns = signal<ReadonlyMap<string, LiveTurn>>(new Map());

/**
 * The `since` of each running turn, by its id. The map stays the same until a turn begins or ends, so that growing text
 * draws nothing else anew.
 */
export const runningTurns = computed<ReadonlyMap<string, number>>(() => {
  const turns = [...liveTurns.value.values()];
  if (turns.length !== known.size || turns.some(({ turn, since }) => known.get(turn) !== since)) {
    known = new Map(turns.map(({ turn, since }) => [turn, since]));
  }
  return known;
});
let known: ReadonlyMap<string, number> = new Map();

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
    const { turnId } = event;
    if (event.type === 'turn-end') turns.delete(turnId);
    else turns.set(turnId, followed(takeContinued(event) ?? turns.get(turnId), event, now()));
  }
  liveTurns.value = turns;
}

/**
 * Turns that another process continues and that have said nothing there yet. Until they do, they show what they showed
 * before: the text that they were in the middle of is in no history.
 */
const continued = new Map<string, LiveTurn>();

/** Takes the snapshot of all running turns in place of what was known. */
export function takeSnapshot(turns: readonly LiveTurn[]): void {
  waiting.length = 0;
  continued.clear();
  const before = liveTurns.peek();
  liveTurns.value = new Map(turns.map((turn) => [turn.turn, keepShown(turn, before.get(turn.turn))]));
}

function keepShown(turn: LiveTurn, before: LiveTurn | undefined): LiveTurn {
  if (before === undefined || turn.segments.length > 0) return turn;
  continued.set(turn.turn, turn);
  const segments = before.segments.filter((segment) => segment.kind !== 'tool' || segment.tool.state !== 'running');
  return { ...before, segments, status: turn.status };
}

/** A continued turn, from the event on by which it goes on: its history then has what it showed before. */
function takeContinued({ turnId, type }: LiveEvent): LiveTurn | undefined {
  if (type === 'typing' || type === 'status') return undefined;
  const turn = continued.get(turnId);
  continued.delete(turnId);
  return turn;
}
