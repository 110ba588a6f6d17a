import { expect, test } from 'vitest';
import { parseTelegramHtml } from './telegram-html.ts';

test.each([
  '<u>a</i>',
  'a</b>',
  '<font>a</font>',
  '<a>x</a>',
  '<a href="x" id="y">x</a>',
  '<b class="x">a</b>',
  '<span>a</span>',
  '<code><b>a</b></code>',
  '<pre><i>a</i></pre>',
  '<blockquote>a<blockquote>b</blockquote></blockquote>',
  '<b>a<blockquote>b</blockquote></b>',
  '<b><code>a</code></b>',
  '<a href="http://x.y"><pre>a</pre></a>',
  '<i>a<i>b</i></i>',
  'a < b',
  'a > b',
  'a & b',
  '&nbsp;',
  '&#0;',
  '<br/>',
])('the HTML %j is refused', (html) => {
  expect(parseTelegramHtml(html)).toHaveProperty('problem');
});

test.each([
  ['<b>a<i>b</i></b> <s>c</s> <tg-spoiler>d</tg-spoiler>', 'ab c d'],
  ['<pre><code class="language-ts">a &lt; b</code></pre>', 'a < b'],
  ['<a href="https://example.org/?a=1&amp;b=2">x</a>', 'x'],
  ['<blockquote expandable>q</blockquote><span class="tg-spoiler">s</span>', 'qs'],
  ['&amp;lt; &quot;&#39;', '&lt; "\''],
])('the HTML %j is seen as %j', (html, visible) => {
  expect(parseTelegramHtml(html)).toEqual({ visible });
});
