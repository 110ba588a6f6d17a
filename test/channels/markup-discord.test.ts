import { describe, expect, test } from 'vitest';
import { discordMarkup } from '../../src/extensions/discord/markup.ts';
import { faultsOf, platform } from '../support/markup-platforms.ts';

const discord = platform('Discord');
const render = (markdown: string): string => discordMarkup.render(markdown).join('\n=== next part ===\n');

describe('Markdown as Discord shows it', () => {
  test.each([
    ['bold, italic, strike', '**b** *i* ~~s~~ ***both***', '**b** _i_ ~~s~~ **_both_**'],
    ['italics within a word', 'un*frigging*believable', 'un*frigging*believable'],
    ['code in bold stands alone', '**a `b` c**', '**a** `b` **c**'],
    ['code with backticks', '``a`b`` `` `c ``', '``a`b`` `` `c``'],
    ['code that Discord could not show', '```` a``b`c ````', 'a\\`\\`b\\`c'],
    ['a fence with its language', '```ts\nlet x;\n```', '```ts\nlet x;\n```'],
    ['a fence in a fence', '````\n```\na\n```\n````', '```\n``\u200b`\na\n``\u200b`\n```'],
    ['a fence with an odd language', '```a"b\nx\n```', '```\nx\n```'],
    ['headings, the lower ones as bold text', '# a\n## b\n### c\n#### d', '# a\n## b\n### c\n**d**'],
    ['a heading that ends with a sign that Discord leaves out', '# C#', '**C#**'],
    ['a heading in a list', '- # a', '- **a**'],
    ['lists with nesting', '* a\n  1. b\n     - c\n  2. d', '- a\n  1. b\n     - c\n  2. d'],
    ['the lines of an item', '10. a\n    b', '10. a\n    b'],
    ['a loose list', '- a\n\n  b\n\n- c', '- a\n  \n  b\n\n- c'],
    ['code in a list', '- a\n  ```\n  b\n\n  c\n  ```', '- a\n  ```\n  b\n  \n  c\n  ```'],
    ['an empty item', '- a\n-\n- b', '- a\n- \u200b\n- b'],
    ['two lists in a row', '1. a\n1) b\n- c', '1. a\n\n1. b\n\n- c'],
    ['numbers from zero, which Discord does not have', '0. a\n1. b', '0\\. a\n1\\. b'],
    ['quotes', '> a\n>\n> b\n\nc', '> a\n> \n> b\n\nc'],
    ['two quotes', '> a\n\n<!-- -->\n\n> b', '> a\n\n\\<!-- -->\n\n> b'],
    ['a list and code in a quote', '> - a\n> ```\n> b\n> ```', '> - a\n> ```\n> b\n> ```'],
    ['tables as aligned code', '|a|n|\n|-|-:|\n|b|10|', '```\na |  n\n--|---\nb | 10\n```'],
    ['a rule', 'a\n\n---\n\nb', 'a\n\n———\n\nb'],
    ['line breaks', 'a\nb  \nc', 'a\nb\nc'],
  ])('%s', (_, markdown, markup) => {
    expect(render(markdown)).toBe(markup);
    expect(faultsOf(markdown, discord)).toEqual([]);
  });
});

describe('addresses on Discord have no preview', () => {
  test.each([
    ['a link', '[the docs](https://x.y/a_b?q=*)', '[the docs](<https://x.y/a_b?q=%2A>)'],
    ['a link with brackets in its address', '[a](http://x.y/b_(c))', '[a](<http://x.y/b_%28c%29>)'],
    ['a bold link', '**[a](http://x.y)**', '**[a](<http://x.y>)**'],
    ['an address in the text', 'See https://x.y/a_b.', 'See <https://x.y/a_b>.'],
    ['an address in brackets', '(https://x.y/(a))', '(<https://x.y/(a)>)'],
    ['an address in bold text', '**see http://x.y**', '**see** <http://x.y>'],
    ['an address in angle brackets', '<http://x.y>', '<http://x.y>'],
    ['a picture', '![a cat](http://x.y/c.png)', '[a cat](<http://x.y/c.png>)'],
    ['a label that is another address', '[http://good.org](http://e.vil)', '<http://good.org> (<http://e.vil>)'],
    ['a label with signs that cannot be escaped in it', '[a*b](http://x.y)', 'a\\*b (<http://x.y>)'],
    ['a label with an emoji', '[🎉 a](http://x.y)', '🎉 a (<http://x.y>)'],
    ['a mail address', '[mail](mailto:me@x.y)', 'mail (me@x.y)'],
    ['another scheme', '[a](tg://b)', 'a (tg://b)'],
    ['steam', 'steam://run', 'steam\\://run'],
  ])('%s', (_, markdown, markup) => {
    expect(render(markdown)).toBe(markup);
    expect(faultsOf(markdown, discord)).toEqual([]);
  });
});

