import { expect, test } from 'vitest';
import { meaningOf } from './meaning.ts';

test.each([
  ['if (false) a();', ''],
  ['if (true) { a(); b(); }', 'a(); b();'],
  ['if (false) a(); else b();', 'b();'],
  ['if (a) ;', ''],
  ['f(true && a, a && true, false || a);', 'f(a, a, a);'],
  ['f(!true, (a), false && a);', 'f(false, a, false);'],
  ['f(true ? a : b);', 'f(a);'],
  ['f([...[], a], { ...{}, a });', 'f([a], { a: a });'],
  ['for (const a of b) {}', ';'],
])('%s means the same as %s', (one, other) => {
  expect(meaningOf(one)).toBe(meaningOf(other));
});

test('what does something else means something else', () => {
  const texts = ['f(a);', 'f(b);', 'if (a) b();', 'b();', 'f(a && b);', 'f(a || b);', 'f(1n);'];
  expect(new Set(texts.map(meaningOf)).size).toBe(texts.length);
});
