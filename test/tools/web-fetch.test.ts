import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { createGuardedFetch } from '../../src/core/security/fetch/fetch.ts';
import { webFetchTool } from '../../src/extensions/web/web-fetch.ts';
import { createReader } from '../../src/core/tools/reading/reader.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { pause } from '../support/http.ts';
import { tempFolder } from '../support/temp.ts';
import { caller, pdfOf, readHere, webWorld, type Call, type WebWorld } from './web-world.ts';
import type { TestCall } from '../support/tool-context.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const PARAGRAPH = `<p>${'Bees dance, as everybody knows, to tell each other where flowers are. '.repeat(6)}</p>`;
const ARTICLE = `<!doctype html><html><head><title>On bees &amp; flowers</title>
  <meta property="article:published_time" content="2026-03-01"></head>
  <body><nav><a href="/home">Home</a></nav>
  <article><h1>On bees</h1>${PARAGRAPH.repeat(4)}<p>More in <a href="../dance?full#top">the dance</a>.</p>
  <ul><li>One</li><li>Two</li></ul></article><footer>All rights reserved</footer></body></html>`;

function fetcher({ fetch }: WebWorld, maxChars = 15_600): Call {
  return caller(webFetchTool({ fetch, clock: systemClock, maxChars, read: readHere }));
}

