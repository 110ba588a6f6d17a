import { expect, test } from 'vitest';
import { watchLease } from '../../src/host/homes/lease-watch.ts';
import type { Clock } from '../../src/core/util/clock.ts';

const LEASE_MS = 10_000;

/** A lease that is not renewed, and a process that comes to its timers as late as it is told. */
function watched() {
  let now = 0;
  let next: { at: number; readonly call: () => void } | undefined;
  const clock: Clock = {
    now: () => now,
    monotonic: () => now,
    timer: (ms, call) => {
      next = { at: now + ms, call };
      return { [Symbol.dispose]: () => {} };
    },
  };
  const troubles: unknown[] = [];
  const lease = {
    leaseMs: LEASE_MS,
    until: LEASE_MS,
    get leftMs() {
      return this.until - now;
    },
    lost: new AbortController().signal,
  };
  watchLease({ lease, storage: { failed: (error) => troubles.push(error) > 0 }, clock });
  const look = (lateMs = 0): void => {
    now = (next?.at ?? now) + lateMs;
    next?.call();
  };
  return { lease, troubles, look };
}

test('a lease that nobody renews is reported while it still holds', () => {
  const { lease, troubles, look } = watched();
  while (troubles.length === 0 && lease.leftMs > 0) look();
  expect(troubles).toHaveLength(1);
  expect(lease.leftMs).toBeGreaterThan(0);
});

test('a process that is too busy to renew and to look in time reports nothing, and the next two looks in time do', () => {
  const { lease, troubles, look } = watched();
  for (let n = 0; n < 5; n += 1) look(1_500);
  expect(lease.leftMs).toBeLessThan(0);
  expect(troubles).toEqual([]);
  look();
  expect(troubles).toEqual([]);
  look();
  expect(troubles).toHaveLength(1);
});

test('a lease that is renewed between two looks is not reported', () => {
  const { lease, troubles, look } = watched();
  for (let n = 0; n < 20; n += 1) {
    look();
    if (n % 2 === 0 && lease.leftMs < 4_000) lease.until += LEASE_MS;
  }
  expect(troubles).toEqual([]);
});
