import { expect, test } from 'vitest';
import { replyJson, startServer } from '../support/http.ts';
import { startWorld } from '../support/world.ts';

test('the private host of a search is open to the search alone, and on its port alone', async () => {
  let redirect: string | null = null;
  const other = await startServer((_request, response) => replyJson(response, 200, { results: [] }));
  const search = await startServer((_request, response) => {
    if (redirect === null) replyJson(response, 200, { results: [{ title: 'Bees', url: 'https://a.example/' }] });
    else response.writeHead(302, { location: redirect }).end();
  });
  await using _servers = {
    [Symbol.asyncDispose]: async () => void (await Promise.all([search.close(), other.close()])),
  };
  await using world = await startWorld({ config: { tools: { web: { searchUrl: search.url } } } });
  const run = async (name: string, params: unknown): Promise<string> => {
    const call = { name, arguments: JSON.stringify(params), dryRun: false };
    const { reason, result } = await world.assistant.call('toolRun', call);
    return result?.output ?? reason ?? '';
  };
  expect(await run('web_search', { query: 'bees' })).toContain('1. Bees');
  expect(await run('web_fetch', { url: `${search.url}/admin` })).toContain('was refused');
  redirect = `${other.url}/admin`;
  expect(await run('web_search', { query: 'bees' })).toContain('was refused');
});
