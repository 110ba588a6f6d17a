import type { Hit } from './home-faults.ts';
import type { Change } from './home-history.ts';
import type { PlatformCall } from './home-platforms.ts';
import type { Asked } from './home-talk.ts';

/** The middle one and the longest of some times, ms. */
export type Spread = readonly [number, number];

export interface TakeoverTimes {
  /** How often a home was claimed from a gateway that had not given it back. */
  readonly takeovers: number;
  /** How often it was given back and claimed by another one. */
  readonly handovers: number;
  /** From the lease's end to the claim. */
  readonly claimedMs: Spread;
  /**
   * From the lease's end, or the first message after it that waits for an answer, to the first message of the next owner. An owner that
   * is hit itself before does not count.
   */
  readonly servedMs: Spread;
}

interface HomeFacts {
  /** Of one home, oldest first. */
  readonly changes: readonly Change[];
  readonly sends: readonly PlatformCall[];
  readonly asked: readonly Asked[];
}

/** How long the takeovers of homes took. */
export function timesOf(homes: readonly HomeFacts[], hits: readonly Hit[]): TakeoverTimes {
  const taken = homes.flatMap((facts) => facts.changes.flatMap((_, n) => takeoverAt(n, facts, hits)));
  return {
    takeovers: taken.length,
    handovers: homes.reduce((sum, { changes }) => sum + handovers(changes), 0),
    claimedMs: spread(taken.map(({ claimedMs }) => claimedMs)),
    servedMs: spread(taken.flatMap(({ servedMs }) => servedMs ?? [])),
  };
}

function takeoverAt(
  n: number,
  { changes, sends, asked }: HomeFacts,
  hits: readonly Hit[],
): readonly { readonly claimedMs: number; readonly servedMs: number | undefined }[] {
  const [before, claim, next] = [changes[n - 1], changes[n], changes[n + 1]];
  if (before?.kind !== 'claimed' || claim?.kind !== 'claimed' || before.by === claim.by) return [];
  const { by, at, leaseEnd } = claim;
  const messages = sends.filter(({ isMessage }) => isMessage);
  const last = messages.findLast((one) => one.at < at)?.at ?? 0;
  const first = messages.find((one) => one.at > at && one.from === by);
  const waits = asked.find((one) => one.at > last)?.at ?? at;
  const until = Math.min(first?.at ?? Infinity, next?.at ?? Infinity);
  const isHit = hits.some((hit) => hit.gateway === by && hit.at < until && hit.at > leaseEnd);
  const isServed = first !== undefined && first.at === until && !isHit;
  return [{ claimedMs: at - leaseEnd, servedMs: isServed ? first.at - Math.max(leaseEnd, waits) : undefined }];
}

function handovers(changes: readonly Change[]): number {
  return changes.filter(({ kind, by }, n) => kind === 'claimed' && isGivenBackBy(changes[n - 1], by)).length;
}

const isGivenBackBy = (before: Change | undefined, next: string): boolean =>
  before?.kind === 'released' && before.by !== next;

function spread(times: readonly number[]): Spread {
  const sorted = times.map((ms) => Math.max(0, Math.round(ms))).toSorted((a, b) => a - b);
  return [sorted[Math.floor(sorted.length / 2)] ?? 0, sorted.at(-1) ?? 0];
}
