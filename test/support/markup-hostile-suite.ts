import { describe, expect, test } from 'vitest';
import { plainMarkup } from '../../src/core/channels/markup/markup.ts';
import { hostileDocuments, lines } from './markup-hostile.ts';
import { faultsOf, platforms } from './markup-platforms.ts';
import { inkOf } from './visible-lines.ts';

/** Characters; what is longer is rendered and read as a whole, not once more for each rule. */
const MOST_READ = 100_000;

/** The machine may be busy with something else; the text may not. */
function fastest(attempts: number, work: () => void, enough: number): number {
  let best = Infinity;
  for (let attempt = 0; attempt < attempts && best > enough; attempt += 1) {
    const began = performance.now();
    work();
    best = Math.min(best, performance.now() - began);
  }
  return best;
}

/** Tests of every platform's markup with texts that are meant to break it; `answerMs` is a limit for a usual answer. */
export function testHostileMarkup({ scale, answerMs }: { scale: number; answerMs: number }): void {
  const hostile = hostileDocuments(scale);

  describe.each(platforms)('what is meant to break $name', (platform) => {
    test.each(hostile)('%s: legal, and rendered within a second', (_, text) => {
      expect(fastest(4, () => void platform.markup.render(text), 1_000)).toBeLessThan(1_000);
      if (text.length <= MOST_READ) expect(faultsOf(text, platform)).toEqual([]);
      else {
        const readings = platform.markup.render(text).map((part) => platform.read(part));
        expect(readings.flatMap(({ problems }) => problems)).toEqual([]);
        expect(inkOf(readings.map(({ visible }) => visible).join('\n'))).toBe(inkOf(text));
      }
    });

    test('what is deep is still there', () => {
      for (const text of [
        `${'>'.repeat(300)} deep`,
        `${'- '.repeat(300)}deep`,
        lines(60, (at) => `${' '.repeat(at * 2)}- item ${at}`),
      ]) {
        const shown = platform.markup.render(text).map((part) => platform.read(part).visible);
        expect(shown.join('\n')).toContain(text.includes('deep') ? 'deep' : 'item 59');
      }
    });

    test(`an answer of 2,000 characters is rendered within ${answerMs} ms`, () => {
      const answer = `# Plan

Here is **what I found** about \`foo_bar\` and [the docs](https://example.org/a_b):

- first *thing* to note
- second thing, see https://example.org/z_1
  - nested with \`code\`

\`\`\`ts
const a = 1;
const b = a < 2;
\`\`\`

> A quote of somebody.

| a | b |
|---|--:|
| one | 2 |

And a closing paragraph with some words in it that go on for a while, as answers do.

`
        .repeat(5)
        .slice(0, 2_000);
      const once = (): void => {
        for (let round = 0; round < 5; round += 1) platform.markup.render(answer);
      };
      for (let round = 0; round < 20; round += 1) once();
      expect(fastest(100, once, 10) / 5).toBeLessThan(answerMs);
    });
  });

  test.each(hostile)('plain text of %s: rendered within a second', (_, text) => {
    expect(fastest(4, () => void plainMarkup.render(text), 1_000)).toBeLessThan(1_000);
  });
}
