import { expect, test } from 'vitest';
import type { InboundMessage, OutboundEvent } from '../../src/core/bus/messages.ts';
import { SendError, type ReactionChange } from '../../src/core/channels/channel.ts';
import { ShownStates } from '../../src/core/channels/delivery/state-reactions.ts';
import type { App } from '../../src/core/app.ts';
import type { ReachedState, ReactionPlace } from '../../src/core/journal/shown-reactions.ts';
import { appWith } from '../support/app-with.ts';
import { TestOutlets } from '../support/delivery-world.ts';
import { inboundMessage } from '../support/inbound.ts';
import { recordingLog } from '../support/recording-log.ts';
import { ScriptedChannel } from '../support/scripted-channel.ts';
import { settle, VirtualClock } from '../support/virtual-clock.ts';

const EMOJI = { seen: '👀', working: '✍', done: false, failed: '😢' } as const;
const message = (id: string): InboundMessage =>
  inboundMessage({ id, channel: 'test', chatId: 'chat', externalId: `m:${id}` });

/** A channel that keeps the reactions of the assistant, with states that a test sets. */
function setup() {
  const clock = new VirtualClock();
  const outlets = new TestOutlets();
  const marks = new Map<string, Set<string>>();
  const rows = new Map<string, { place: ReactionPlace; emojis: readonly string[] }>();
  const states = new Map<string, ReachedState>();
  const failures: Error[] = [];
  const calls: { readonly id: string; readonly change: ReactionChange; readonly at: number }[] = [];
  const running = { now: 0, most: 0 };
  let hold: Promise<void> = Promise.resolve();
  const channel = Object.assign(new ScriptedChannel(), {
    stateReactions: { isOn: true, usual: EMOJI },
    react: async ({ platformId: id }: { platformId: string }, change: ReactionChange): Promise<void> => {
      calls.push({ id, change, at: clock.monotonic() });
      running.now += 1;
      running.most = Math.max(running.most, running.now);
      await hold;
      running.now -= 1;
      const failure = failures.shift();
      if (failure !== undefined) throw failure;
      const here = marks.get(id) ?? new Set();
      for (const emoji of change.remove) here.delete(emoji);
      if (change.add !== undefined) here.add(change.add);
      marks.set(id, here);
    },
  });
  outlets.channels.set('test', channel);
  const accepted = new Set<(message: InboundMessage) => void>();
  const listeners = new Set<(event: OutboundEvent) => void>();
  const on = <T>(set: Set<T>, one: T): Disposable => {
    set.add(one);
    return { [Symbol.dispose]: () => set.delete(one) };
  };
  const shownReactions: Pick<App['journal']['shownReactions'], 'stateOf' | 'note' | 'forget' | 'of'> = {
    stateOf: (id) => states.get(id) ?? 'over',
    note: async (place, emojis) => void rows.set(place.id, { place, emojis }),
    forget: async (id) => void rows.delete(id),
    of: () => [...rows.values()],
  };
  const begin = (): ShownStates =>
    new ShownStates(
      appWith({
        bus: {
          onAccepted: (listener) => on(accepted, listener),
          listen: (listener) => on(listeners, listener),
        } as App['bus'],
        journal: { shownReactions } as unknown as App['journal'],
        channels: { manager: outlets } as unknown as App['channels'],
        config: { channels: {} } as App['config'],
        clock,
        log: recordingLog(),
      }),
    );
  return {
    clock,
    outlets,
    calls,
    failures,
    running,
    rows,
    begin,
    /** A message comes in. */
    comes(id: string): void {
      states.set(id, 'seen');
      for (const listener of accepted) listener(message(id));
    },
    /** A message gets to a state, and an event says that something happened. */
    becomes(id: string, state: ReachedState): void {
      states.set(id, state);
      const { sessionKey } = message(id);
      const event = { channel: 'test', chatId: 'chat', sessionKey, turnId: 't', sequence: 1, type: 'typing' } as const;
      for (const listener of listeners) listener(event);
    },
    /** As `becomes`, but no event says so. */
    quietly: (id: string, state: ReachedState): void => void states.set(id, state),
    mark: (id: string): string => [...(marks.get(id) ?? [])].join(''),
    holdCalls(): () => void {
      const { promise, resolve } = Promise.withResolvers<void>();
      hold = promise;
      return resolve;
    },
  };
}

