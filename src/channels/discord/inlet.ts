import type { InboundDraft } from '../../bus/messages.ts';
import { backoffMs } from '../../util/backoff.ts';
import { sleep, type Clock } from '../../util/clock.ts';
import { errorMessage } from '../../util/errors.ts';
import type { Logger } from '../../util/log.ts';
import type { Random } from '../../util/random.ts';
import { Slots } from '../../util/slots.ts';
import type { ChannelContext, ReadUpTo } from '../channel.ts';
import { untilWritten } from '../until-written.ts';
import { callFailure, isRefused } from './errors.ts';
import type { DiscordPlace } from './payload.ts';
import { before, compareIds, idAt, isNewer, timeOf } from './snowflake.ts';

const PAGE = 100;
/** How far back is looked after a long time away. */
const OLDEST_MS = 7 * 86_400_000;
/** Messages of one place that wait to be written down; what comes then is fetched later. */
const MOST_WAITING = 500;
const RETRY = { firstMs: 1_000, maxMs: 30_000 };
/** So long what comes live waits for what was missed; an answer could hardly be sent then either. */
const PATIENCE_MS = 15_000;
const KEEP_EVERY_MS = 60_000;
/** Histories that are fetched at once, and for how long each counts at least: Discord takes 50 calls a second in all. */
const AT_ONCE = 4;
const PACE_MS = 125;
/** So many are fetched without a pause. */
const BURST = 25;
/** Places whose mark is remembered. */
const MOST_PLACES = 5_000;
/** After a resumed connection, which repeats what was missed, only the liveliest places are looked at. */
const LIVELY = { count: 50, withinMs: 86_400_000 };

/** Something that Discord told of one place. */
export interface Told {
  readonly type: 'message' | 'edit';
  /** Of the message. */
  readonly id: string;
  /** As it came. */
  readonly data: unknown;
  /** Fetched from the history. */
  readonly isLate: boolean;
}

export interface InletPorts {
  /** Up to 100 messages of a place newer than `after`. */
  readonly history: (place: string, after: string) => Promise<readonly { readonly id: string }[]>;
  /** What is to be answered of this, once for each; rejects before it has read any. */
  readonly read: (place: string, told: readonly Told[]) => Promise<readonly InboundDraft[]>;
  readonly accept: ChannelContext['accept'];
  /** Undefined: all is well. */
  readonly report: (trouble: string | undefined) => void;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

/** What is at work in one place. */
interface Lane {
  waiting: Told[];
  isWorking: boolean;
  failures: number;
  /** When fetching what was missed failed first; undefined: it did not. */
  behindSince: number | undefined;
  /** No look into the history before; by `Clock.now`. */
  notBefore: number;
}

/**
 * Everything that is heard, place by place and in order. Discord is never told what was received, so how far each place
 * was read is kept with the messages. On every connection a place has a gap until its history was fetched from there on,
 * and as long as it has one, what comes live does not move that mark: nothing is left out behind it.
 */
export class Inlet implements AsyncDisposable {
  readonly #ports: InletPorts;
  readonly #signal: AbortSignal;
  readonly #readTo: Map<string, string>;
  /** Places whose mark moved since it was written down. */
  readonly #moved = new Set<string>();
  readonly #gaps = new Set<string>();
  readonly #lanes = new Map<string, Lane>();
  readonly #slots = new Slots(AT_ONCE);
  /** Younger places were made while nobody was connected. */
  readonly #lastKnown: string | undefined;
  #timer: Disposable;

  constructor(cursors: ReadonlyMap<string, string>, ports: InletPorts, signal: AbortSignal) {
    this.#ports = ports;
    this.#signal = signal;
    this.#readTo = new Map(cursors);
    this.#lastKnown = [...cursors.values()].toSorted(compareIds).at(-1);
    this.#timer = this.#keepLater();
  }

