import { backoffMs } from '../../util/backoff.ts';
import { sleep } from '../../util/clock.ts';
import { errorMessage } from '../../util/errors.ts';
import { Slots } from '../../util/slots.ts';
import type { BackfillPorts, RawEvent } from './backfill-ports.ts';
import { emptyLane, nextStep, PATIENCE_MS, type Lane, type WaitingEvent } from './lane.ts';
import type { Received } from './writer.ts';
import { Gaps, ReadCursors } from './read-cursors.ts';

/** Missed messages older than this are not fetched. */
const OLDEST_MS = 7 * 86_400_000;
/** Caps of live events that wait to be written, of one place and of all; further ones are rejected and fetched later. */
const MOST_WAITING = 500;
const MOST_WAITING_IN_ALL = 5_000;
const RETRY = { firstMs: 1_000, maxMs: 30_000 };
const KEEP_EVERY_MS = 60_000;
/** After a resumed connection, which repeats missed events itself, only this many recently used places are fetched. */
const LIVELY = { count: 50, withinMs: 86_400_000 };

/**
 * Reads the places (chats) of a channel, each in its order. The cursor of a place is stored in the transaction of its
 * messages. After every connect a place has a gap until its history was fetched from its cursor on; this is retried until it
 * succeeds. While a place has a gap, live events do not move its cursor, so no message before them can be lost.
 */
export class Backfill<Data> implements AsyncDisposable {
  readonly #ports: BackfillPorts<Data>;
  readonly #signal: AbortSignal;
  readonly #cursors: ReadCursors;
  readonly #gaps = new Gaps();
  readonly #lanes = new Map<string, Lane<Data>>();
  readonly #slots: Slots;
  /** Places with messages that were not fetched, which the owner was not told yet. */
  readonly #cut = new Set<string>();
  #waiting = 0;
  #isDown = false;
  /** The newest cursor before this connection: what was made after it is a new place. */
  #lastKnown: string | undefined;
  /** Where nothing was ever read: an id from the time of the first attempt to connect. */
  #since: string | undefined;
  #timer: Disposable;

  constructor(cursors: ReadonlyMap<string, string>, ports: BackfillPorts<Data>, signal: AbortSignal) {
    this.#ports = ports;
    this.#signal = signal;
    this.#slots = new Slots(ports.pace.atOnce);
    this.#cursors = new ReadCursors(cursors, ports.ids);
    this.#timer = this.#keepLater();
  }

  /** Whether no place has a gap and no event waits. */
  get isSettled(): boolean {
    return this.#gaps.size === 0 && this.#lanes.size === 0;
  }

  /** Call it when the connection is lost: every place has a gap, which is fetched after the next connect. */
  lost(): void {
    this.connected();
    this.#isDown = true;
  }