describe('web_fetch', () => {
  test('turns an article into Markdown, with whole addresses and without what stands around', async () => {
    await using web = await webWorld({
      '/old': { status: 302, headers: { location: '/texts/bees' } },
      '/texts/bees': ARTICLE,
    });
    const result = await fetcher(web)({ url: `${web.url}/old` });
    expect(result.output).toContain('Bees dance, as everybody knows');
    expect(result.output).toContain(`[the dance](${web.url}/dance?full#top)`);
    expect(result.output).toContain('- One\n- Two');
    expect(result.output).not.toContain('All rights reserved');
    expect(result.untrusted).toBe(true);
    expect(result.metadata).toMatchObject({
      title: 'On bees & flowers',
      url: `${web.url}/texts/bees`,
      published: '2026-03-01',
      status: 200,
      type: 'text/html',
      truncated: false,
    });
  });

  test('keeps tables, code and the places of numbered items', async () => {
    await using web = await webWorld({
      '/': `<h1>Facts</h1><table><tr><th>Name<th>Age</tr><tr><td>Ada<td>36</tr></table>
        <pre><code>if (a) {\n    b();\n}</code></pre><ol start="3"><li>three<li>four</ol>`,
    });
    const { output } = await fetcher(web)({ url: web.url });
    expect(output).toContain('| Name | Age |\n| --- | --- |\n| Ada | 36 |');
    expect(output).toContain('```\nif (a) {\n    b();\n}\n```');
    expect(output).toContain('3. three\n4. four');
  });

  test('shows a page that is no article whole, without its furniture', async () => {
    const links = Array.from({ length: 30 }, (_, n) => `<li><a href="/item/${n}">Item number ${n}</a></li>`).join('');
    await using web = await webWorld({
      '/': `<header>Shop</header><nav>Menu</nav><ul>${links}</ul><footer>Imprint</footer>`,
    });
    const { output } = await fetcher(web)({ url: web.url });
    expect(output).toContain(`- [Item number 29](${web.url}/item/29)`);
    expect(output).not.toMatch(/Menu|Imprint/u);
  });

  test.each([
    ['application/json', '{"a": [1,\n 2]}'],
    ['application/ld+json; charset=utf-8', '{"ä": 1}'],
    ['application/rss+xml', '<?xml version="1.0"?><rss><item>x &amp; y</item></rss>'],
    ['text/plain', '<b>not markup</b>   \n\n\n\nhere'],
    ['text/markdown', '# Title\n\n*text*'],
    ['application/octet-stream', 'a,b\n1,2\n'],
  ])('gives %s as it is', async (type, body) => {
    await using web = await webWorld({ '/': { headers: { 'content-type': type }, body } });
    const { output, isError } = await fetcher(web)({ url: web.url });
    expect(output).toBe(body);
    expect(isError).toBeUndefined();
  });

  test('reads a PDF page by page, whatever the server calls it', async () => {
    const body = pdfOf(['Hello from the first page', 'And the second'], 'Two pages');
    await using web = await webWorld({ '/a': { headers: { 'content-type': 'application/octet-stream' }, body } });
    const result = await fetcher(web)({ url: `${web.url}/a` });
    expect(result.output).toBe('[page 1 of 2]\nHello from the first page\n\n[page 2 of 2]\nAnd the second');
    expect(result.metadata).toMatchObject({ title: 'Two pages', type: 'application/pdf' });
  });

  test('says of a broken PDF that it is', async () => {
    const body = Buffer.from('%PDF-1.7\nnothing of that kind');
    await using web = await webWorld({ '/': { headers: { 'content-type': 'application/pdf' }, body } });
    const result = await fetcher(web)({ url: web.url });
    expect(result).toMatchObject({ isError: true, untrusted: true });
    expect(result.output).toBe('This PDF could not be read: it is broken or was cut off.');
  });

  test.each([
    ['image/png', 'This is an image (image/png, 4 bytes), so it is not shown.'],
    ['application/zip', 'This is not text (application/zip, 4 bytes), so it is not shown.'],
  ])('says type and size of %s', async (type, sentence) => {
    await using web = await webWorld({ '/': { headers: { 'content-type': type }, body: Buffer.from([1, 0, 2, 3]) } });
    expect(await fetcher(web)({ url: web.url })).toMatchObject({ output: sentence, isError: true });
  });

  test('says when there is no text', async () => {
    await using web = await webWorld({ '/': '<html><body><div id="root"></div><script>draw()</script></body></html>' });
    const result = await fetcher(web)({ url: web.url });
    expect(result.output).toBe('(there is no text on this page; it may be made by scripts in a browser)');
    expect(result.isError).toBeUndefined();
  });

  test('answers an error of the server with the beginning of its page, and asks again next time', async () => {
    await using web = await webWorld({ '/': { status: 503, body: `<p>Closed for today. ${'x'.repeat(9_000)}` } });
    const call = fetcher(web);
    const result = await call({ url: web.url });
    expect(result).toMatchObject({ isError: true, untrusted: true, metadata: { status: 503 } });
    expect(result.output).toMatch(/^The server answered with status 503\. Its page begins:\n\nClosed for today\. x+$/u);
    expect(result.output.length).toBeLessThan(2_100);
    await call({ url: web.url });
    expect(web.asked).toHaveLength(2);
  });

  test('reads the first 5 MB of a page of 20', async () => {
    const line = Buffer.from(`${'0123456789 '.repeat(9)}\n`);
    await using web = await webWorld((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/plain' });
      response.end(Buffer.concat(Array.from({ length: 200_000 }, () => line)));
    });
    const call = fetcher(web);
    const result = await call({ url: web.url });
    expect(result.metadata).toMatchObject({ characters: 5_000_000, truncated: true });
    const end = await call({ url: web.url, offset: 4_999_990 });
    expect(end.output).toMatch(/\n\n\(there is more of it than is read: this is the end of what was read\)$/u);
  });
});

describe('a long page', () => {
  test('comes in parts that make the whole, from one request', async () => {
    const body = Array.from({ length: 3_000 }, (_, n) => `Line ${n} with an emoji 🐝.`).join('\n');
    await using web = await webWorld({ '/': { headers: { 'content-type': 'text/plain' }, body } });
    const call = fetcher(web, 10_000);
    let offset = 0;
    let whole = '';
    for (let parts = 0; parts < 20; parts += 1) {
      const { output, metadata } = await call({ url: web.url, ...(offset === 0 ? {} : { offset }) });
      expect(output.length).toBeLessThanOrEqual(10_060);
      const next = /\n\n\((?<left>\d+) more characters; continue with offset (?<next>\d+)\)$/u.exec(output);
      whole += next === null ? output : output.slice(0, next.index);
      expect(metadata['truncated']).toBe(next !== null);
      if (next === null) break;
      offset = Number(next.groups?.['next']);
      expect(offset + Number(next.groups?.['left'])).toBe(body.length);
    }
    expect(whole).toBe(body);
    expect(web.asked).toHaveLength(1);
  });

  test('has an end, and an offset behind it is an error that names it', async () => {
    await using web = await webWorld({ '/': { headers: { 'content-type': 'text/plain' }, body: 'short' } });
    const result = await fetcher(web)({ url: web.url, offset: 5 });
    expect(result).toMatchObject({ isError: true, output: 'It has 5 characters; offset 5 is behind its end.' });
  });
});

