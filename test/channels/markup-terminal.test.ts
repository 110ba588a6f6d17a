import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { codePieces } from '../../src/extensions/terminal/markup-code.ts';
import { lastBlock, renderTerminal } from '../../src/extensions/terminal/markup.ts';
import { textWidth, type TerminalLook } from '../../src/core/channels/markup/terminal-text.ts';
import { terminalText } from '../../src/core/cli/format.ts';

const PLAIN: TerminalLook = { width: 60, style: 'plain', hyperlinks: false, clean: terminalText };

function plain(markdown: string, width = 60): string {
  return renderTerminal(markdown, { ...PLAIN, width }).join('\n');
}

function colored(markdown: string, more: Partial<TerminalLook> = {}): string {
  return renderTerminal(markdown, { ...PLAIN, style: 'color', ...more }).join('\n');
}

describe('Markdown in a terminal', () => {
  test.each([
    ['emphasis is shown, not its marks', 'a **b** *c* ~~d~~', 'a b c d'],
    ['code keeps its marks where there are no colours', 'run `ls -l` now', 'run `ls -l` now'],
    ['a heading stands apart', 'a\n# Title\nb', 'a\n\nTitle\nb'],
    ['lines stay lines', 'one\ntwo\n\nthree', 'one\ntwo\n\nthree'],
    ['lists have signs and numbers', '- a\n- b\n\n3. c\n4. d', '• a\n• b\n\n3. c\n4. d'],
    ['lists in lists are moved in', '- a\n  - b\n    1. c\n- d', '• a\n  • b\n    1. c\n• d'],
    ['an item without text shows its sign', '-\n- b', '•\n• b'],
    ['quotes have a bar', '> a\n>\n> - b', '│ a\n│ \n│ • b'],
    ['code stands in from the margin', '```sh\nls  -l\n\n\tx\n```', '  ls  -l\n\n      x'],
    ['a link shows where it leads', '[docs](https://a.b/c) and <https://d.e>', 'docs (https://a.b/c) and https://d.e'],
    ['a picture is a link', '![a cat](https://a.b/c.png)', 'a cat (https://a.b/c.png)'],
    ['HTML is text', '<b>x</b>', '<b>x</b>'],
    ['a rule is a line', 'a\n\n---\n\nb', `a\n\n${'─'.repeat(40)}\n\nb`],
  ])('%s', (_, markdown, shown) => {
    expect(plain(markdown).replaceAll(/ +$/gmu, '')).toBe(shown.replaceAll(/ +$/gmu, ''));
  });

  test('words are wrapped by the columns that they take, and what belongs to a sign stands below it', () => {
    expect(plain('- 世界 你好 emoji 🎉🎉 and words', 12)).toBe('• 世界 你好\n  emoji 🎉🎉\n  and words');
    expect(plain('a verylongwordthatdoesnotfit b', 10)).toBe('a verylong\nwordthatdo\nesnotfit b');
  });

  test('a table is drawn; one that is too wide has its widest cells wrapped', () => {
    const table = '| Name | Meaning | N |\n|---|:-:|--:|\n| a | one two three four five | 1 |\n| bb | x | 200 |';
    expect(plain(table)).toBe(
      [
        'Name │         Meaning         │   N',
        '─────┼─────────────────────────┼────',
        'a    │ one two three four five │   1',
        'bb   │            x            │ 200',
      ].join('\n'),
    );
    expect(plain(table, 26)).toBe(
      [
        'Name │    Meaning    │   N',
        '─────┼───────────────┼────',
        'a    │ one two three │   1',
        '     │   four five   │',
        '─────┼───────────────┼────',
        'bb   │       x       │ 200',
      ].join('\n'),
    );
  });

  test('a table of more columns than fit is a list of its rows', () => {
    const names = Array.from({ length: 8 }, (_, n) => `column${n}`);
    const table = [names, names.map(() => '---'), names.map((_, n) => `value${n}`)]
      .map((row) => `| ${row.join(' | ')} |`)
      .join('\n');
    expect(plain(table, 40).split('\n').slice(0, 2)).toEqual(['column0: value0', 'column1: value1']);
  });

  test('code has light colours, and a diff those of its signs', () => {
    expect(colored('```ts\nconst a = "b"; // c\n```')).toBe(
      '  \u001B[35mconst\u001B[0m a = \u001B[32m"b"\u001B[0m; \u001B[90m// c\u001B[0m',
    );
    expect(colored('```diff\n- a\n+ b\n```')).toBe('  \u001B[31m- a\u001B[0m\n  \u001B[32m+ b\u001B[0m');
    expect(codePieces('const a = 1', 'unheard-of')).toEqual([{ text: 'const a = 1' }]);
  });

  test('links are the terminal’s own where it knows them, and a hostile address is none', () => {
    const link = '\u001B]8;;https://a.b/c\u001B\\\u001B[4mdocs\u001B[0m\u001B]8;;\u001B\\';
    expect(colored('[docs](https://a.b/c)', { hyperlinks: true })).toBe(link);
    // oxlint-disable-next-line no-control-regex
    expect(colored('[x](<https://a.b/\u001B\\y>)', { hyperlinks: true })).not.toMatch(/\u001B\\y/u);
  });

  test('without colours bold is bold, and without control sequences nothing is', () => {
    expect(colored('**a** `b`', { style: 'mono' })).toBe('\u001B[1ma\u001B[0m `b`');
    expect(plain('**a** `b`')).not.toContain('\u001B');
  });
});

