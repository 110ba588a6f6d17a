export const lines = (count: number, line: (at: number) => string): string =>
  Array.from({ length: count }, (_, at) => line(at)).join('\n');

/**
 * Names and texts that make parsers slow, deep or wrong. `scale` 1 is the size of the largest; what is meant stays the same
 * with less.
 */
export function hostileDocuments(scale: number): readonly (readonly [string, string])[] {
  const n = (count: number): number => Math.ceil(count * scale);
  return [
    ['quotes inside of each other', `${'>'.repeat(n(10_000))} deep`],
    ['lists inside of each other', `${'- '.repeat(n(10_000))}deep`],
    ['lists and quotes inside of each other', `${'> 1. '.repeat(n(5_000))}deep`],
    ['lists that go deeper with each line', lines(n(400), (at) => `${' '.repeat(at * 2)}- item ${at}`)],
    ['stars', '*'.repeat(n(1_000_000))],
    ['a word and stars', `word${'*'.repeat(n(1_000_000))}`],
    ['stars before a word', `${'*'.repeat(n(99_000))}word`],
    ['stars and words', '*a **b '.repeat(n(14_000))],
    ['opening brackets', '['.repeat(n(100_000))],
    ['links that never end', '[a](<http://x.y'.repeat(n(6_000))],
    ['pictures inside of each other', `${'!['.repeat(n(20_000))}a${'](x)'.repeat(n(14_000))}`],
    ['brackets inside of each other', `${'['.repeat(n(40_000))}a${']'.repeat(n(40_000))}`],
    ['backticks in rising numbers', Array.from({ length: 440 }, (_, at) => `${'`'.repeat(at)}a`).join('')],
    ['backslashes', '\\'.repeat(n(99_999))],
    ['ampersands and brackets', '&<'.repeat(n(50_000))],
    ['pipes', `${'|a'.repeat(n(5_000))}\n${'|-'.repeat(n(5_000))}\n${'|b\n'.repeat(n(5_000))}`],
    ['a table with one very wide cell', `|${'a'.repeat(n(40_000))}|b|\n|-|-|\n${'|c|d|\n'.repeat(n(9_000))}`],
    ['definitions of links', lines(n(8_000), (at) => `[a${at}]: http://x.y`)],
    ['one letter in a line', 'a\n'.repeat(n(50_000))],
    ['headings', '# a\n'.repeat(n(25_000))],
    ['rules', '---\n'.repeat(n(25_000))],
    ['fences', '```\na\n'.repeat(n(16_000))],
    ['looks that overlap', '*_~~'.repeat(n(12_000)) + 'a' + '~~_*'.repeat(n(12_000))],
    [
      'text that runs from right to left, and marks without a shape',
      '\u202e\u2067\u200f\u200b\u2060'.repeat(n(2_000)) + 'שלום '.repeat(n(5_000)),
    ],
    ['marks upon a letter', `a${'\u0301'.repeat(n(90_000))}`],
    ['families', '👩‍👩‍👧‍👦'.repeat(n(9_000))],
    ['half surrogate pairs', '\ud83d a \ude00'.repeat(n(15_000))],
    ['one long word', 'a'.repeat(n(1_000_000))],
    ['line breaks', `a${'\n'.repeat(n(1_000_000))}b`],
    ['spaces', `a${' '.repeat(n(1_000_000))}b`],
    ['mentions', '<!channel> @everyone <@1> '.repeat(n(3_800))],
    ['a long address', `http://x.y/${'a_b*'.repeat(n(20_000))}`],
  ];
}
