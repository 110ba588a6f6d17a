import type { RawEvent } from './backfill-ports.ts';

/** How long live events wait for missed ones whose history cannot be fetched. */
export const PATIENCE_MS = 15_000;

export interface WaitingEvent<Data> {
  readonly event: RawEvent<Data>;
  readonly written: PromiseWithResolvers<void>;
}

/** The queue of one place. */
export interface Lane<Data> {
  waiting: WaitingEvent<Data>[];
  working: Promise<void> | undefined;
  failures: number;
  /** When fetching the history first failed, by `Clock.monotonic`; undefined: it did not. */
  behindSince: number | undefined;
  /** No request of the history before this time, by `Clock.monotonic`. */
  notBefore: number;
}

export function emptyLane<Data>(): Lane<Data> {
  return { waiting: [], working: undefined, failures: 0, behindSince: undefined, notBefore: 0 };
}

/** Missed events come first, but live ones wait for them at most `PATIENCE_MS`. Undefined: nothing can be done now. */
export function nextStep(
  lane: Lane<unknown>,
  { now, hasGap, isDown }: { readonly now: number; readonly hasGap: boolean; readonly isDown: boolean },
): 'fill' | 'write' | undefined {
  if (hasGap && !isDown && lane.notBefore <= now) return 'fill';
  if (lane.waiting.length === 0) return undefined;
  const isPatient = hasGap && now - (lane.behindSince ?? -Infinity) < PATIENCE_MS;
  return isPatient ? undefined : 'write';
}