test('a message that is dealt with in a moment costs no call', async () => {
  const world = setup();
  using _ = world.begin();
  world.comes('1');
  await world.clock.advance(500);
  world.becomes('1', 'done');
  await world.clock.advance(120_000);
  expect(world.calls).toEqual([]);
});

test('the latest state wins, with one call at a time', async () => {
  const world = setup();
  using _ = world.begin();
  const release = world.holdCalls();
  world.comes('1');
  await world.clock.advance(1_000);
  world.becomes('1', 'working');
  world.becomes('1', 'failed');
  await world.clock.advance(2_000);
  expect(world.calls).toHaveLength(1);
  release();
  await world.clock.advance(2_000);
  expect(world.mark('1')).toBe('😢');
  expect(world.calls.map(({ change }) => change.add)).toEqual(['👀', '😢']);
  expect(world.running.most).toBe(1);
  expect(world.rows.size).toBe(0);
});

test('many messages at once are paced', async () => {
  const world = setup();
  using _ = world.begin();
  for (let n = 0; n < 20; n += 1) world.comes(String(n));
  await world.clock.advance(5_000);
  const gaps = world.calls.slice(1).map(({ at }, n) => at - (world.calls[n]?.at ?? 0));
  expect(world.calls.length).toBeGreaterThan(5);
  expect(Math.min(...gaps)).toBeGreaterThanOrEqual(400);
});

test('a platform that asks to wait is left alone: only what stands already is taken away, when the time is over', async () => {
  const world = setup();
  using _ = world.begin();
  world.comes('1');
  await world.clock.advance(1_000);
  expect(world.mark('1')).toBe('👀');
  for (const id of ['2', '3', '4']) world.comes(id);
  world.failures.push(new SendError('retryable', 'wait', { retryAfterMs: 30_000 }));
  await world.clock.advance(1_500);
  world.becomes('1', 'done');
  const before = world.calls.length;
  await world.clock.advance(25_000);
  expect(world.calls).toHaveLength(before);
  await world.clock.advance(10_000);
  expect(world.mark('1')).toBe('');
  expect(new Set(world.calls.slice(before).map(({ id }) => id))).toEqual(new Set(['1']));
});

test('a platform that asks to wait for a moment shows the others afterwards', async () => {
  const world = setup();
  using _ = world.begin();
  for (const id of ['1', '2', '3']) world.comes(id);
  world.failures.push(new SendError('retryable', 'wait', { retryAfterMs: 250 }));
  await world.clock.advance(5_000);
  expect(['1', '2', '3'].map((id) => world.mark(id))).toEqual(['👀', '👀', '👀']);
});

test('a message that takes no reaction is not asked again', async () => {
  const world = setup();
  using _ = world.begin();
  world.failures.push(new SendError('permanent', 'gone'));
  world.comes('1');
  await world.clock.advance(1_000);
  world.becomes('1', 'working');
  await world.clock.advance(120_000);
  expect(world.calls).toHaveLength(1);
  expect(world.rows.size).toBe(0);
});

test('what no event told of is seen within a minute', async () => {
  const world = setup();
  using _ = world.begin();
  world.comes('1');
  await world.clock.advance(2_000);
  world.quietly('1', 'done');
  await world.clock.advance(60_000);
  expect(world.mark('1')).toBe('');
});

test('a call of which nobody knows whether it was done is taken away by the next process', async () => {
  const world = setup();
  {
    using _ = world.begin();
    world.failures.push(new SendError('uncertain', 'reset'));
    world.comes('1');
    await world.clock.advance(1_000);
  }
  world.quietly('1', 'done');
  using _ = world.begin();
  world.outlets.tell('test');
  await settle();
  expect(world.calls.at(-1)?.change).toEqual({ remove: ['👀'] });
  expect(world.rows.size).toBe(0);
});