describe('web_fetch keeps to its limits', () => {
  test('refuses addresses of the private network, with the reason', async () => {
    await using web = await webWorld({});
    const call = fetcher(web);
    for (const url of [
      'http://127.0.0.1:1/',
      'http://169.254.169.254/latest',
      'file:///etc/passwd',
      'http://2130706433/',
    ]) {
      const result = await call({ url });
      expect(result.isError, url).toBe(true);
      expect(result.note, url).toMatch(/^Refused: .*refused/u);
    }
    expect(web.asked).toHaveLength(0);
  });

  test('refuses a redirect to one', async () => {
    await using web = await webWorld({ '/': { status: 302, headers: { location: 'http://127.0.0.1:1/secret' } } });
    const result = await fetcher(web)({ url: web.url });
    expect(result).toMatchObject({ isError: true, untrusted: true });
    expect(result.output).toContain('was refused');
  });

  test('asks before it fetches what the model put together once strangers’ and private words are there', async () => {
    await using web = await webWorld({ '/given': 'ok' });
    const names = { 'stranger.example': ['93.184.215.14'] };
    const fetch = {
      ...web.fetch,
      checkUrl: async (url: string) => {
        const known = names[new URL(url).hostname as keyof typeof names];
        return known === undefined ? web.fetch.checkUrl(url) : { decision: 'allow' as const, url, opened: false };
      },
    };
    const call = caller(webFetchTool({ fetch, clock: systemClock, maxChars: 1_000, read: readHere }));
    const asked: string[] = [];
    const tainted: Partial<TestCall> = {
      taint: { untrusted: true, private: true },
      said: () => [{ author: 'person', text: 'see https://stranger.example/page' }],
      approve: async ({ detail }) => {
        asked.push(detail);
        return { approved: false, reason: 'the owner said no' };
      },
    };
    const composed = await call({ url: 'https://stranger.example/page?leak=1' }, tainted);
    expect(composed.note).toContain('Not done: the owner said no');
    expect(asked).toEqual(['https://stranger.example/page?leak=1']);
    await call({ url: 'https://stranger.example/page' }, { ...tainted, signal: AbortSignal.abort() });
    expect((await call({ url: `${web.url}/given` }, tainted)).output).toBe('ok');
    expect(asked).toHaveLength(1);
  });

  test('looks a name up only after the yes, and not at all after a no', async () => {
    const looked: string[] = [];
    const fetch = createGuardedFetch({
      allowHosts: [],
      denyHosts: [],
      clock: systemClock,
      resolve: async (name) => {
        looked.push(name);
        throw Object.assign(new Error('nobody knows it'), { code: 'ENOTFOUND' });
      },
    });
    const call = caller(webFetchTool({ fetch, clock: systemClock, maxChars: 1_000, read: readHere }));
    const tainted = (approved: boolean): Partial<TestCall> => ({
      taint: { untrusted: true, private: true },
      approve: async () => {
        expect(looked).toEqual([]);
        return approved ? { approved } : { approved, reason: 'the owner said no' };
      },
    });
    const url = 'http://pin-4711.evil.example/';
    expect((await call({ url }, tainted(false))).note).toContain('Not done: the owner said no');
    expect((await call({ url: 'http://pin-4711.internal/' }, tainted(true))).note).toMatch(/^Refused: /u);
    expect(looked).toEqual([]);
    expect((await call({ url }, tainted(true))).output).toContain('is not known');
    expect(looked).toEqual(['pin-4711.evil.example']);
  });

  test('asks before one more address that strangers alone named, once the free ones are used up', async () => {
    await using web = await webWorld({ '/a': 'ok' });
    const fetch = {
      ...web.fetch,
      checkUrl: async (url: string) => ({ decision: 'allow' as const, url, opened: false }),
    };
    const call = caller(webFetchTool({ fetch, clock: systemClock, maxChars: 1_000, read: readHere }));
    const urls = Array.from('abcd').map((letter) => `http://${letter}.example.com/`);
    const context: Partial<TestCall> = {
      taint: { untrusted: true, private: true },
      said: () => [{ author: 'outside', text: urls.join(' ') }],
      takeFreeChoice: async () => false,
    };
    const result = await call({ url: urls[3] }, context);
    expect(result.note).toMatch(/^Not done: .*which of many addresses is fetched/su);
  });

  test('is for guests too, and an address may come without its scheme', async () => {
    await using web = await webWorld({ '/': 'ok' });
    expect((await fetcher(web)({ url: web.url }, { role: 'guest' })).output).toBe('ok');
    const tried: string[] = [];
    const fetch = {
      ...web.fetch,
      checkUrl: async (url: string) => {
        tried.push(url);
        return { decision: 'deny' as const, reason: 'Not today.' };
      },
    };
    const call = caller(webFetchTool({ fetch, clock: systemClock, maxChars: 1_000, read: readHere }));
    for (const url of ['example.com/a', 'localhost:8080', '//example.com']) await call({ url });
    expect(tried).toEqual(['https://example.com/a', 'https://localhost:8080', 'https://example.com']);
  });
});