test('whatever a model writes, no row is too wide and nothing but colours and links is sent', () => {
  const bit = fc.constantFrom(
    '# ',
    '- ',
    '1. ',
    '> ',
    '```\n',
    '| a | b |\n|---|---|\n',
    '**',
    '`',
    '\n',
    '\n\n',
    'word ',
    '世界',
    '🎉',
    '\u001B[2J',
    '&#27;',
    '&#13;',
    '\u202E',
    '[x](http://a.b/\u0007)',
    '\t',
    '  ',
    'x'.repeat(70),
    '<b>',
    '\\',
    '---\n',
    '\r',
    '\u009B',
  );
  fc.assert(
    fc.property(fc.array(bit, { maxLength: 40 }), fc.integer({ min: 24, max: 90 }), (bits, width) => {
      for (const style of ['color', 'plain'] as const) {
        const rows = renderTerminal(bits.join(''), { width, style, hyperlinks: true, clean: terminalText });
        for (const row of rows) {
          // oxlint-disable-next-line no-control-regex
          const bare = row.replaceAll(/\u001B\[[\d;]*m|\u001B\]8;;[!-~]*\u001B\\/gu, '');
          expect(bare).not.toMatch(/[\p{Cc}\u202E]/u);
          // Signs of lists and quotes may stand deeper than a narrow terminal has room for.
          expect(textWidth(bare)).toBeLessThanOrEqual(Math.max(width, 10 + 4 * 20));
        }
      }
    }),
    { numRuns: 150 },
  );
});

describe('the last block of a text that grows', () => {
  test.each([
    ['one block', 'a\nb', 0],
    ['a paragraph after another', 'a\n\nb', 3],
    ['a list is one block', 'a\n\n- b\n\n- c', 3],
    ['code is one block', 'a\n\n```\nb\n\nc', 3],
    ['a paragraph after code', '```\nb\n```\nc', 10],
  ])('%s', (_, text, at) => {
    expect(lastBlock(text)).toBe(at);
  });

  test('shown block by block it is what it is as a whole', () => {
    const block = fc.constantFrom(
      'A paragraph\nof two lines.',
      '- a\n- b',
      '1. x',
      '```js\nlet a;\n\nb\n```',
      '> quote',
      '| a |\n|---|\n| b |',
      '---',
    );
    fc.assert(
      fc.property(fc.array(block, { minLength: 1, maxLength: 6 }), (blocks) => {
        // Lists of one kind in a row are one list.
        const text = blocks.filter((each, at) => each !== blocks[at - 1]).join('\n\n');
        let done = 0;
        const rows: string[] = [];
        for (let end = 1; end <= text.length; end += 1) {
          const at = lastBlock(text.slice(done, end));
          if (at === 0) continue;
          rows.push(...(done > 0 ? [''] : []), ...renderTerminal(text.slice(done, done + at), PLAIN));
          done += at;
        }
        rows.push(...(done > 0 ? [''] : []), ...renderTerminal(text.slice(done), PLAIN));
        expect(rows).toEqual(renderTerminal(text, PLAIN));
      }),
      { numRuns: 60 },
    );
  });
});