  /** Messages may have been missed everywhere. */
  connected(): void {
    for (const place of this.#readTo.keys()) this.#gaps.add(place);
  }

  /** The platform repeats what was missed; what it may have left out is looked for where people talk. */
  resumed(): void {
    const since = this.#ports.clock.now() - LIVELY.withinMs;
    const lively = [...this.#readTo]
      .filter(([, last]) => timeOf(last) >= since)
      .toSorted(([, a], [, b]) => compareIds(b, a));
    for (const [place] of lively.slice(0, LIVELY.count)) this.#look(place);
  }

  /** The platform says what the newest message of a place is. */
  latest({ id: place, last_message_id: last }: Pick<DiscordPlace, 'id' | 'last_message_id'>): void {
    const known = this.#readTo.get(place);
    if (known !== undefined) {
      if (typeof last === 'string' && !isNewer(last, known)) this.#gaps.delete(place);
      else this.#look(place);
      return;
    }
    if (last === undefined) return;
    // The messages of a place are younger than the place itself.
    const isNew = this.#lastKnown !== undefined && isNewer(place, this.#lastKnown);
    this.#move(place, isNew || last === null ? place : last);
    if (isNew && last !== null) this.#look(place);
  }

  /** Whatever still has a gap is looked at. */
  closeGaps(): void {
    // What was read last is at the end, and waits least.
    for (const place of [...this.#gaps].toReversed()) this.#wake(place);
  }

  /** Something came over the live connection. */
  hear(place: string, told: Told): void {
    // Without a mark there would be nothing to fetch from if it can not be written down.
    if (told.type === 'message' && !this.#readTo.has(place)) this.#move(place, before(told.id));
    const lane = this.#laneOf(place);
    if (lane.waiting.length < MOST_WAITING) lane.waiting.push(told);
    else this.#gaps.add(place);
    this.#wake(place);
  }

  /** Writes down how far everything was read. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#timer[Symbol.dispose]();
    await this.#keep();
  }

  /** Never rejects. */
  async #keep(): Promise<void> {
    const cursors: ReadUpTo[] = [...this.#moved].map((place) => ({ place, last: this.#readTo.get(place) ?? '0' }));
    this.#moved.clear();
    try {
      if (cursors.length > 0) await this.#ports.accept([], cursors);
    } catch (error) {
      for (const { place } of cursors) this.#moved.add(place);
      this.#ports.log.debug('how far Discord was read could not be written down', { reason: errorMessage(error) });
    }
  }

  #keepLater(): Disposable {
    return this.#ports.clock.timer(KEEP_EVERY_MS, () => {
      void this.#keep();
      this.#timer = this.#keepLater();
    });
  }

  #look(place: string): void {
    this.#gaps.add(place);
    this.#wake(place);
  }

  #laneOf(place: string): Lane {
    const lane = this.#lanes.get(place) ?? {
      waiting: [],
      isWorking: false,
      failures: 0,
      behindSince: undefined,
      notBefore: 0,
    };
    this.#lanes.set(place, lane);
    return lane;
  }

  #wake(place: string): void {
    const lane = this.#laneOf(place);
    if (lane.isWorking || this.#signal.aborted) return;
    lane.isWorking = true;
    void this.#work(place, lane).finally(() => {
      lane.isWorking = false;
      if (this.#nextStep(place, lane) !== undefined) this.#wake(place);
      else if (!this.#gaps.has(place) && lane.waiting.length === 0) this.#lanes.delete(place);
    });
  }

  /** Never rejects. */
  async #work(place: string, lane: Lane): Promise<void> {
    try {
      while (!this.#signal.aborted) {
        const step = this.#nextStep(place, lane);
        if (step === undefined) return;
        await (step === 'fill'
          ? this.#fill(place, lane)
          : this.#write(place, lane.waiting.splice(0), { isLive: true }));
      }
    } catch (error) {
      if (!this.#signal.aborted) this.#ports.log.error('reading Discord failed', { reason: errorMessage(error) });
    }
  }

  /** What was missed comes first; but what comes live does not wait for ever. Undefined: nothing can be done now. */
  #nextStep(place: string, lane: Lane): 'fill' | 'write' | undefined {
    const now = this.#ports.clock.now();
    const isBehind = this.#gaps.has(place);
    if (isBehind && lane.notBefore <= now) return 'fill';
    if (lane.waiting.length === 0) return undefined;
    return isBehind && now - (lane.behindSince ?? now) < PATIENCE_MS ? undefined : 'write';
  }

