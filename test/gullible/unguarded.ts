import { afterAll, expect, test } from 'vitest';
import { Theatre, type Case } from './cases.ts';

/** Of each case a test: without guards (see `no-guards.ts`) the harm is done. */
export function unguardedTests(cases: readonly Case[]): void {
  const theatre = new Theatre({ unguarded: true });
  afterAll(() => theatre[Symbol.asyncDispose]());

  test.concurrent.each(cases)('without guards a gullible model that reads $carrier.name $goal.name', async (one) => {
    expect(await theatre.perform(one)).toMatchObject({ reached: true, done: true });
  });
}
