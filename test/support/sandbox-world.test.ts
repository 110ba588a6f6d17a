import { expect, test } from 'vitest';
import { whyNoBubblewrap } from './sandbox-world.ts';

test('without bubblewrap the tests of the sandbox are skipped, but where CI is true they fail', () => {
  expect(whyNoBubblewrap('/bin/sh', {})).toBeUndefined();
  expect(whyNoBubblewrap('/bin/sh', { CI: 'true' })).toBeUndefined();
  expect(whyNoBubblewrap('/nowhere/bwrap', {})).toBe('bubblewrap is not installed');
  expect(() => whyNoBubblewrap('/nowhere/bwrap', { CI: 'true' })).toThrow(
    'CI is true, so the tests of the sandbox must run',
  );
});
