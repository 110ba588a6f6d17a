import { describe, expect, test } from 'vitest';
import type { InboundDraft } from '../../src/core/bus/messages.ts';
import type { ReadUpTo } from '../../src/core/channels/channel.ts';
import type { BackfillPorts, Missed, RawEvent as ToldOf } from '../../src/core/channels/inbound/backfill-ports.ts';
import { Backfill } from '../../src/core/channels/inbound/backfill.ts';
import { idAt, idsByAge } from '../../src/extensions/discord/snowflake.ts';
import { InboundWriter, type Received } from '../../src/core/channels/inbound/writer.ts';
import { steadyRandom } from '../support/delivery-world.ts';
import { storageHealth } from '../support/healthy-storage.ts';
import { inboundDraft } from '../support/inbound.ts';
import { recordingLog } from '../support/recording-log.ts';
import { settle, VirtualClock } from '../support/virtual-clock.ts';

const START = Date.UTC(2026, 0, 1);
type Told = ToldOf<unknown>;

/** Ids of the last half hour, by number. */
const id = (n: number): string => String(BigInt(idAt(START - 1_800_000)) + BigInt(n));
const live = (n: number): Told => ({ type: 'message', id: id(n), data: {}, isLate: false });
const diskFull = (): Error => Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
const range = (from: number, to: number): readonly number[] =>
  Array.from({ length: to - from + 1 }, (_, n) => from + n);

/** A backfill over the history of one place, `c`, that was read up to number `mark`. */
class World {
  readonly clock = new VirtualClock(START);
  /** What was written in the place, by number. */
  readonly history: number[] = [];
  /** What is nothing to answer. */
  readonly ignored = new Set<number>();
  readonly accepted: string[] = [];
  readonly saved = new Map<string, string>();
  readonly stop = new AbortController();
  readonly backfill: Backfill<unknown>;
  /** Of the places that were told of as not looked at, each time. */
  readonly cut: (readonly string[])[] = [];
  historyFails: Error | undefined;
  /** A page that was put together comes only when this resolves. */
  historyWaits: Promise<void> | undefined;
  acceptFails: Error | undefined;
  writer: InboundWriter | undefined;
  pages = 0;

  constructor(mark?: number) {
    if (mark !== undefined) this.saved.set('c', id(mark));
    this.backfill = new Backfill<unknown>(new Map(this.saved), this.ports(), this.stop.signal);
  }

  ports(): BackfillPorts<unknown> {
    const { clock } = this;
    const log = recordingLog();
    const accept = async (drafts: readonly InboundDraft[], marks: readonly ReadUpTo[] = []): Promise<'accepted'[]> =>
      this.#accept(drafts, marks);
    this.writer = new InboundWriter({
      channel: 'discord',
      accept,
      storage: storageHealth(clock),
      keep: async (name) => name,
      tellOwner: async () => {},
      clock,
      log,
    });
    const { writer } = this;
    return {
      ids: idsByAge,
      missed: async (_, after) => {
        const page = this.#page(after);
        await this.historyWaits;
        return page;
      },
      read: async (_, events) => this.#read(events),
      failureOf: (error) => ({ reason: String(error), isRefused: false }),
      context: { accept, write: (received, options) => writer.write(received, options), clock, log },
      report: () => {},
      notLookedAt: async (places) => void this.cut.push(places),
      pace: { atOnce: 4, pauseMs: 125, burst: 25 },
      random: steadyRandom,
    };
  }

  get trouble(): string | undefined {
    return this.writer?.trouble;
  }

  get mark(): string | undefined {
    return this.saved.get('c');
  }

  async receives(...numbers: readonly number[]): Promise<void> {
    for (const n of numbers) void this.backfill.hear('c', live(n));
    await settle();
  }

  #page(after: string): Missed<unknown> {
    this.pages += 1;
    if (this.historyFails !== undefined) throw this.historyFails;
    const newer = this.history.map(id).filter((one) => BigInt(one) > BigInt(after));
    const page = newer.slice(0, 100);
    return { messages: page.map((one) => ({ id: one, data: {} })), hasMore: page.length === 100 };
  }

  #read(events: readonly Told[]): readonly Received[] {
    const ignored = new Set([...this.ignored].map(id));
    return events
      .filter((one) => !ignored.has(one.id))
      .map((one) => ({ raw: one, draft: inboundDraft({ externalId: one.id }) }));
  }

  #accept(drafts: readonly InboundDraft[], marks: readonly ReadUpTo[]): 'accepted'[] {
    if (this.acceptFails !== undefined) throw this.acceptFails;
    this.accepted.push(...drafts.map(({ externalId }) => externalId));
    for (const { place, last } of marks) this.saved.set(place, last);
    return drafts.map(() => 'accepted' as const);
  }
}

describe('how far a place was read', () => {
  test('is written down with what is to be answered, else once a minute and at the end', async () => {
    const world = new World();
    world.ignored.add(2).add(3);
    await world.receives(1);
    expect([world.accepted, world.mark]).toEqual([[id(1)], id(1)]);
    await world.receives(2);
    expect(world.mark).toBe(id(1));
    await world.clock.advance(60_000);
    expect(world.mark).toBe(id(2));
    await world.receives(3);
    await world.backfill[Symbol.asyncDispose]();
    expect(world.mark).toBe(id(3));
  });

  test('never goes back when an older message comes late', async () => {
    const world = new World();
    await world.receives(5);
    await world.receives(4);
    expect([world.accepted, world.mark]).toEqual([[id(5), id(4)], id(5)]);
  });

  test('is not known before the first message there, which is fetched again when it could not be written down', async () => {
    const world = new World();
    world.acceptFails = diskFull();
    await world.receives(7);
    expect(world.trouble).toBe('Messages wait for the disk: no space left on device');
    world.stop.abort();
    world.acceptFails = undefined;
    await world.backfill[Symbol.asyncDispose]();
    expect(world.mark).toBe(String(BigInt(id(7)) - 1n));
  });
});

