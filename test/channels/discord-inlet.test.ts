import { describe, expect, test } from 'vitest';
import type { InboundDraft } from '../../src/bus/messages.ts';
import type { ReadUpTo } from '../../src/channels/channel.ts';
import { Inlet, type Told } from '../../src/channels/discord/inlet.ts';
import { idAt } from '../../src/channels/discord/snowflake.ts';
import { steadyRandom } from '../support/delivery-world.ts';
import { inboundDraft } from '../support/inbound.ts';
import { recordingLog } from '../support/recording-log.ts';
import { settle, VirtualClock } from '../support/virtual-clock.ts';

const START = Date.UTC(2026, 0, 1);
/** Ids of the last half hour, by number. */
const id = (n: number): string => String(BigInt(idAt(START - 1_800_000)) + BigInt(n));
const live = (n: number): Told => ({ type: 'message', id: id(n), data: {}, isLate: false });
const range = (from: number, to: number): readonly number[] =>
  Array.from({ length: to - from + 1 }, (_, n) => from + n);

/** An inlet over the history of one place, `c`, that was read up to number `mark`. */
class World {
  readonly clock = new VirtualClock(START);
  /** What was written in the place, by number. */
  readonly history: number[] = [];
  /** What is nothing to answer. */
  readonly ignored = new Set<number>();
  readonly accepted: string[] = [];
  readonly saved = new Map<string, string>();
  readonly stop = new AbortController();
  readonly inlet: Inlet;
  historyFails: Error | undefined;
  acceptFails: Error | undefined;
  trouble: string | undefined;
  pages = 0;

  constructor(mark?: number) {
    if (mark !== undefined) this.saved.set('c', id(mark));
    this.inlet = new Inlet(
      new Map(this.saved),
      {
        history: async (_, after) => this.#page(after),
        read: async (_, told) => this.#read(told),
        accept: async (drafts, marks) => this.#accept(drafts, marks),
        report: (trouble) => {
          this.trouble = trouble;
        },
        clock: this.clock,
        random: steadyRandom,
        log: recordingLog(),
      },
      this.stop.signal,
    );
  }

  get mark(): string | undefined {
    return this.saved.get('c');
  }

  async hears(...numbers: readonly number[]): Promise<void> {
    for (const n of numbers) this.inlet.hear('c', live(n));
    await settle();
  }

  #page(after: string): readonly { id: string }[] {
    this.pages += 1;
    if (this.historyFails !== undefined) throw this.historyFails;
    const newer = this.history.map(id).filter((one) => BigInt(one) > BigInt(after));
    return newer
      .slice(0, 100)
      .map((one) => ({ id: one }))
      .toReversed();
  }

  #read(told: readonly Told[]): readonly InboundDraft[] {
    const ignored = new Set([...this.ignored].map(id));
    return told.filter((one) => !ignored.has(one.id)).map((one) => inboundDraft({ externalId: one.id }));
  }

  #accept(drafts: readonly InboundDraft[], marks: readonly ReadUpTo[] = []): readonly 'accepted'[] {
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
    await world.hears(1);
    expect([world.accepted, world.mark]).toEqual([[id(1)], id(1)]);
    await world.hears(2);
    expect(world.mark).toBe(id(1));
    await world.clock.advance(60_000);
    expect(world.mark).toBe(id(2));
    await world.hears(3);
    await world.inlet[Symbol.asyncDispose]();
    expect(world.mark).toBe(id(3));
  });

  test('never goes back when an older message comes late', async () => {
    const world = new World();
    await world.hears(5);
    await world.hears(4);
    expect([world.accepted, world.mark]).toEqual([[id(5), id(4)], id(5)]);
  });

  test('is not known before the first message there, which is fetched again when it could not be written down', async () => {
    const world = new World();
    world.acceptFails = new Error('disk full');
    await world.hears(7);
    expect(world.trouble).toBe('Messages can not be written down: disk full');
    world.stop.abort();
    world.acceptFails = undefined;
    await world.inlet[Symbol.asyncDispose]();
    expect(world.mark).toBe(String(BigInt(id(7)) - 1n));
  });
});

describe('what was missed', () => {
  test('is fetched page by page before what comes live is read, and nothing twice', async () => {
    const world = new World(1);
    world.history.push(...range(2, 231));
    world.inlet.connected();
    await world.hears(231, 232);
    expect(world.accepted).toEqual(range(2, 232).map(id));
    expect(world.mark).toBe(id(232));
    expect(world.pages).toBe(3);
  });

  test('comes before what comes live, also when it can not be had at once', async () => {
    const world = new World(1);
    world.history.push(2, 3);
    world.historyFails = new Error('Discord is down');
    world.inlet.connected();
    world.inlet.closeGaps();
    await world.hears(4);
    expect([world.accepted, world.mark]).toEqual([[], id(1)]);
    world.history.push(4);
    world.historyFails = undefined;
    await world.clock.advance(1_500);
    expect([world.accepted, world.mark]).toEqual([[2, 3, 4].map(id), id(4)]);
  });

  test('keeps its mark while it can not be had, and holds up what comes live no longer than half a minute', async () => {
    const world = new World(1);
    world.history.push(2, 3);
    world.historyFails = new Error('Discord is down');
    world.inlet.connected();
    world.inlet.closeGaps();
    await world.hears(4);
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

  test('is not looked for where Discord says that there is no news', async () => {
    const world = new World(5);
    world.inlet.connected();
    world.inlet.latest({ id: 'c', last_message_id: id(5) });
    world.inlet.latest({ id: id(900), last_message_id: null });
    world.inlet.closeGaps();
    await settle();
    expect(world.pages).toBe(0);
    world.inlet.latest({ id: 'c', last_message_id: id(6) });
    await settle();
    expect(world.pages).toBe(1);
  });

  test('is at most a week old', async () => {
    const world = new World();
    const old = idAt(START - 30 * 86_400_000);
    world.inlet.hear('c', { type: 'message', id: old, data: {}, isLate: false });
    await settle();
    let asked = '';
    const later = new Inlet(
      new Map([['c', old]]),
      {
        history: async (_, after) => {
          asked = after;
          return [];
        },
        read: async () => [],
        accept: async () => [],
        report: () => {},
        clock: world.clock,
        random: steadyRandom,
        log: recordingLog(),
      },
      world.stop.signal,
    );
    later.connected();
    later.closeGaps();
    await settle();
    expect(asked).toBe(idAt(START - 7 * 86_400_000));
  });

  test('is had once a full disk heals, in order, whatever came meanwhile', async () => {
    const world = new World(1);
    world.acceptFails = new Error('disk full');
    world.history.push(...range(2, 700));
    await world.hears(...range(2, 700));
    expect(world.accepted).toEqual([]);
    world.acceptFails = undefined;
    await world.clock.advance(60_000);
    expect([...new Set(world.accepted)]).toEqual(range(2, 700).map(id));
    expect(world.mark).toBe(id(700));
    expect(world.trouble).toBeUndefined();
  });
});