describe('text on Discord stays text', () => {
  test.each([
    ['everybody', '@everyone @here', '@\u200beveryone @\u200bhere'],
    ['people, roles, channels', '<@1> <@!2> <@&3> <#4>', '\\<@\u200b1> \\<@!\u200b2> \\<@&\u200b3> \\<#\u200b4>'],
    ['times, emoji, commands', '<t:1:R> <a:b:2> </c:3>', '\\<t:1:R> \\<a:b:2> \\</c:3>'],
    ['spoilers', '||a||', '\\|\\|a\\|\\|'],
    ['underlining', '\\_\\_a\\_\\_', '\\_\\_a\\_\\_'],
    ['small print', '-# a', '\\-# a'],
    ['headings, quotes, lists', '\\# a\n\\> b\n\\- c\n1\\. d', '\\# a\n\\> b\n\\- c\n1\\. d'],
    ['a list within bold text', '**1. a**', '**1\\. a**'],
    ['stars and underscores', '2\\*3\\*4 snake_case_name', '2\\*3\\*4 snake\\_case\\_name'],
    ['backslashes', 'C:\\dir', 'C:\\\\dir'],
    ['raw HTML', '<b>a</b>', '\\<b>a\\</b>'],
  ])('%s', (_, markdown, markup) => {
    expect(render(markdown)).toBe(markup);
    expect(faultsOf(markdown, discord)).toEqual([]);
  });
});

describe('long answers on Discord', () => {
  test('a fence that is cut is closed and opened again with its language', () => {
    const code = Array.from({ length: 200 }, (_, line) => `  const value${line} = ${line};`).join('\n');
    const parts = discordMarkup.render(`Before.\n\n\`\`\`ts\n${code}\n\`\`\`\n\nAfter.`);
    expect(parts.length).toBeGreaterThan(2);
    for (const part of parts.slice(1, -1)) expect(part).toMatch(/^```ts\n {2}const[^]*;\n```$/u);
  });

  test('a quote and a list that are cut go on as they were', () => {
    const quote = discordMarkup.render(`> ${'word '.repeat(800)}`);
    expect(quote).toHaveLength(3);
    for (const part of quote) expect(part).toMatch(/^> word/u);
    const list = discordMarkup.render(Array.from({ length: 300 }, () => '1. item').join('\n'));
    expect(list[1]).toMatch(/^\d{3}\. item\n\d{3}\. item/u);
  });

  test('a list that is cut within its third level begins at the margin again', () => {
    const deep = `- a\n  - b\n${'    - c and more\n'.repeat(200)}`;
    const [, second = ''] = discordMarkup.render(deep);
    expect(second.split('\n').slice(0, 2)).toEqual(['- c and more', '- c and more']);
  });

  test('a part takes a mark in front that leaves it as it was', () => {
    expect(discordMarkup.marked('↻ ', 'a')).toBe('↻ a');
    expect(discordMarkup.marked('↻ ', '```\na\n```')).toBe('↻\n```\na\n```');
    for (const part of discordMarkup.render('word '.repeat(2_000))) {
      expect(discord.read(discordMarkup.marked('↻ ', part)).problems).toEqual([]);
      expect(discordMarkup.plain(part)).toBe(part);
    }
  });
});