describe('what was missed', () => {
  test('is fetched page by page before what comes live is read, and nothing twice', async () => {
    const world = new World(1);
    world.history.push(...range(2, 231));
    world.backfill.connected();
    await world.receives(231, 232);
    expect(world.accepted).toEqual(range(2, 232).map(id));
    expect(world.mark).toBe(id(232));
    expect(world.pages).toBe(3);
  });

  test('comes before what comes live, also when it cannot be had at once', async () => {
    const world = new World(1);
    world.history.push(2, 3);
    world.historyFails = new Error('Discord is down');
    world.backfill.connected();
    world.backfill.closeGaps();
    await world.receives(4);
    expect([world.accepted, world.mark]).toEqual([[], id(1)]);
    world.history.push(4);
    world.historyFails = undefined;
    await world.clock.advance(1_500);
    expect([world.accepted, world.mark]).toEqual([[2, 3, 4].map(id), id(4)]);
  });

  test('keeps its mark while it cannot be had, and holds up what comes live no longer than half a minute', async () => {
    const world = new World(1);
    world.history.push(2, 3);
    world.historyFails = new Error('Discord is down');
    world.backfill.connected();
    world.backfill.closeGaps();
    await world.receives(4);
    await world.clock.advance(10_000);
    expect(world.accepted).toEqual([]);
    await world.clock.advance(20_000);
    expect([world.accepted, world.mark]).toEqual([[id(4)], id(1)]);
    world.history.push(4);
    world.historyFails = undefined;
    await world.clock.advance(30_000);
    expect(world.accepted).toEqual([4, 2, 3, 4].map(id));
    expect(world.mark).toBe(id(4));
  });

  test('holds nothing up longer when the clock is put back meanwhile', async () => {
    const world = new World(1);
    world.historyFails = new Error('Discord is down');
    world.backfill.connected();
    world.backfill.closeGaps();
    await world.receives(4);
    world.clock.jump(-86_400_000);
    await world.clock.advance(30_000);
    expect(world.accepted).toEqual([id(4)]);
  });

  test('comes before what comes live, also when the line is lost once more before it was had', async () => {
    const world = new World(1);
    world.history.push(2, 3);
    world.historyFails = new Error('Slack is down');
    world.backfill.connected();
    world.backfill.closeGaps();
    await world.receives(4);
    world.backfill.lost();
    await world.clock.advance(5_000);
    expect(world.accepted).toEqual([]);
    world.history.push(4);
    world.historyFails = undefined;
    world.backfill.connected();
    world.backfill.closeGaps();
    await world.clock.advance(1_500);
    expect([world.accepted, world.mark]).toEqual([[2, 3, 4].map(id), id(4)]);
  });

  test('holds nothing up longer than half a minute, also while the line stays lost', async () => {
    const world = new World(1);
    world.historyFails = new Error('Slack is down');
    world.backfill.connected();
    world.backfill.closeGaps();
    await world.receives(4);
    world.backfill.lost();
    await world.clock.advance(30_000);
    expect([world.accepted, world.mark]).toEqual([[id(4)], id(1)]);
  });

  test('is asked for again after a line that came anew while the history was read', async () => {
    const world = new World(1);
    world.history.push(2);
    const answer = Promise.withResolvers<void>();
    world.historyWaits = answer.promise;
    world.backfill.connected();
    world.backfill.closeGaps();
    await settle();
    world.history.push(3);
    world.backfill.connected();
    world.backfill.closeGaps();
    answer.resolve();
    await settle();
    expect([world.accepted, world.mark]).toEqual([[2, 3].map(id), id(3)]);
  });

  test('is not looked for where Discord says that there is no news', async () => {
    const world = new World(5);
    world.backfill.connected();
    world.backfill.latest('c', id(5));
    world.backfill.latest(id(900), null);
    world.backfill.closeGaps();
    await settle();
    expect(world.pages).toBe(0);
    world.backfill.latest('c', id(6));
    await settle();
    expect(world.pages).toBe(1);
  });

  test('is at most a week old; where there is older, the owner is told of the place, once', async () => {
    const world = new World();
    const [mark, old, young] = [30, 20, 2].map((days) => idAt(START - days * 86_400_000));
    const asked: string[] = [];
    const later = new Backfill<unknown>(
      new Map([['c', String(mark)]]),
      {
        ...world.ports(),
        missed: async (_, after) => {
          asked.push(after);
          const newer = [old, young].filter((one) => BigInt(String(one)) > BigInt(after));
          return { messages: newer.map((one) => ({ id: String(one), data: {} })), hasMore: false };
        },
      },
      world.stop.signal,
    );
    for (let connections = 0; connections < 2; connections += 1) {
      later.connected();
      later.closeGaps();
      await settle();
    }
    expect(asked).toEqual([mark, young]);
    expect(world.accepted).toEqual([young]);
    expect(world.cut).toEqual([['c']]);
  });

  test('is had once a full disk heals, in order, whatever came meanwhile', async () => {
    const world = new World(1);
    world.acceptFails = diskFull();
    world.history.push(...range(2, 700));
    await world.receives(...range(2, 700));
    expect(world.accepted).toEqual([]);
    world.acceptFails = undefined;
    await world.clock.advance(60_000);
    expect([...new Set(world.accepted)]).toEqual(range(2, 700).map(id));
    expect(world.mark).toBe(id(700));
    expect(world.trouble).toBeUndefined();
  });
});
