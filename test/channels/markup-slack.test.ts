import { describe, expect, test } from 'vitest';
import { slackMarkup, slackMessage } from '../../src/extensions/slack/markup.ts';
import { faultsOf, platform } from '../support/markup-platforms.ts';

const slack = platform('Slack');
const render = (markdown: string): string => slackMarkup.render(markdown).join('\n=== next part ===\n');

describe('Markdown as Slack shows it', () => {
  test.each([
    ['bold, italic, strike', '**b** *i* ~~s~~ ***both***', '**b** _i_ ~~s~~ **_both_**'],
    ['italics within a word', 'un*frigging*believable', 'un*frigging*believable'],
    ['code', '`a` ``b`c``', '`a` ``b`c``'],
    ['a fence with its language', '```ts\nlet x;\n```', '```ts\nlet x;\n```'],
    ['a fence in a fence', '````\n```\na\n```\n````', '````\n```\na\n```\n````'],
    ['headings', '# a\n#### b', '# a\n#### b'],
    ['a heading that ends with a number sign', '# a \\#', '# a \\#'],
    ['a heading that is too long for one', `# ${'a'.repeat(151)}`, `**${'a'.repeat(151)}**`],
    ['lists with nesting', '* a\n  1. b\n     - c\n  2. d', '- a\n  1. b\n     - c\n  2. d'],
    ['two lists in a row', '1. a\n1) b\n- c\n* d', '1. a\n\n1) b\n\n- c\n\n* d'],
    ['an empty item', '- a\n-\n- b', '- a\n- \u200b\n- b'],
    ['a number that begins no list', '- a\n  2. b', '- a\n  2\\. b'],
    ['quotes', '> a\n>\n> b\n\nc', '> a\n> \n> b\n\nc'],
    ['a heading behind a quote', '> a\n# b', '> a\n\n# b'],
    ['tables as aligned code', '|a|n|\n|-|-:|\n|b|10|', '```\na |  n\n--|---\nb | 10\n```'],
    ['a rule, also in a list', '---\n\n- ***', '---\n\n- ___'],
    ['line breaks', 'a\nb  \nc', 'a\nb\nc'],
    ['links', '[a & b](https://x.y/(c)?p=1&q=2)', '[a &amp; b](https://x.y/%28c%29?p=1&amp;q=2)'],
    [
      "links as Slack's API has them",
      '- <https://x.y/c?p=1|GitLab #1> <x|y>',
      '- [GitLab #1](https://x.y/c?p=1) &lt;x|y&gt;',
    ],
    ['mail addresses', '[a](mailto:me@x.y) <me@x.y>', '[a](mailto:me@x.y) [me@x.y](mailto:me@x.y)'],
    ['other schemes only as text', '[a](ftp://x.y)', 'a (ftp://x.y)'],
    ['addresses in the text', 'http://x.y http://x.y/\\_a', 'http://x.y [http://x.y/\\_a](http://x.y/_a)'],
    ['a picture as a link', '![a cat](http://x.y/c.png)', '[a cat](http://x.y/c.png)'],
    ['an exclamation mark before a link', 'a\\![b](http://x.y)', 'a\\![b](http://x.y)'],
  ])('%s', (_, markdown, markup) => {
    expect(render(markdown)).toBe(markup);
    expect(faultsOf(markdown, slack)).toEqual([]);
  });
});

describe('text on Slack stays text', () => {
  test.each([
    ['everybody', '<!channel> <!here|x>', '&lt;!channel&gt; &lt;!here|x&gt;'],
    ['people and channels', '<@U123> <#C1|x>', '&lt;@U123&gt; &lt;#C1|x&gt;'],
    ['mentions in code', '`<!channel>`', '`<\u200b!channel>`'],
    ['mentions in a block of code', '```\n<@U123> <!DOCTYPE>\n```', '```\n<\u200b@U123> <!DOCTYPE>\n```'],
    ['entities', '&amp;lt; a & b', '&amp;lt; a &amp; b'],
    ['stars, and underscores within words', '2\\*3 snake_case \\_a\\_', '2\\*3 snake_case \\_a\\_'],
    ['headings, quotes, lists, rules', '\\# a\n\\> b\n\\- c\n1\\. d\n\\---', '\\# a\n&gt; b\n\\- c\n1\\. d\n\\---'],
    ['raw HTML', '<b>a</b>', '&lt;b&gt;a&lt;/b&gt;'],
  ])('%s', (_, markdown, markup) => {
    expect(render(markdown)).toBe(markup);
    expect(faultsOf(markdown, slack)).toEqual([]);
  });

  test('emphasis that could not be read is left out, and its text is not', () => {
    expect(render('a*b***c**d')).toBe('ab**c**d');
    expect(faultsOf('_a_**b**c*d*~~e~~', slack)).toEqual([]);
  });
});

describe('messages for Slack', () => {
  test('a part is one block, with the same text without markup for where blocks are not shown', () => {
    const [part = ''] = slackMarkup.render('**a** `<!channel>` & [b](http://x.y)\n\n- c');
    expect(slackMessage(part)).toEqual({
      text: 'a &lt;!channel&gt; &amp; b\n\n• c',
      blocks: [{ type: 'markdown', text: part }],
    });
    expect(slackMarkup.plain(part)).toBe('a <!channel> & b\n\n• c');
  });

  test('a fence that is cut is closed and opened again with its language', () => {
    const code = Array.from({ length: 1_500 }, (_, line) => `  const value${line} = ${line};`).join('\n');
    const parts = slackMarkup.render(`Before.\n\n\`\`\`ts\n${code}\n\`\`\`\n\nAfter.`);
    expect(parts.length).toBeGreaterThan(2);
    for (const part of parts.slice(1, -1)) expect(part).toMatch(/^```ts\n {2}const[^]*;\n```$/u);
  });

  test('headings and rules, which are blocks of their own, are at most as many as a message may have', () => {
    const text = Array.from({ length: 120 }, (_, at) => `## ${at}\n\ntext\n\n---`).join('\n\n');
    const parts = slackMarkup.render(text);
    expect(parts.length).toBeGreaterThan(5);
    expect(faultsOf(text, slack)).toEqual([]);
  });

  test('a part takes a mark in front that leaves it as it was', () => {
    for (const part of slackMarkup.render(`\`\`\`\n${'word\n'.repeat(6_000)}\`\`\``)) {
      const marked = slackMarkup.marked('↻ ', part);
      expect(slack.read(marked).problems).toEqual([]);
      expect(slack.read(marked).visible.trim()).toMatch(/^↻\n+word/u);
    }
  });
});
