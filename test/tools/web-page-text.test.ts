import { expect, describe, test } from 'vitest';
import { contentKind, readPage, type PageText } from '../../src/extensions/web/page.ts';

/** What is made of an answer, with the parser or without. */
async function read(body: string | Uint8Array, type = 'text/html; charset=utf-8', simple = false): Promise<PageText> {
  const bytes = Buffer.from(body);
  const { kind, charset } = contentKind(type, bytes);
  if (kind === 'binary') throw new Error('this is not text');
  const url = 'https://site.example/texts/one?q=1';
  return await readPage(bytes, { kind, charset, url, simple }, () => true);
}

describe('the characters of an answer', () => {
  const CYRILLIC = Buffer.from([0xcf, 0xf0, 0xe8, 0xe2, 0xe5, 0xf2]);
  const latin = (text: string): Buffer => Buffer.from(text, 'latin1');
  test.each([
    ['what the server says', 'text/html; charset=windows-1251', CYRILLIC, 'Привет'],
    ['what the page says', 'text/html', Buffer.concat([latin('<meta charset="windows-1251"><p>'), CYRILLIC]), 'Привет'],
    [
      'what XML says',
      'text/xml',
      Buffer.concat([latin('<?xml version="1.0" encoding="windows-1251"?>'), CYRILLIC]),
      'Привет',
    ],
    ['a byte-order mark over all', 'text/plain; charset=latin1', Buffer.from('\ufeffпривет', 'utf16le'), 'привет'],
    ['UTF-8 where nobody says', 'text/html', Buffer.from('<p>Grüße'), 'Grüße'],
    ['windows-1252 where it is not UTF-8', 'text/html', latin('<p>Gr\u00fc\u00dfe \u0080'), 'Grüße €'],
    ['the bytes over a server that is wrong', 'text/html; charset=utf-8', latin('<p>Gr\u00fc\u00dfe'), 'Grüße'],
    ['the bytes over an unknown name', 'text/html; charset=klingon', Buffer.from('<p>Grüße'), 'Grüße'],
    [
      'the page over a server that is wrong',
      'text/html; charset=utf-8',
      Buffer.concat([latin('<meta charset=windows-1251><p>'), CYRILLIC]),
      'Привет',
    ],
    ['Japanese', 'text/html; charset=Shift_JIS', Buffer.from([0x93, 0xfa, 0x96, 0x7b]), '日本'],
  ])('reads the characters by %s', async (_by, type, body, expected) => {
    expect((await read(body, type)).text).toContain(expected);
  });

  test('are kept where an answer was cut in the middle of one', async () => {
    const bytes = Buffer.from('Grüße 🐝');
    expect((await read(bytes.subarray(0, bytes.length - 2), 'text/plain')).text).toBe('Grüße ');
  });
});

