import { describe, expect, test } from 'vitest';
import { readDiscord } from './discord-markdown.ts';
import { readSlack } from './slack-markdown.ts';
import { readTelegram } from './telegram-part.ts';
import { visibleLines } from './visible-lines.ts';

describe('what the readers object to', () => {
  test.each([
    ['too much text', 'a'.repeat(4_097), '4097 characters'],
    ['nothing to be seen', '<b>\u200b</b>', 'empty'],
    ['half a surrogate pair', 'a\ud83d', 'half a character'],
    ['an empty tag', 'a<i></i>', 'markup around nothing'],
    ['a mail address as a link', '<a href="mailto:me@x.y">me</a>', 'a link elsewhere: mailto:me@x.y'],
    ['a script', '<a href="javascript:alert(1)">x</a>', 'a link elsewhere: javascript:alert(1)'],
    ['more formatting than Telegram keeps', '<b>a</b> '.repeat(101), '101 entities'],
    ['what the server refuses', '<b>a', 'Can\'t find end tag corresponding to start tag "b"'],
  ])('on Telegram: %s', (_, html, problem) => {
    expect(readTelegram(html).problems).toEqual([problem]);
  });

  test.each([
    ['too much text', 'a'.repeat(2_001), '2001 characters'],
    ['nothing to be seen', '\u200b \n', 'empty'],
    ['everybody', 'a @everyone', 'a mention: @everyone'],
    ['everybody who is there', '**@here**', 'a mention: @here'],
    ['a person', '<@123> and \\<@123>', 'a mention: <@123>'],
    ['a person, a role, a channel, a command', '<@!1><@&2><#3></a:4>', 'a mention: <@!1>'],
    ['a time', '<t:1700000000:R>', 'a mention: <t:1700000000:R>'],
    ['an address that is fetched', 'see http://x.yz.', 'an address with a preview: http://x.yz'],
    ['a link that is fetched', '[a](http://x.y)', 'a link with a preview: [a](http://x.y)'],
    ['a link with a bracket in its address', '[a](<http://x.y/)>)', 'a link with a preview: [a](<http://x.y/)'],
    [
      'a label with an address',
      '[http://x.yz](<http://e.vil>)',
      'a link that is shown as written: [http://x.yz](<http://e.vil>)',
    ],
    ['a label with escapes', '[a\\_b](<http://x.y>)', 'a link that is shown as written: [a\\_b](<http://x.y>)'],
    ['a link that runs something', '[a](<javascript:x>)', 'a link to nowhere: [a](<javascript:x>)'],
    ['a spoiler', 'a ||b|| c', 'a spoiler'],
    ['underlined text', '__a__', 'underlined'],
    ['small print', 'a\n-# b', 'small print'],
    ['a quote of everything', 'a\n>>> b\nc', 'everything quoted'],
  ])('on Discord: %s', (_, content, problem) => {
    expect(readDiscord(content).problems).toContain(problem);
  });

  test.each([
    ['too much text', 'a'.repeat(12_001), '12001 characters'],
    ['nothing to be seen', '\u200b\n', 'empty'],
    ['everybody', 'a <!channel>', 'a mention: <!channel>'],
    ['everybody, in code', '`<!here|x>`', 'a mention: <!here|x>'],
    ['a person, in a block of code', '```\n<@U12AB>\n```', 'a mention: <@U12AB>'],
    ['a group', '<!subteam^S1>', 'a mention: <!subteam^S1>'],
    ['HTML', 'a <b>', 'unwanted html_inline: <b>'],
    ['a block of HTML', '<div>\n', 'unwanted html_block: <div>'],
    ['a picture', '![a](http://x.y)', 'unwanted image: a'],
    ['a table', '|a|\n|-|\n|b|', 'unwanted table_open: '],
    ['indented code', '    a', 'unwanted code_block: a'],
    ['a link elsewhere', '[a](ftp://x.y)', 'a link elsewhere: ftp://x.y'],
    ['an address in angle brackets', '<http://x.y>', "an address in Slack's own brackets: http://x.y"],
    ['more blocks than a message has', '# a\n'.repeat(25), '51 blocks'],
  ])('on Slack: %s', (_, text, problem) => {
    expect(readSlack(text).problems).toContain(problem);
  });
});

describe('what people see', () => {
  test.each([
    ['# a ##\n## b\n### c\n#### d', 'a\nb\nc\n#### d'],
    ['- a\n  - b\n1. c', '• a\n• b\n\n• c\n'],
    ['3. a\n1. b', '3. a\n4. b\n'],
    ['> a\n> b\nc', 'a\nb\nc'],
    ['>a', '>a'],
    ['**a** *b* _c_ ~~d~~ ***e***', 'a b c d e'],
    ['a\\*b\\*', 'a*b*'],
    ['`a` ``b`c`` `` `d ``', 'a b`c `d'],
    ['```ts\na\n```b', '\na\nb'],
    ['[a](<http://x.y>) <http://z.w>', 'a http://z.w'],
  ])('on Discord, of %j', (content, visible) => {
    expect(visibleLines(readDiscord(content).visible)).toEqual(visibleLines(visible));
  });

  test.each([
    ['# a\n> b\n\n1) c\n2) d', 'a\nb\n1. c\n2. d'],
    ['**a** _b_ ~~c~~ `d` [e](http://x.y)', 'a b c d e'],
    ['&lt;a&gt; &amp; \\*b\\*', '<a> & *b*'],
  ])('on Slack, of %j', (text, visible) => {
    expect(visibleLines(readSlack(text).visible)).toEqual(visibleLines(visible));
  });
});
