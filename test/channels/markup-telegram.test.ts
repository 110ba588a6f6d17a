import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { renderTelegram } from '../../src/extensions/telegram/markup.ts';
import { parseTelegramHtml } from '../support/telegram-html.ts';

const render = (markdown: string): string => renderTelegram(markdown).join('\n=== next part ===\n');

function visible(html: string): string {
  const parsed = parseTelegramHtml(html);
  if ('problem' in parsed) throw new Error(`${parsed.problem}: ${html}`);
  return parsed.visible;
}

describe('Markdown as Telegram shows it', () => {
  test.each([
    ['bold, italic, strike', '**b** *i* ~~s~~ ***both***', '<b>b</b> <i>i</i> <s>s</s> <b><i>both</i></b>'],
    ['inline code stands alone', '**a `b` c**', '<b>a </b><code>b</code><b> c</b>'],
    [
      'a fence with its language',
      '```ts\nlet x = 1 < 2;\n```',
      '<pre><code class="language-ts">let x = 1 &lt; 2;</code></pre>',
    ],
    ['a fence without a language', '```\n  a\n\n  b\n```', '<pre>  a\n\n  b</pre>'],
    ['a fence with an odd language', '```a"b\nx\n```', '<pre>x</pre>'],
    ['a fence that is never closed', '```js\nx', '<pre><code class="language-js">x</code></pre>'],
    ['links', '[a & b](https://x.y/?p=1&q=2)', '<a href="https://x.y/?p=1&amp;q=2">a &amp; b</a>'],
    [
      'links of Telegram itself, and mail addresses as text, where it finds them',
      '[a](tg://user?id=1) <me@x.y> [write](mailto:me@x.y)',
      '<a href="tg://user?id=1">a</a> me@x.y write (me@x.y)',
    ],
    ['an address in the label of a link', '[a <http://x.y> b](http://z)', '<a href="http://z">a http://x.y b</a>'],
    ['other schemes only as text', '[a](ftp://x.y) [b](docs/x.md)', 'a (ftp://x.y) b (docs/x.md)'],
    ['scripts as written', '[a](javascript:alert(1))', '[a](javascript:alert(1))'],
    ['a link without a label', '[](http://x.y)', '<a href="http://x.y">http://x.y</a>'],
    [
      'images as links',
      '![a cat](http://x.y/c.png) ![](http://x.y)',
      '<a href="http://x.y/c.png">a cat</a> <a href="http://x.y">http://x.y</a>',
    ],
    ['a linked image', '[![a cat](http://x.y/c.png)](http://z)', '<a href="http://z">a cat</a>'],
    ['headings as bold', '# One\ntext\n\nTwo\n---', '<b>One</b>\ntext\n\n<b>Two</b>'],
    ['bullets with nesting', '- a\n- b\n  - c\n    - d\n- e', '• a\n• b\n  • c\n    • d\n• e'],
    ['numbers', '3. a\n4. b\n   - c', '3. a\n4. b\n  • c'],
    ['numbers that are all the same', '1. a\n1. b\n1) c', '1. a\n2. b\n1. c'],
    ['numbers from zero', '0. a\n1. b', '0. a\n1. b'],
    ['a loose list and its paragraphs', '- a\n\n  more\n\n- b', '• a\n\n  more\n\n• b'],
    ['an empty item', '- a\n-\n- b', '• a\n• \n• b'],
    ['quotes, flattened', '> a\n> > b\n>\n> c\n\nd', '<blockquote>a\nb\n\nc</blockquote>\n\nd'],
    [
      'two quotes stay two',
      '> a\n\n<!-- -->\n\n> b',
      '<blockquote>a</blockquote>\n\n&lt;!-- --&gt;\n\n<blockquote>b</blockquote>',
    ],
    ['code in a quote', '> `x`\n>\n> ```\n> y\n> ```', '<blockquote><code>x</code>\n\n<pre>y</pre></blockquote>'],
    [
      'tables as aligned text',
      '| a | n |\n|---|--:|\n| long **cell** | 1 |\n| 日 | 20 |',
      '<pre>a         |  n\n----------|---\nlong cell |  1\n日        | 20</pre>',
    ],
    ['a code block without code', 'a\n\n```\n\n```\n\nb', 'a\n\n\n\nb'],
    ['a heading with code', '## Use `x`', '<b>Use </b><code>x</code>'],
    ['a rule', 'a\n\n***\n\nb', 'a\n\n———\n\nb'],
    ['raw HTML as text', '<b>x</b> <script>', '&lt;b&gt;x&lt;/b&gt; &lt;script&gt;'],
    ['line breaks are kept', 'a\nb  \nc', 'a\nb\nc'],
    ['words with underscores', 'snake_case_name and 2*3', 'snake_case_name and 2*3'],
    ['what shows nothing is shown as written', '[x]: http://y', '[x]: http://y'],
    ['broken surrogates are replaced', 'a\ud800b', 'a\ufffdb'],
  ])('%s', (_, markdown, html) => {
    expect(render(markdown)).toBe(html);
    for (const part of renderTelegram(markdown)) visible(part);
  });

  test.each([' \n\t\n', '\u200b', '\u00a0', '\u2060\u200f \u00ad', ''])(
    'text like %j that nobody could see has no parts',
    (text) => {
      expect(renderTelegram(text)).toEqual([]);
    },
  );

  test('a link whose address is too long for the message is text', () => {
    const html = render(`[label](http://x.y/${'z'.repeat(3_000)})`);
    expect(html).not.toContain('<a');
    expect(html).toContain('label (http://x.y/zzz');
  });
});

describe('long answers', () => {
  test('a fence that is cut is closed and opened again with its language', () => {
    const code = Array.from({ length: 600 }, (_, line) => `  const value${line} = ${line};`).join('\n');
    const parts = renderTelegram(`Before.\n\n\`\`\`ts\n${code}\n\`\`\`\n\nAfter.`);
    expect(parts.length).toBeGreaterThan(3);
    for (const part of parts.slice(1, -1)) {
      expect(part).toMatch(/^<pre><code class="language-ts"> {2}const[^]*;<\/code><\/pre>$/u);
    }
  });

  test('parts stay below both limits, also where every character needs an entity', () => {
    for (const text of [
      '&'.repeat(10_000),
      '`<`'.repeat(3_000),
      '[a](http://x.y/?a&b&c&d) '.repeat(2_000),
      '😀'.repeat(6_000),
    ]) {
      for (const part of renderTelegram(text)) {
        expect(part.length).toBeLessThanOrEqual(9_000);
        expect(visible(part).length).toBeLessThanOrEqual(4_094);
      }
    }
  });
});

describe('any text', () => {
  test('shows every plain word it was given, also when it is cut into parts', () => {
    const paragraph = fc
      .array(fc.stringMatching(/^[a-z]{1,12}$/u), { minLength: 1, maxLength: 40 })
      .map((words) => words.join(' '));
    const styled = fc
      .tuple(paragraph, fc.constantFrom('', '**', '*', '~~', '`'))
      .map(([text, mark]) => mark + text + mark);
    const prefix = fc.constantFrom('', '- ', '1. ', '> ', '# ');
    const blocks = fc.array(
      fc.tuple(prefix, styled).map(([before, text]) => before + text),
      { minLength: 1, maxLength: 40 },
    );
    fc.assert(
      fc.property(blocks, (texts) => {
        const shown = renderTelegram(texts.join('\n\n')).map(visible).join('\n');
        expect(shown.match(/[a-z]+/gu)).toEqual(texts.join(' ').match(/[a-z]+/gu));
      }),
      { numRuns: 300, seed: 20_260_104 },
    );
  });
});