describe('a page', () => {
  test('has its headings, paragraphs, items and texts of images', async () => {
    const { text, title } = await read(
      '<title>A &amp; B</title><h1>One</h1><p>First<br>line<h2> Two </h2><ul><li>a<li>b</ul><img alt="a bee" src="/bee.png"><img src="x.png">',
    );
    expect(title).toBe('A & B');
    expect(text).toContain('# One\n\nFirst\nline\n\n## Two\n\n- a\n- b\n\n![a bee](https://site.example/bee.png)');
    expect(text).not.toContain('x.png');
  });

  test('has whole addresses, and none that run or hold something', async () => {
    const { text } = await read(
      `<p><a href="two">rel</a> <a href="//other.example/x">host</a> <a href="#here">here</a>
       <a href="javascript:alert(1)">script</a> <a href=" JaVaScRiPt&#58;alert(1)">shout</a> <a href="java&#10;script:x()">split</a>
       <a href="data:text/html,hi">data</a> <a href="vbscript:x">vb</a> <a href="file:///etc/passwd">file</a>
       <a href="mailto:a@b.example">mail</a> <a href="/x(1)">marks</a> <a href="https://${'a'.repeat(3_000)}.example/">long</a></p>`,
    );
    expect(text).toContain('[rel](https://site.example/texts/two)');
    expect(text).toContain('[host](https://other.example/x)');
    expect(text).toContain('[mail](mailto:a@b.example)');
    expect(text).toContain('[marks](https://site.example/x%281%29)');
    expect(text.match(/\]\(/gu)).toHaveLength(4);
    expect(text).toMatch(/\bscript\b.*\bshout\b.*\bsplit\b.*\bdata\b.*\bvb\b.*\bfile\b/su);
    expect(text).not.toMatch(/javascript:|data:|vbscript:|file:/iu);
  });

  test('keeps the address of a link whose text has more than one line', async () => {
    const { text } = await read(
      '<p>See <a href="two">the\nsecond<br>text</a> and <a href="/3"><h3>the third</h3><p>of all</p></a></p>',
    );
    expect(text).toContain('See [the second text](https://site.example/texts/two)');
    expect(text).toMatch(/\[(?:### )?the third of all\]\(https:\/\/site\.example\/3\)/u);
  });

  test('starts relative addresses from its base, if that is of the web, and from the first', async () => {
    const link = '<p><a href="x">link</a>';
    expect((await read(`<base href="/other/"><base href="https://late.example/">${link}`)).text).toBe(
      '[link](https://site.example/other/x)',
    );
    for (const base of [
      'javascript:alert(1)//',
      'data:text/html,',
      'file:///',
      'http://',
      `https://e.example/${'a'.repeat(3_000)}/`,
    ]) {
      expect((await read(`<base href="${base}">${link}`)).text, base).toBe('[link](https://site.example/texts/x)');
    }
  });

  test('has no programs, styles, drawings, controls and comments', async () => {
    const { text } = await read(
      `<p>seen</p><script>steal()</script><style>p{}</style><!-- note --><svg><text>drawn</text></svg><template>kept</template>
       <iframe src="/x">framed</iframe><noscript>noscript</noscript><button>press</button><textarea>typed</textarea>
       <select><option>chosen</option></select><object>embedded</object><script>`,
    );
    expect(text).toBe('seen');
  });

  test.each([
    '<div hidden>secret</div>',
    '<div hidden="until-found"><p>secret</p></div>',
    '<span aria-hidden="true">secret</span>',
    '<p style="display:none">secret</p>',
    '<p style="color: red; DISPLAY : none !important">secret</p>',
    '<div style="visibility:hidden"><div style="display:block"><b>secret</b></div></div>',
    '<p style="font-size:0">secret</p>',
    '<p style="font-size: 0px; color: #fff">secret</p>',
    '<p hidden>secret',
    '<DIV aria-hidden=true><img><br>se<b>cr</b>et<p title="</div>">secret<div>secret</div></span></div>',
    '<div style="display&#58;none">secret<!-- </div> --><script>"</div>"</script>secret</div>',
  ])('leaves out what people do not see, and counts it: %s', async (hiding) => {
    for (const simple of [false, true]) {
      const { text, hidden } = await read(`<p>Before.</p>${hiding}<p>After.</p>`, 'text/html', simple);
      expect(text).toBe('Before.\n\nAfter.');
      expect(hidden).toBe(1);
    }
  });

  test('that is too deep leaves out what people do not see too', async () => {
    const { text, ...facts } = await read(`${'<div>'.repeat(6_000)}<div style="display:none">SECRET</div>shown`);
    expect(text).toBe('shown');
    expect(facts).toMatchObject({ simple: true, hidden: 1 });
  });

  test.each([
    '<p style="font-size: 0.9em">shown</p>',
    '<p style="opacity: 0">shown</p>',
    '<p aria-hidden="false">shown</p>',
    '<p style="background: url(display-none.png)">shown</p>',
    '<p title="it is hidden here" data-style="display:none">shown</p>',
    '<input hidden><p>shown</p>',
  ])('shows what people see: %s', async (shown) => {
    expect(await read(shown)).toMatchObject({ text: 'shown', hidden: 0 });
    expect(await read(shown, 'text/html', true)).toMatchObject({ text: 'shown', hidden: 0 });
  });

  test('has no invisible characters where it is plain text, which says how many it had', async () => {
    expect(await read('a\u200Bb', 'text/plain')).toMatchObject({ text: 'ab' });
  });

  test('has no invisible characters and no empty lines in a row', async () => {
    const { text } = await read(
      `<p>ig\u200bnore\u2060 all\u{E0041}\u{E0042} \u202Ethat</p>${'<div> <br> </div>'.repeat(50)}<p>end &#8203;here</p>`,
    );
    expect(text).toBe('ignore all that\n\nend here');
  });

  test('has its parts for people only once it is an article', async () => {
    const { text } =
      await read(`<article>${'<p>Long, quiet, readable text about bees and their dances. </p>'.repeat(20)}</article>
      <div class="comments sidebar"><a href="/a">Buy now</a></div>`);
    expect(text).not.toContain('Buy now');
  });

  test('ends where 2 MB end', async () => {
    const { cut, text } = await read(`<p>${'word '.repeat(500_000)}`);
    expect(cut).toBe(true);
    expect(text.length).toBeLessThanOrEqual(2_000_000);
  });

  test('that no parser can read is its text without tags, comments, programs and drawings', async () => {
    const html = `<title>A &amp; B</title><script>steal("</p>")</script><p>First<br>line of <b>b</b>ees &lt;3</p>
      <!-- note --><svg><text>drawn</text></svg><a title="x > y" href="/x">link</a><style>p{}`;
    const { text, ...facts } = await read(html, 'text/html', true);
    expect(facts).toMatchObject({ simple: true, title: 'A & B' });
    expect(text.split(/\s*\n\s*/u)).toEqual(['First', 'line of bees <3', 'link']);
    expect((await read(`${'<div>'.repeat(20_000)}y`)).text).toBe('y');
  });
});
