import { expect, test } from 'vitest';
import { shortRound } from '../../src/core/util/wake.ts';

test('many who have much to do get their turns in the order in which they came, a few in each round of the event loop', async () => {
  const order: number[] = [];
  let inRound = 0;
  let most = 0;
  let rounds = 0;
  const watch = (): void => {
    most = Math.max(most, inRound);
    inRound = 0;
    rounds += 1;
    if (order.length < 60) setImmediate(watch);
  };
  setImmediate(watch);
  const work = async (n: number): Promise<void> => {
    await shortRound();
    const until = performance.now() + 2;
    while (performance.now() < until);
    order.push(n);
    inRound += 1;
  };
  await Promise.all(Array.from({ length: 60 }, (_, n) => work(n)));
  expect(order).toEqual(Array.from({ length: 60 }, (_, n) => n));
  expect(most).toBeLessThanOrEqual(4);
  expect(rounds).toBeGreaterThan(10);
});

test('who comes later, also out of the work of another, has a turn too', async () => {
  const seen: string[] = [];
  const chain = async (name: string): Promise<void> => {
    for (let n = 0; n < 3; n += 1) {
      await shortRound();
      seen.push(`${name}${n}`);
    }
  };
  await Promise.all([chain('a'), chain('b')]);
  await shortRound();
  expect(seen.toSorted()).toEqual(['a0', 'a1', 'a2', 'b0', 'b1', 'b2']);
});