  /** Call it after a new connection: every place has a gap. */
  connected(): void {
    this.#isDown = false;
    const { context, ids } = this.#ports;
    const { newest } = this.#cursors;
    this.#since = newest === undefined && context.openedAt !== undefined ? ids.at(context.openedAt) : undefined;
    this.#lastKnown = newest ?? this.#since;
    for (const place of this.#cursors.places) this.#gaps.open(place);
  }

  /** Call it after a resumed connection, which repeats missed events: only recently used places have a gap. */
  resumed(): void {
    const { ids, context } = this.#ports;
    const since = context.clock.now() - LIVELY.withinMs;
    const lively = this.#cursors.places
      .flatMap((place) => ({ place, last: this.#cursors.of(place) ?? ids.at(0) }))
      .filter(({ last }) => ids.timeOf(last) >= since)
      .toSorted((a, b) => ids.compare(b.last, a.last));
    for (const { place } of lively.slice(0, LIVELY.count)) this.#look(place);
  }

  /**
   * Call it when the platform reports the newest message of a place: null if it has none, undefined if that is unknown. `madeAt`: an
   * id from the time when the place was created. @default its own id
   */
  latest(place: string, last: string | null | undefined, madeAt = place): void {
    const { compare } = this.#ports.ids;
    const known = this.#cursors.of(place);
    if (known !== undefined) {
      if (typeof last === 'string' && compare(last, known) <= 0) this.#gaps.close(place);
      else this.#look(place);
      return;
    }
    if (last === undefined) return;
    const isNew = this.#lastKnown !== undefined && compare(madeAt, this.#lastKnown) > 0;
    const isUnread = last !== null && this.#since !== undefined && compare(last, this.#since) > 0;
    this.#cursors.move(place, isNew || last === null ? madeAt : isUnread ? (this.#since ?? last) : last);
    if (last !== null && (isNew || isUnread)) this.#look(place);
  }

  /** Adds a place without a cursor, with a gap from the id `after` on. */
  found(place: string, after: string): void {
    if (this.#cursors.of(place) !== undefined) return;
    this.#cursors.move(place, after);
    this.#look(place);
  }

  /** Begins to fetch the history of all places that have a gap. */
  closeGaps(): void {
    // The next process would take what is made until then for old.
    if (this.#since !== undefined) void this.keep();
    // The places that were read last are at the end; they come first.
    for (const place of this.#gaps.places.toReversed()) this.#queue(place);
  }

  /**
   * Takes a live event. Resolves when its message is on disk, or it has none. Rejects when it is not taken now; it is then
   * fetched later.
   */
  hear(place: string, event: RawEvent<Data>): Promise<void> {
    if (event.type === 'message' && this.#cursors.of(place) === undefined) this.#begin(place, event.id);
    const lane = this.#laneOf(place);
    const written = Promise.withResolvers<void>();
    // Callers may ignore the result.
    written.promise.catch(() => {});
    if (lane.waiting.length < MOST_WAITING && this.#waiting < MOST_WAITING_IN_ALL && !this.#signal.aborted) {
      lane.waiting.push({ event, written });
      this.#waiting += 1;
    } else {
      this.#gaps.open(place);
      written.reject(new Error('too many messages wait to be written'));
    }
    void this.#wake(place);
    return written.promise;
  }

  /** Stores the cursors that moved. Never rejects. */
  async keep(): Promise<void> {
    const { context, alsoKept } = this.#ports;
    const moved = this.#cursors.takeMoved();
    const cursors = [...moved, ...(alsoKept?.() ?? [])];
    try {
      if (cursors.length > 0) await context.accept([], cursors);
    } catch (error) {
      this.#cursors.giveBack(moved);
      context.log.debug('backfill: cursors not written', { reason: errorMessage(error) });
    }
  }

  /** Stores the cursors and rejects the events that still wait. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#timer[Symbol.dispose]();
    for (const lane of this.#lanes.values()) this.#settle(lane.waiting.splice(0), new Error('the channel has stopped'));
    await this.#tellCut();
    await this.keep();
  }

  #keepLater(): Disposable {
    return this.#ports.context.clock.timer(KEEP_EVERY_MS, () => {
      void this.keep();
      void this.#tellCut();
      this.#timer = this.#keepLater();
    });
  }

  /** Gives a new place a cursor just before its first message, so that it can be fetched if it cannot be written now. */
  #begin(place: string, id: string): void {
    const { ids, unreadSince } = this.#ports;
    const since = unreadSince?.();
    this.#cursors.move(place, since ?? ids.before(id));
    if (since !== undefined) this.#gaps.open(place);
  }

  #look(place: string): void {
    this.#gaps.open(place);
    this.#queue(place);
  }

  /** Queues the fetch of a gap, within the limits of `pace`. */
  #queue(place: string): void {
    const { pace, context } = this.#ports;
    const turn = async (): Promise<void> => {
      if (!this.#gaps.has(place)) return;
      const pause = this.#gaps.size > pace.burst ? pace.pauseMs : 0;
      await Promise.all([this.#wake(place), sleep(context.clock, pause, this.#signal)]);
    };
    this.#slots.run(turn, this.#signal).catch(() => {});
  }

  #laneOf(place: string): Lane<Data> {
    const lane = this.#lanes.get(place) ?? emptyLane<Data>();
    this.#lanes.set(place, lane);
    return lane;
  }

  /** Works on a place; resolves when nothing more can be done there now. */
  async #wake(place: string): Promise<void> {
    const lane = this.#laneOf(place);
    if (this.#signal.aborted) return;
    lane.working ??= this.#work(place, lane).finally(() => {
      lane.working = undefined;
      if (this.#nextStep(place, lane) !== undefined) void this.#wake(place);
      else if (!this.#gaps.has(place) && lane.waiting.length === 0) this.#lanes.delete(place);
      if (this.#gaps.size === 0) void this.#tellCut();
    });
    await lane.working;
  }

  /** Fetches and writes the events of a place. Never rejects. */
  async #work(place: string, lane: Lane<Data>): Promise<void> {
    try {
      while (!this.#signal.aborted) {
        const step = this.#nextStep(place, lane);
        if (step === undefined) return;
        await (step === 'fill' ? this.#fill(place, lane) : this.#writeWaiting(place, lane));
      }
    } catch (error) {
      if (!this.#signal.aborted)
        this.#ports.context.log.error('backfill: reading failed', { reason: errorMessage(error) });
    }
  }

  #nextStep(place: string, lane: Lane<Data>): ReturnType<typeof nextStep> {
    const now = this.#ports.context.clock.monotonic();
    return nextStep(lane, { now, hasGap: this.#gaps.has(place), isDown: this.#isDown });
  }

  /** Fetches the missed messages of a place; after a failure it is tried again later. */
  async #fill(place: string, lane: Lane<Data>): Promise<void> {
    const { failureOf, random, context } = this.#ports;
    const { clock, log } = context;
    const gap = this.#gaps.of(place);
    try {
      const fetched = await this.#catchUp(place);
      this.#gaps.close(place, gap);
      lane.failures = 0;
      lane.behindSince = undefined;
      const isFetched = ({ event }: WaitingEvent<Data>): boolean => event.type === 'message' && fetched.has(event.id);
      this.#settle(lane.waiting.filter(isFetched));
      lane.waiting = lane.waiting.filter((one) => !isFetched(one));
    } catch (error) {
      this.#signal.throwIfAborted();
      const { reason, retryAfterMs, isRefused } = failureOf(error);
      if (isRefused) {
        log.info('backfill: conversation not readable by the bot', { place, reason });
        this.#gaps.close(place);
        return;
      }
      lane.failures += 1;
      if (lane.failures === 1) log.warn('backfill: history not read, trying again', { place, reason });
      if (lane.behindSince === undefined) {
        lane.behindSince = clock.monotonic();
        // A timer may fire a little early.
        clock.timer(PATIENCE_MS + 1, () => void this.#wake(place));
      }
      const waitMs = retryAfterMs ?? backoffMs(lane.failures, RETRY, random);
      lane.notBefore = clock.monotonic() + waitMs;
      clock.timer(waitMs, () => {
        lane.notBefore = 0;
        this.#queue(place);
        if (lane.waiting.length > 0) void this.#wake(place);
      });
    }
  }

  /** Fetches and writes the messages after the cursor; returns their ids. */
  async #catchUp(place: string): Promise<ReadonlySet<string>> {
    const { missed, ids, context } = this.#ports;
    const fetched = new Set<string>();
    const oldest = ids.at(context.clock.now() - OLDEST_MS);
    const isOld = ({ id }: { readonly id: string }): boolean => ids.compare(id, oldest) < 0;
    for (;;) {
      const cursor = this.#cursors.of(place);
      if (cursor === undefined) return fetched;
      let page = await missed(place, cursor);
      const isLost = page.messages.some((one) => isOld(one) && ids.compare(one.id, cursor) > 0);
      if (page.isCut === true || isLost) this.#cut.add(place);
      if (isLost) this.#cursors.move(place, ids.before(oldest));
      if (page.hasMore && page.messages.every(isOld)) page = await missed(place, ids.before(oldest));
      const events = page.messages
        .filter((one) => !isOld(one))
        .map(({ id, data }): RawEvent<Data> => ({ type: 'message', id, data, isLate: true }));
      if (events.length > 0) await this.#write(place, events, { isLive: false });
      for (const { id } of events) fetched.add(id);
      if (!page.hasMore || this.#cursors.of(place) === cursor) return fetched;
    }
  }

  async #writeWaiting(place: string, lane: Lane<Data>): Promise<void> {
    const taken = lane.waiting.splice(0);
    try {
      await this.#write(
        place,
        taken.map(({ event }) => event),
        { isLive: true },
      );
      this.#settle(taken);
    } catch (error) {
      this.#gaps.open(place);
      this.#settle(taken, error);
      throw error;
    }
  }

  #settle(done: readonly WaitingEvent<Data>[], error?: unknown): void {
    this.#waiting -= done.length;
    for (const { written } of done) {
      if (error === undefined) written.resolve();
      else written.reject(error);
    }
  }

  /** Reads and writes events until that succeeds. Rejects only when the signal aborts. */
  async #write(
    place: string,
    events: readonly RawEvent<Data>[],
    { isLive }: { readonly isLive: boolean },
  ): Promise<void> {
    const { ids, context } = this.#ports;
    const received = await this.#read(place, events);
    const newest = events
      .filter(({ type }) => type === 'message')
      .map(({ id }) => id)
      .toSorted(ids.compare)
      .at(-1);
    const isHeld = isLive && this.#gaps.has(place);
    const cursor = isHeld || newest === undefined || !this.#cursors.isFurther(place, newest) ? undefined : newest;
    if (received.length > 0) {
      const cursors = cursor === undefined ? [] : [{ place, last: cursor }];
      await context.write(received, { cursors, signal: this.#signal });
      if (cursor !== undefined) this.#cursors.moveWritten(place, cursor);
    } else if (cursor !== undefined) this.#cursors.move(place, cursor);
  }

  /** Reads events as messages; retries while a request to the platform fails. */
  async #read(place: string, events: readonly RawEvent<Data>[]): Promise<readonly Received[]> {
    const { read, report, failureOf, context, random } = this.#ports;
    for (let failures = 1; ; failures += 1) {
      try {
        const received = await read(place, events);
        if (failures > 1) report(undefined);
        return received;
      } catch (error) {
        this.#signal.throwIfAborted();
        const { reason, retryAfterMs } = failureOf(error);
        report(`Messages cannot be read: ${reason}`);
        await sleep(context.clock, retryAfterMs ?? backoffMs(failures, RETRY, random), this.#signal);
      }
    }
  }

  async #tellCut(): Promise<void> {
    const places = [...this.#cut];
    this.#cut.clear();
    if (places.length > 0) await this.#ports.notLookedAt(places);
  }
}
