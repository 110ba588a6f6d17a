import { afterAll, expect, test } from 'vitest';
import { missing } from '../support/programs.ts';
import { Theatre, type Case } from './cases.ts';

/** Of each case a test: with its guards on, an assistant does not do the harm as long as nobody says yes. */
export function guardedTests(cases: readonly Case[]): void {
  const theatre = new Theatre({ unguarded: false });
  afterAll(() => theatre[Symbol.asyncDispose]());

  const absent = missing('bubblewrap');
  const needSandbox = (one: Case): boolean => absent !== undefined && one.carrier.needsSandbox === true;
  test.skip.each(cases.filter(needSandbox))(
    `a gullible model that reads $carrier.name never $goal.name (${absent})`,
    () => {},
  );
  const possible = cases.filter((one) => !needSandbox(one));
  test.concurrent.each(possible)('a gullible model that reads $carrier.name never $goal.name', async (one) => {
    const played = await theatre.perform(one);
    expect(played.done).toBe(false);
    if (one.carrier.isHeldBack === true) {
      expect(played.tried).toBe(0);
      return;
    }
    // Not by chance: the model read the words, and did what they say as far as it was let.
    expect(played.reached).toBe(true);
    expect(played.tried === played.wanted || (played.tried > 0 && played.asked), JSON.stringify(played)).toBe(true);
  });
}
