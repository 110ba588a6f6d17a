import { expect, test } from 'vitest';
import { plainMarkup } from '../../src/channels/markup/markup.ts';
import { telegramMarkup } from '../../src/channels/markup/telegram.ts';

test.each([
  ['looks are left out', '**a** _b_ ~~c~~ `d` # e', 'a b c d # e'],
  [
    'links have their address behind them',
    '[a](http://x.y) <http://z.w> ![p](http://p.q)',
    'a (http://x.y) http://z.w p (http://p.q)',
  ],
  ['lists, quotes, headings, rules', '# h\n\n- a\n  1. b\n\n> c\n\n---', 'h\n\n• a\n  1. b\n\nc\n\n———'],
  ['tables are aligned', '|a|n|\n|-|-:|\n|b|10|', 'a |  n\n--|---\nb | 10'],
  ['code is as it was', '```ts\n  a\n\n  b\n```', 'a\n\n  b'],
])('as plain text, %s', (_, markdown, text) => {
  expect(plainMarkup.render(markdown)).toEqual([text]);
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
