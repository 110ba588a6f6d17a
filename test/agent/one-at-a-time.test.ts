import { expect, test } from 'vitest';
import { OneAtATime } from '../../src/agent/recovery/one-at-a-time.ts';
import { settle, VirtualClock } from '../support/virtual-clock.ts';

test('a place whose assistant stops is passed over, and not before those in front of it', async () => {
  const order = new OneAtATime(new VirtualClock());
  const running = new AbortController();
  const stopping = new AbortController();
  const first = await order.next()(running.signal);
  const second = order.next()(stopping.signal);
  let isThird = false;
  const third = order
    .next()(running.signal)
    .then(() => (isThird = true));
  stopping.abort(new Error('the assistant stops'));
  await expect(second).rejects.toThrow('the assistant stops');
  await settle();
  expect(isThird).toBe(false);
  first[Symbol.dispose]();
  await third;
  expect(isThird).toBe(true);
});
