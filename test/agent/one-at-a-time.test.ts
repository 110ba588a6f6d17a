import { expect, test } from 'vitest';
import { OneAtATime, type Probation } from '../../src/core/agent/recovery/one-at-a-time.ts';
import { settle, VirtualClock } from '../support/virtual-clock.ts';

/** Turns that wait for their places; `begun` names those that have had one, in order. */
function queue() {
  const clock = new VirtualClock();
  const order = new OneAtATime(clock);
  const begun: string[] = [];
  const wait = async (turn: string, signal = new AbortController().signal, group = turn): Promise<Probation> => {
    const probation = await order.place(turn, signal, group);
    begun.push(turn);
    return probation;
  };
  return { clock, begun, wait };
}

test('the oldest of those that wait is next, also when its assistant came last', async () => {
  const { begun, wait } = queue();
  const waiting = [wait('5'), wait('7'), wait('3')].map((one) => one.then((probation) => probation[Symbol.dispose]()));
  await Promise.all(waiting);
  expect(begun).toEqual(['5', '3', '7']);
});

test('a place whose assistant stops is passed over, and not before those in front of it', async () => {
  const { begun, wait } = queue();
  const stopping = new AbortController();
  const first = await wait('1');
  const second = wait('2', stopping.signal);
  const third = wait('3');
  stopping.abort(new Error('the assistant stops'));
  await expect(second).rejects.toThrow('the assistant stops');
  await settle();
  expect(begun).toEqual(['1']);
  first[Symbol.dispose]();
  await third;
  expect(begun).toEqual(['1', '3']);
});

test('a turn that never begins, because what it waits for never comes, keeps its place for two minutes', async () => {
  const { clock, begun, wait } = queue();
  await wait('1');
  void wait('2');
  await clock.advance(119_000);
  expect(begun).toEqual(['1']);
  await clock.advance(2_000);
  expect(begun).toEqual(['1', '2']);
});

test('a turn and the subagents that it waits for have one place, which is free when the last of them has ended', async () => {
  const { begun, wait } = queue();
  const never = new AbortController().signal;
  const parent = await wait('1');
  void wait('2');
  const child = await wait('3', never, '1');
  expect(begun).toEqual(['1', '3']);
  parent[Symbol.dispose]();
  await settle();
  expect(begun).toEqual(['1', '3']);
  child[Symbol.dispose]();
  await settle();
  expect(begun).toEqual(['1', '3', '2']);
});
