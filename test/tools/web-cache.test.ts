import { describe, expect, test } from 'vitest';
import { PageCache, type FoundPage } from '../../src/core/tools/web/page-cache.ts';
import { webFetchTool } from '../../src/core/tools/web/web-fetch.ts';
import { VirtualClock } from '../support/virtual-clock.ts';
import { caller, webWorld } from './web-world.ts';

const MINUTE = 60_000;

function found(url: string, text = 'text'): FoundPage {
  return {
    url,
    text,
    title: null,
    published: null,
    hidden: 0,
    simple: false,
    cut: false,
    status: 200,
    mediaType: 'text/html',
  };
}

describe('pages that were read', () => {
  test('are known by the address that was asked for and by the one where they were found', () => {
    const cache = new PageCache(new VirtualClock());
    cache.put('https://a.example/old', found('https://a.example/new'));
    expect(cache.get('https://a.example/old')?.url).toBe('https://a.example/new');
    expect(cache.get('https://a.example/new')?.url).toBe('https://a.example/new');
    expect(cache.get('https://a.example/')).toBeUndefined();
  });

  test('are kept for 15 minutes', async () => {
    const clock = new VirtualClock();
    const cache = new PageCache(clock);
    cache.put('https://a.example/', found('https://a.example/'));
    await clock.advance(15 * MINUTE - 1);
    expect(cache.get('https://a.example/')).toBeDefined();
    await clock.advance(1);
    expect(cache.get('https://a.example/')).toBeUndefined();
  });

  test('are at most 50; the one that was not read for longest leaves', () => {
    const cache = new PageCache(new VirtualClock());
    const url = (n: number): string => `https://a.example/${n}`;
    for (let n = 0; n < 50; n += 1) cache.put(url(n), found(url(n)));
    cache.get(url(0));
    cache.put(url(50), found(url(50)));
    expect(cache.get(url(0))).toBeDefined();
    expect(cache.get(url(1))).toBeUndefined();
    expect(cache.get(url(2))).toBeDefined();
  });

  test('are at most 20 MB', () => {
    const cache = new PageCache(new VirtualClock());
    for (let n = 0; n < 5; n += 1)
      cache.put(`https://a.example/${n}`, found(`https://a.example/${n}`, 'x'.repeat(3_000_000)));
    const kept = [0, 1, 2, 3, 4].filter((n) => cache.get(`https://a.example/${n}`) !== undefined);
    expect(kept).toEqual([2, 3, 4]);
    // The same page twice counts once.
    for (let n = 0; n < 9; n += 1)
      cache.put('https://a.example/4', found('https://a.example/4', 'x'.repeat(3_000_000)));
    expect([2, 3, 4].filter((n) => cache.get(`https://a.example/${n}`) !== undefined)).toEqual([2, 3, 4]);
  });

  test('spare their server the second request, until they are old', async () => {
    const clock = new VirtualClock();
    await using web = await webWorld({
      '/old': { status: 301, headers: { location: '/new' } },
      '/new': { headers: { 'content-type': 'text/plain' }, body: 'words' },
    });
    const call = caller(
      webFetchTool({
        fetch: web.fetch,
        clock,
        maxChars: 1_000,
        readPage: async ({ bytes }) => ({ ...found('', Buffer.from(bytes).toString()) }),
      }),
    );
    for (const path of ['/old', '/old#part', '/new', '/new']) {
      expect(await call({ url: web.url + path })).toMatchObject({
        output: 'words',
        metadata: { url: `${web.url}/new` },
      });
    }
    expect(web.asked.map(({ path }) => path)).toEqual(['/old', '/new']);
    await clock.advance(15 * MINUTE);
    await call({ url: `${web.url}/old` });
    expect(web.asked).toHaveLength(4);
  });
});
