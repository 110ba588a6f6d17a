import { matchesGlob } from 'node:path';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { globMatcher } from '../../../src/core/tools/files/search/glob-pattern.ts';

describe('a pattern', () => {
  test.each([
    ['*.ts', ['a.ts', 'src/deep/a.ts', '.hidden.ts'], ['a.tsx', 'a.ts/b']],
    ['src/*.ts', ['src/a.ts'], ['a.ts', 'src/x/a.ts', 'lib/src/a.ts']],
    ['**/test/*.ts', ['test/a.ts', 'x/y/test/a.ts'], ['test/x/a.ts', 'mytest/a.ts']],
    ['src/**', ['src/a', 'src/a/b.c'], ['src', 'srcs/a']],
    ['a/**/z', ['a/z', 'a/b/z', 'a/b/c/z'], ['az', 'a/bz']],
    ['*.{ts,js}', ['a.ts', 'x/b.js'], ['a.md']],
    ['{src,lib/deep}/*.md', ['src/a.md', 'lib/deep/a.md'], ['lib/a.md']],
    ['f?.txt', ['f1.txt', 'f😀.txt'], ['f.txt', 'f12.txt', 'f/.txt']],
    ['[a-c][!0-9]', ['ax', 'c-'], ['dx', 'a1']],
    ['[]x]', [']', 'x'], ['y']],
    ['[a^&]', ['a', '^', '&'], ['b']],
    [String.raw`\*\[a]`, ['*[a]'], ['xa', '*a']],
    ['a,b', ['a,b'], ['a', 'b']],
    ['a}b.$(c)+', ['a}b.$(c)+'], ['aXb']],
    ['./src/*.ts', ['src/a.ts'], ['x/src/a.ts']],
    ['Grüße 你好*', ['Grüße 你好 😀.txt'], ['Grusse']],
    ['a**b', ['aXb', 'ab'], ['a/b']],
  ])('%s', (pattern, fits, others) => {
    const matches = globMatcher(pattern);
    expect(fits.filter((path) => !matches(path))).toEqual([]);
    expect(others.filter((path) => matches(path))).toEqual([]);
  });

  test.each(['{a,b', '[a', '[]', '[z-a]', '\\', '', '/', 'x'.repeat(1_001)])(
    '%s is refused with a sentence',
    (pattern) => {
      expect(() => globMatcher(pattern)).toThrow(/^The pattern ".*" cannot be used: .+\.$/u);
    },
  );

  test('means what Node means by it, but for names that begin with a dot', () => {
    const piece = fc.constantFrom('a', 'b', '*', '?', '**', '/', '{a,b}', '[ab]', '.', '/**/', 'ab');
    const path = fc.array(fc.constantFrom('a', 'b', 'ab', 'a.b', 'c'), { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(fc.array(piece, { minLength: 1, maxLength: 5 }), path, (pieces, parts) => {
        const pattern = pieces.join('');
        const isPlain = /^(?!\/)(?!.*\/\/)(?!.*\*\*\*)(?!.*(?:^|\/)\.+(?:\/|$)).*[^/]$/u.test(pattern);
        fc.pre(isPlain && pattern.includes('/') && !/\*\*[^/]|[^/]\*\*/u.test(pattern));
        expect([pattern, globMatcher(pattern)(parts.join('/'))]).toEqual([
          pattern,
          matchesGlob(parts.join('/'), pattern),
        ]);
      }),
      { numRuns: 3_000 },
    );
  });
});
