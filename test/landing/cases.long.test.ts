import { describe, expect, test } from 'vitest';
import { failures, PLACES } from '../support/landing-runs.ts';
import { missing } from '../support/programs.ts';

describe.skipIf(missing('bubblewrap', 'python3') !== undefined)('every case of a landing', () => {
  test('holds on a disk for an ordinary user', async () => {
    expect(await failures(PLACES.disk, 'an ordinary user')).toEqual({});
  });

  test('holds in memory', async () => {
    expect(await failures(PLACES.memory, 'me')).toEqual({});
  });
});
