import { expect, test } from 'vitest';
import { discordMarkup } from '../../src/extensions/discord/markup.ts';
import { slackMarkup } from '../../src/extensions/slack/markup.ts';
import { plainMarkup } from '../../src/core/channels/markup/markup.ts';
import { telegramMarkup } from '../../src/extensions/telegram/markup.ts';

test.each([
  ['looks are left out', '**a** _b_ ~~c~~ `d` # e', 'a b c d # e'],
  [
    'links have their address behind them',
    '[a](http://x.y) <http://z.w> ![p](http://p.q)',
    'a (http://x.y) http://z.w p (http://p.q)',
  ],
  ['lists, quotes, headings, rules', '# h\n\n- a\n  1. b\n\n> c\n\n---', 'h\n\n• a\n  1. b\n\nc\n\n———'],
  ['tables are aligned', '|a|n|\n|-|-:|\n|b|10|', 'a |  n\n--|---\nb | 10'],
  [
    'a cell with line breaks has as many lines',
    '|a|n|\n|-|-:|\n|b<br>c<br/>d|10|\n|e|1|',
    'a |  n\n--|---\nb | 10\nc |\nd |\ne |  1',
  ],
  ['code is as it was', '```ts\n  a\n\n  b\n```', 'a\n\n  b'],
])('as plain text, %s', (_, markdown, text) => {
  expect(plainMarkup.render(markdown)).toEqual([text]);
});

test.each([
  ['Telegram', telegramMarkup],
  ['Discord', discordMarkup],
  ['Slack', slackMarkup],
])('a table that is cut has its head in each part: %s', (_, markup) => {
  const rows = Array.from({ length: 900 }, (_, n) => `| ${n} | a row with some words |`);
  const parts = markup.render(['| Number | What |', '|---|---|', ...rows].join('\n'));
  expect(parts.length).toBeGreaterThan(2);
  expect(Math.max(...parts.map((part) => part.length))).toBeLessThan(12_001);
  for (const part of parts) expect(part).toMatch(/^\W*(?:pre>|text)?\s*Number \| What\n-+\|-+\n\d+ +\| a row/u);
  const shown = parts.join('\n').match(/\d+(?= +\| a row with some words)/gu);
  expect(shown).toEqual(rows.map((_, n) => String(n)));
});

test('text that shows nothing has no part, and a part needs no other form', () => {
  expect(plainMarkup.render(' \u200b\n')).toEqual([]);
  expect(plainMarkup.plain('<a>')).toBe('<a>');
  expect(plainMarkup.marked('↻ ', 'a')).toBe('↻ a');
});

test('a part for Telegram says the same without its markup', () => {
  const [part = ''] = telegramMarkup.render('**a** < `b` & "c"');
  expect(telegramMarkup.plain(part)).toBe('a < b & "c"');
  expect(telegramMarkup.plain(telegramMarkup.marked('↻ ', part))).toBe('↻ a < b & "c"');
});
