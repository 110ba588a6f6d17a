import { expect, test } from 'vitest';
import { findProgram } from './programs.ts';

test('a program that tests need is found where it is installed, and nowhere else', () => {
  expect(findProgram('bubblewrap', ['/nowhere/bwrap', '/bin/sh'], {})).toBe('/bin/sh');
  expect(findProgram('bubblewrap', ['/nowhere/bwrap', '/etc/passwd'], {})).toBeUndefined();
});

test.each(['bubblewrap', 'Chromium', 'PostgreSQL'] as const)('without %s a run fails where CI is true', (name) => {
  expect(findProgram(name, ['/bin/sh'], { CI: 'true' })).toBe('/bin/sh');
  expect(() => findProgram(name, ['/nowhere'], { CI: 'true' })).toThrow(
    `CI is true, so the tests that need ${name} must run, but it isn't installed: install `,
  );
});
