import { computed, signal } from '@preact/signals';
import { followed, type LiveTurn } from '../../core/bus/live-turn.ts';
import type { LiveEvent } from '../../core/gateway/http/wire.ts';
import { now } from '../clock.ts';

/** All running turns, by their id. */
export const liveTurns = signal<ReadonlyMap<string, LiveTurn>>(new Map());

/** Since when each running turn shows itself, by its id; the same map until one begins or ends, so that text that grows draws nothing else anew. */
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
    if (event.type === 'turn-end') turns.delete(event.turnId);
    else turns.set(event.turnId, followed(turns.get(event.turnId), event, now()));
  }
  liveTurns.value = turns;
}

/** Takes the snapshot of all running turns in place of what was known. */
export function takeSnapshot(turns: readonly LiveTurn[]): void {
  waiting.length = 0;
  const before = liveTurns.peek();
  liveTurns.value = new Map(turns.map((turn) => [turn.turn, continued(turn, before.get(turn.turn))]));
}

/**
 * A turn that another process continues has said nothing there yet. The text that it was in the middle of is in no history,
 * so it stays until the turn goes on.
 */
function continued(turn: LiveTurn, before: LiveTurn | undefined): LiveTurn {
  if (before === undefined || turn.segments.length > 0) return turn;
  const { segments } = before;
  return { ...turn, segments: segments.slice(segments.findLastIndex(({ kind }) => kind === 'tool') + 1) };
}
