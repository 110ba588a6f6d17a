import { describe, expect, test } from 'vitest';
import { webFetchTool } from '../../src/extensions/web/web-fetch.ts';
import { VirtualClock } from '../support/virtual-clock.ts';
import { caller, readHere, webWorld } from './web-world.ts';

const MINUTE = 60_000;

/** Pages of plain text by their path, on a server that counts, read by the tool. */
async function reader(textOf: (path: string) => string) {
  const clock = new VirtualClock();
  const web = await webWorld((request, response) => {
    const to = request.url?.startsWith('/old') === true ? request.url.replace('old', 'new') : undefined;
    response.writeHead(to === undefined ? 200 : 301, { 'content-type': 'text/plain', ...(to && { location: to }) });
    response.end(textOf(request.url ?? ''));
  });
  const call = caller(webFetchTool({ fetch: web.fetch, clock, maxChars: 1_000, read: readHere }));
  return {
    clock,
    web,
    read: (path: string) => call({ url: web.url + path }),
    /** Whether the server was asked for it. */
    asks: async (path: string) => {
      const before = web.asked.length;
      await call({ url: web.url + path });
      return web.asked.length > before;
    },
    [Symbol.asyncDispose]: () => web[Symbol.asyncDispose](),
  };
}

describe('pages that were read', () => {
  test('are known for 15 minutes, by the address that was asked for and by the one where they were found', async () => {
    await using world = await reader(() => 'words');
    for (const path of ['/old', '/old#part', '/new', '/new']) {
      expect(await world.read(path)).toMatchObject({ output: 'words', metadata: { url: `${world.web.url}/new` } });
    }
    expect(world.web.asked.map(({ path }) => path)).toEqual(['/old', '/new']);
    await world.clock.advance(15 * MINUTE - 1);
    expect(await world.asks('/old')).toBe(false);
    await world.clock.advance(1);
    expect(await world.asks('/old')).toBe(true);
  });

  test('are at most 50; the one that was not read for longest leaves', async () => {
    await using world = await reader((path) => path);
    for (let n = 0; n < 50; n += 1) await world.read(`/${n}`);
    await world.read('/0');
    await world.read('/50');
    expect([await world.asks('/0'), await world.asks('/2'), await world.asks('/1')]).toEqual([false, false, true]);
  });

  test('are at most 20 MB, of which the same page counts once', async () => {
    await using world = await reader(() => 'x'.repeat(3_000_000));
    for (const path of ['/0', '/old1', '/2', '/new1', '/3']) await world.read(path);
    expect([await world.asks('/2'), await world.asks('/3'), await world.asks('/old1')]).toEqual([false, false, false]);
    expect(await world.asks('/0')).toBe(true);
  });
});
