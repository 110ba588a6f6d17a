import { describe, expect, test } from 'vitest';
import { plainMarkup } from '../../src/channels/markup/plain.ts';
import { inkOf } from '../support/visible-lines.ts';
import { faultsOf, platforms } from '../support/markup-platforms.ts';

const MILLION = 1_000_000;
const lines = (count: number, line: (at: number) => string): string =>
  Array.from({ length: count }, (_, at) => line(at)).join('\n');

const hostile: readonly (readonly [string, string])[] = [
  ['10,000 quotes inside of each other', `${'>'.repeat(10_000)} deep`],
  ['10,000 lists inside of each other', `${'- '.repeat(10_000)}deep`],
  ['lists and quotes inside of each other', `${'> 1. '.repeat(5_000)}deep`],
  ['lists that go deeper with each line', lines(400, (at) => `${' '.repeat(at * 2)}- item ${at}`)],
  ['a million stars', '*'.repeat(MILLION)],
  ['a word and a million stars', `word${'*'.repeat(MILLION)}`],
  ['99,000 stars before a word', `${'*'.repeat(99_000)}word`],
  ['stars and words', '*a **b '.repeat(14_000)],
  ['100,000 opening brackets', '['.repeat(100_000)],
  ['links that never end', '[a](<http://x.y'.repeat(6_000)],
  ['pictures inside of each other', `${'!['.repeat(20_000)}a${'](x)'.repeat(14_000)}`],
  ['brackets inside of each other', `${'['.repeat(40_000)}a${']'.repeat(40_000)}`],
  ['backticks in rising numbers', Array.from({ length: 440 }, (_, at) => `${'`'.repeat(at)}a`).join('')],
  ['backslashes', '\\'.repeat(99_999)],
  ['ampersands and brackets', '&<'.repeat(50_000)],
  ['pipes', `${'|a'.repeat(5_000)}\n${'|-'.repeat(5_000)}\n${'|b\n'.repeat(5_000)}`],
  ['a table with one very wide cell', `|${'a'.repeat(40_000)}|b|\n|-|-|\n${'|c|d|\n'.repeat(9_000)}`],
  ['definitions of links', lines(8_000, (at) => `[a${at}]: http://x.y`)],
  ['one letter in a line', 'a\n'.repeat(50_000)],
  ['headings', '# a\n'.repeat(25_000)],
  ['rules', '---\n'.repeat(25_000)],
  ['fences', '```\na\n'.repeat(16_000)],
  ['looks that overlap', '*_~~'.repeat(12_000) + 'a' + '~~_*'.repeat(12_000)],
  [
    'text that runs from right to left, and marks without a shape',
    '\u202e\u2067\u200f\u200b\u2060'.repeat(2_000) + 'שלום '.repeat(5_000),
  ],
  ['marks upon a letter', `a${'\u0301'.repeat(90_000)}`],
  ['families', '👩‍👩‍👧‍👦'.repeat(9_000)],
  ['half surrogate pairs', '\ud83d a \ude00'.repeat(15_000)],
  ['one word of a million letters', 'a'.repeat(MILLION)],
  ['a million line breaks', `a${'\n'.repeat(MILLION)}b`],
  ['a million spaces', `a${' '.repeat(MILLION)}b`],
  ['mentions', '<!channel> @everyone <@1> '.repeat(3_800)],
  ['a long address', `http://x.y/${'a_b*'.repeat(20_000)}`],
];

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

describe.each(platforms)('what is meant to break $name', (platform) => {
  test.each(hostile)('%s: legal, and rendered within a second', (_, text) => {
    expect(fastest(4, () => void platform.markup.render(text), 1_000)).toBeLessThan(1_000);
    if (text.length < MILLION) expect(faultsOf(text, platform)).toEqual([]);
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

  test('an answer of 2,000 characters is rendered within two milliseconds', () => {
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
    expect(fastest(100, once, 10) / 5).toBeLessThan(2);
  });
});

test.each(hostile)('plain text of %s: rendered within a second', (_, text) => {
  expect(fastest(4, () => void plainMarkup.render(text), 1_000)).toBeLessThan(1_000);
});
