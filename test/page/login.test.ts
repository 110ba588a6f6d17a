import { createServer } from 'node:http';
import { expect, test } from 'vitest';
import { inBrowser } from './world.ts';

inBrowser('a browser that is logged in', (open) => {
  test('shows its cookie to a server on another port of this machine, which gets in nowhere with it', async () => {
    await using visit = await open();
    const { page, address, complaints } = visit;
    const seen = Promise.withResolvers<string>();
    const other = createServer((request, response) => {
      if (request.url === '/') seen.resolve(request.headers.cookie ?? '');
      response.end('<title>other</title>');
    });
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    try {
      const bound = other.address();
      const port = typeof bound === 'object' && bound !== null ? bound.port : 0;
      const tab = await page.context().newPage();
      await tab.goto(`http://127.0.0.1:${port}/`);
      const cookie = await seen.promise;
      expect(cookie).toContain('assistant_session_');
      const headers = {
        Cookie: cookie,
        Origin: address,
        'Content-Type': 'application/json',
        'Sec-Fetch-Site': 'same-origin',
      };
      const status = async (path: string, init: RequestInit = {}): Promise<number> =>
        (await fetch(address + path, { headers, ...init })).status;
      const write = { method: 'POST', body: '{}' };
      for (const name of ['pageLink', 'filesWrite', 'pairApprove', 'jobsRun'])
        expect([name, await status(`/api/operations/${name}`, write)]).toEqual([name, 401]);
      expect(await status('/api/messages', write)).toBe(401);
      expect(await status('/v1/chat/completions', write)).toBe(401);
      for (const path of ['/ready', '/metrics', '/ws', '/api/media/x', '/v1/models'])
        expect([path, await status(path)]).toEqual([path, 401]);
      await page.reload();
      await page.getByRole('textbox', { name: 'Write to the assistant' }).waitFor();
      expect(complaints).toEqual([]);
    } finally {
      other.closeAllConnections();
      other.close();
    }
  });

  test('is asked to log in again when its storage was cleared, though its cookie is still there', async () => {
    await using visit = await open();
    const { page, address, assistant } = visit;
    const { link } = await assistant.assistant.call('pageLink', {});
    const fresh = await page.context().browser()?.newContext();
    if (fresh === undefined) throw new Error('there is no browser');
    try {
      const tab = await fresh.newPage();
      await tab.goto(link);
      await tab.getByRole('textbox', { name: 'Write to the assistant' }).waitFor();
      await tab.evaluate(() => localStorage.clear());
      await tab.goto(`${address}/`);
      await tab.reload();
      await tab.getByRole('heading', { name: 'Open your assistant' }).waitFor();
    } finally {
      await fresh.close();
    }
  });
});
