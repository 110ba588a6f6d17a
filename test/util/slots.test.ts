import { expect, test } from 'vitest';
import { Slots } from '../../src/core/util/slots.ts';
import { settle } from '../support/virtual-clock.ts';

test('who waits for a slot gets it in the order of asking, however often somebody asks again', async () => {
  const slots = new Slots(1);
  const order: string[] = [];
  const greedy = async (): Promise<void> => {
    for (let n = 0; n < 4; n += 1) await slots.run(async () => void order.push('greedy'));
  };
  const others = ['a', 'b', 'c'].map((name) => () => slots.run(async () => void order.push(name)));
  await Promise.all([greedy(), ...others.map((run) => run())]);
  expect(order.slice(0, 5)).toEqual(['greedy', 'a', 'b', 'c', 'greedy']);
});

test('no more tasks run at once than there are slots, and a task that fails gives its slot back', async () => {
  const slots = new Slots(2);
  let running = 0;
  let most = 0;
  const task = async (): Promise<void> => {
    running += 1;
    most = Math.max(most, running);
    await settle();
    running -= 1;
    throw new Error('failed');
  };
  const results = await Promise.allSettled(Array.from({ length: 6 }, () => slots.run(task)));
  expect(results.every(({ status }) => status === 'rejected')).toBe(true);
  expect([most, running]).toEqual([2, 0]);
});

test('who gives up waiting leaves the queue and holds nobody up', async () => {
  const slots = new Slots(1);
  const first = Promise.withResolvers<void>();
  const gone = new AbortController();
  const holding = slots.run(() => first.promise);
  const waiting = slots.run(async () => 'never', gone.signal);
  const last = slots.run(async () => 'last');
  gone.abort(new Error('gone'));
  await expect(waiting).rejects.toThrow('gone');
  first.resolve();
  await holding;
  expect(await last).toBe('last');
});
