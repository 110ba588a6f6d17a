import { expect, test } from 'vitest';
import { TurnDeadline } from '../../src/core/agent/turn/deadline.ts';
import { Slots } from '../../src/core/util/slots.ts';
import { call, makeRegistry, result, tool } from '../support/simple-tools.ts';
import { testToolContext } from '../support/tool-context.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

test('a turn’s deadline stands still while a person is asked, also when two questions overlap', async () => {
  const clock = new VirtualClock();
  let ended = 0;
  using limit = new TurnDeadline(clock, 1_000, () => {
    ended += 1;
  });
  await clock.advance(600);
  const first = limit.pause();
  const second = limit.pause();
  await clock.advance(50_000);
  first[Symbol.dispose]();
  first[Symbol.dispose]();
  await clock.advance(50_000);
  second[Symbol.dispose]();
  await clock.advance(399);
  expect(ended).toBe(0);
  await clock.advance(1);
  expect(ended).toBe(1);
});

test('a disposed deadline never ends anything, whatever is still paused', async () => {
  const clock = new VirtualClock();
  let ended = false;
  const limit = new TurnDeadline(clock, 1_000, () => {
    ended = true;
  });
  const pause = limit.pause();
  limit[Symbol.dispose]();
  pause[Symbol.dispose]();
  await clock.advance(5_000);
  expect([ended, clock.waiting]).toEqual([false, 0]);
});

test('a call that waits for a yes holds no slot', async () => {
  const slots = new Slots(1);
  const asking = tool('asking', {
    plans: () => ({ asks: { title: 't', detail: 'd', reason: 'r' } }),
    execute: async () => result('allowed'),
  });
  const registry = makeRegistry([asking, tool('other')]);
  const answer = Promise.withResolvers<{ approved: true }>();
  const slot = <T>(task: () => Promise<T>): Promise<T> => slots.run(task);
  const waiting = registry.run(call('asking'), testToolContext({ approve: () => answer.promise }), { slot });
  expect((await registry.run(call('other'), testToolContext(), { slot })).output).toBe('done');
  answer.resolve({ approved: true });
  expect((await waiting).output).toBe('allowed');
});