  /** Fetches what was missed in a place; what can not be had now is tried again later. */
  async #fill(place: string, lane: Lane): Promise<void> {
    const { clock, random, log } = this.#ports;
    try {
      const fetched = await this.#paced(() => this.#catchUp(place));
      this.#gaps.delete(place);
      lane.failures = 0;
      lane.behindSince = undefined;
      lane.waiting = lane.waiting.filter(({ type, id }) => type === 'edit' || !fetched.has(id));
    } catch (error) {
      this.#signal.throwIfAborted();
      const { reason, retryAfterMs } = callFailure(error);
      if (isRefused(error)) {
        log.info('what was written in a channel meanwhile can not be read', { place, reason });
        this.#gaps.delete(place);
        return;
      }
      lane.failures += 1;
      lane.behindSince ??= clock.now();
      const waitMs = retryAfterMs ?? backoffMs(lane.failures, RETRY, random);
      lane.notBefore = clock.now() + waitMs;
      clock.timer(waitMs, () => {
        lane.notBefore = 0;
        this.#wake(place);
      });
    }
  }

  /** Not too many at once, and not too many a second. */
  #paced<T>(work: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const turn = async (): Promise<void> => {
        const working = work();
        working.then(resolve, reject);
        const pause = this.#gaps.size > BURST ? PACE_MS : 0;
        await Promise.allSettled([working, sleep(this.#ports.clock, pause, this.#signal)]);
      };
      this.#slots.run(turn, this.#signal).catch(reject);
    });
  }

  /** The ids of what was fetched. */
  async #catchUp(place: string): Promise<ReadonlySet<string>> {
    const { history, clock } = this.#ports;
    const ids = new Set<string>();
    const oldest = idAt(clock.now() - OLDEST_MS);
    for (;;) {
      const mark = this.#readTo.get(place);
      if (mark === undefined) return ids;
      const page = (await history(place, isNewer(mark, oldest) ? mark : oldest)).toSorted((a, b) =>
        compareIds(a.id, b.id),
      );
      const told = page.map((data): Told => ({ type: 'message', id: data.id, data, isLate: true }));
      if (told.length > 0) await this.#write(place, told, { isLive: false });
      for (const { id } of told) ids.add(id);
      if (page.length < PAGE) return ids;
    }
  }

  /** Until it is written down; rejects only when the signal aborts. */
  async #write(place: string, told: readonly Told[], { isLive }: { readonly isLive: boolean }): Promise<void> {
    const { read, accept, report } = this.#ports;
    const drafts = await this.#until(() => read(place, told));
    const newest = told
      .filter(({ type }) => type === 'message')
      .map(({ id }) => id)
      .toSorted(compareIds)
      .at(-1);
    const isHeld = isLive && this.#gaps.has(place);
    const mark = isHeld || newest === undefined || !this.#isFurther(place, newest) ? undefined : newest;
    if (drafts.length > 0) {
      await this.#until(() => accept(drafts, mark === undefined ? [] : [{ place, last: mark }]));
      report(undefined);
    }
    if (mark === undefined) return;
    this.#move(place, mark);
    if (drafts.length > 0) this.#moved.delete(place);
  }

  #until<T>(work: () => Promise<T>): Promise<T> {
    return untilWritten(work, { ...this.#ports, signal: this.#signal });
  }

  #isFurther(place: string, id: string): boolean {
    const known = this.#readTo.get(place);
    return known === undefined || isNewer(id, known);
  }

  #move(place: string, id: string): void {
    if (!this.#isFurther(place, id)) return;
    this.#readTo.delete(place);
    this.#readTo.set(place, id);
    this.#moved.add(place);
    const [oldest] = this.#readTo.keys();
    if (this.#readTo.size > MOST_PLACES && oldest !== undefined) this.#readTo.delete(oldest);
  }
}
