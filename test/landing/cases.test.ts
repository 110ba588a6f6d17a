import { describe, expect, test } from 'vitest';
import { failures, PLACES } from '../support/landing-runs.ts';
import { missing } from '../support/programs.ts';

// `cases.long.test.ts` has the other two combinations.
describe.skipIf(missing('bubblewrap', 'python3') !== undefined)('every case of a landing', () => {
  test('holds on a disk', async () => {
    expect(await failures(PLACES.disk, 'me')).toEqual({});
  });

  test('holds in memory for an ordinary user', async () => {
    expect(await failures(PLACES.memory, 'an ordinary user')).toEqual({});
  });
});
