import type { ServerResponse } from 'node:http';
import { correcting } from '../../src/extensions/mcp/messages.ts';
import { describe, expect, test } from 'vitest';
import { replyJson } from '../support/http.ts';
import { mcpWorld, SECRET, server, connected } from './mcp-world.ts';
import { remote, type Asked } from './remote-server.ts';

const isCall = ({ body }: Asked): boolean => body.method === 'tools/call';

type Failure = readonly [how: string, fail: (response: ServerResponse, id: unknown) => void, says: RegExp];

function endless(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'application/json' });
  const more = (): void => {
    while (!response.destroyed && response.write('x'.repeat(100_000)));
    if (!response.destroyed) response.once('drain', more);
  };
  more();
}

describe('a remote server', () => {
  test('gets its headers with every request, also under an address that is private', async () => {
    await using there = await remote();
    await using world = await connected({ far: server({ url: there.url, headers: { 'X-Key': 'its own key' } }) });
    expect(await world.call('mcp_far_echo')).toMatchObject({ output: 'said' });
    expect(there.asked.map(({ headers }) => headers['x-key'])).toEqual(there.asked.map(() => 'its own key'));
    expect(there.asked.find(isCall)?.headers).toMatchObject({ 'accept-encoding': 'identity' });
    await world.clients[Symbol.asyncDispose]();
    expect(there.asked.at(-1)?.method).toBe('DELETE');
  });

  test('cannot lead anywhere else with a redirect', async () => {
    await using there = await remote();
    await using trap = await remote();
    await using world = await connected({ far: server({ url: there.url, headers: { 'X-Key': SECRET } }) });
    there.intercept = (_asked, response) => {
      response.writeHead(307, { location: trap.url }).end();
      return true;
    };
    const { output, isError } = await world.call('mcp_far_echo');
    expect(isError).toBe(true);
    expect(output).toContain(`Redirect to ${trap.url} not followed`);
    expect(trap.asked).toEqual([]);
  });

  test('may answer a notification with 204 and the type of JSON', async () => {
    await using there = await remote();
    there.intercept = (asked, response) => {
      if (asked.method !== 'POST' || asked.body.id !== undefined) return false;
      response.writeHead(204, { 'content-type': 'application/json' }).end();
      return true;
    };
    await using world = await connected({ far: server({ url: there.url }) });
    expect(await world.call('mcp_far_echo')).toMatchObject({ output: 'said' });
  });

  test('that forgot us is greeted again, and the call is made once', async () => {
    await using there = await remote();
    await using world = await connected({ far: server({ url: there.url }) });
    const old = `session-${there.asked.findIndex(({ body }) => body.method === 'initialize') + 1}`;
    let done = 0;
    there.intercept = (asked, response) => {
      if (asked.headers['mcp-session-id'] === old && asked.method === 'POST') {
        replyJson(response, 404, { error: 'no such session' });
        return true;
      }
      if (isCall(asked)) done += 1;
      return false;
    };
    expect(await world.call('mcp_far_echo')).toMatchObject({ output: 'said' });
    expect(done).toBe(1);
  });

  const refusals = [400, 401, 403, 405, 422, 429].map((status): Failure => {
    const says = new RegExp(`^The MCP server far refused the call \\(HTTP ${status}\\).*Nothing was done\\.`, 'u');
    return [`with HTTP ${status}`, (response) => replyJson(response, status, { error: 'no' }), says];
  });

  test.each<Failure>([
    ...refusals,
    [
      'with an end of the connection',
      (response) => response.socket?.destroy(),
      /^The MCP server far was lost .* may have/u,
    ],
    [
      'in the words of the protocol',
      (response, id) => {
        const error = { code: -32_000, message: `no more today, says ${SECRET}` };
        replyJson(response, 200, { jsonrpc: '2.0', id, error });
      },
      /^The MCP server far answered with an error: MCP error -32000: no more today, says \[redacted\]\.$/u,
    ],
    ['with an answer that never ends', endless, /is longer than 20000000 bytes/u],
  ])('that fails a call %s says so, and the next call works', async (_how, fail, says) => {
    await using there = await remote();
    await using world = await connected({ far: server({ url: there.url }) });
    there.intercept = (asked, response) => {
      if (isCall(asked)) fail(response, asked.body.id);
      return isCall(asked);
    };
    const failed = { isError: true, untrusted: true, output: expect.stringMatching(says) };
    expect(await world.call('mcp_far_echo')).toMatchObject(failed);
    there.intercept = () => false;
    expect(await world.call('mcp_far_echo')).toMatchObject({ output: 'said' });
  });

  test.each(['\r', '\n', '\r\n'])('may end the lines of its event streams with %j', async (end) => {
    await using there = await remote();
    there.intercept = ({ body, method }, response) => {
      if (method !== 'POST' || body.id === undefined) return false;
      const serverInfo = { name: 'r', version: '1' };
      const results: Record<string, object> = {
        initialize: { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo },
        'tools/list': { tools: [{ name: 'echo', inputSchema: { type: 'object', properties: {} } }] },
        'tools/call': { content: [{ type: 'text', text: 'said' }] },
      };
      const result = results[body.method ?? ''] ?? {};
      const data = JSON.stringify({ jsonrpc: '2.0', id: body.id, result, error: null });
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      // The stream stays open, as with servers that may send more.
      response.write(`event: message${end}data: ${data}${end}${end}`);
      return true;
    };
    await using world = await connected({
      far: server({ url: there.url, timeouts: { startSeconds: 5, callSeconds: 5 } }),
    });
    expect(await world.call('mcp_far_echo')).toMatchObject({ output: 'said' });
  });

  test.each([
    ['that wants other credentials', 401, 'it refused the credentials (HTTP 401): set the headers that it wants'],
    ['that has no such page', 404, 'does not work: '],
    ['that is broken', 500, 'does not work: '],
  ])('%s says so', async (_what, status, sentence) => {
    await using there = await remote();
    there.intercept = (_asked, response) => {
      response.writeHead(status).end('no');
      return true;
    };
    await using world = await mcpWorld({ far: server({ url: there.url }) });
    await expect(world.clients.test('far')).rejects.toThrow(sentence);
    expect(world.clients.troubles()).toHaveLength(1);
  });

  test('is never where a cloud hands out credentials', async () => {
    await using world = await mcpWorld({ cloud: server({ url: 'http://169.254.169.254/mcp' }) });
    await expect(world.clients.test('cloud')).rejects.toThrow('it is where a cloud hands out credentials');
  });

  test('may send one event of megabytes in small pieces', async () => {
    const piece = new TextEncoder().encode('x'.repeat(16_384));
    let left = 512;
    const body = new ReadableStream<Uint8Array>({
      pull: (controller) => {
        left -= 1;
        if (left < 0) controller.close();
        else controller.enqueue(piece);
      },
    });
    const headers = { 'content-type': 'text/event-stream' };
    const fetched = correcting(async () => new Response(body, { headers }));
    const begun = performance.now();
    const text = await (await fetched('http://far.example', {})).text();
    expect(text).toHaveLength(512 * 16_384);
    expect(performance.now() - begun).toBeLessThan(5_000);
  });
});