describe('as every tool', () => {
  test('it answers wrong arguments with what is wrong', async () => {
    await using web = await webWorld({});
    const call = fetcher(web);
    expect((await call({})).output).toContain('url');
    expect((await call({ url: web.url, offset: -1 })).output).toContain('offset');
    expect((await call({ url: 'not an address' })).note).toMatch(/^Refused: /u);
  });

  test('it stops when the turn is stopped', async () => {
    await using web = await webWorld(async (_request, response) => {
      await pause(response, 20_000);
      response.end();
    });
    const stop = new AbortController();
    const result = fetcher(web)({ url: web.url }, { signal: stop.signal, progress: () => stop.abort() });
    expect(await result).toMatchObject({ isError: true, note: 'Cut off: the turn was stopped.' });
  });

  test('it answers with a sentence when a page takes too long to read', async () => {
    await using web = await webWorld({ '/': '<p>text' });
    const read = createReader({ clock: systemClock }, { timeoutMs: 1 });
    const call = caller(webFetchTool({ fetch: web.fetch, clock: systemClock, maxChars: 1_000, read }));
    const result = await call({ url: web.url });
    expect(result).toMatchObject({ isError: true, untrusted: true, metadata: { url: `${web.url}/`, status: 200 } });
    expect(result.output).toBe(
      'The page could not be read in 0.001 s, so reading it was stopped. It is too complicated; ask for a smaller or simpler copy.',
    );
  });

  test('it reads in a child process', async () => {
    await using web = await webWorld({ '/': ARTICLE });
    const read = createReader({ clock: systemClock });
    const call = caller(webFetchTool({ fetch: web.fetch, clock: systemClock, maxChars: 10_000, read }));
    expect((await call({ url: web.url })).output).toContain('Bees dance, as everybody knows');
  });

  test('it only reads', async () => {
    await using web = await webWorld({});
    const tool = webFetchTool({ fetch: web.fetch, clock: systemClock, maxChars: 1_000, read: readHere });
    expect(tool.effect).toBe('none');
  });

  test('it loads nothing heavy before its first call', async () => {
    await using folder = await tempFolder();
    const record = join(folder.path, 'loads');
    const script = `await import(${JSON.stringify(new URL('../../src/extensions/web/open.ts', import.meta.url).href)})`;
    const recorder = new URL('../support/record-loads.ts', import.meta.url).href;
    await promisify(execFile)(process.execPath, ['--import', recorder, '--input-type=module', '-e', script], {
      cwd: ROOT,
      env: { RECORD_LOADS: record },
    });
    const loaded = new Set((await readFile(record, 'utf8')).split('\n'));
    const heavy = ['linkedom', '@mozilla/readability', 'turndown', 'unpdf'];
    expect(loaded).toContain('zod');
    expect(heavy.filter((name) => loaded.has(name))).toEqual([]);
  });
});
