import { describe, expect, test } from 'vitest';
import { createStreamingFetch, type StreamingFetch } from '../../src/core/security/fetch/fetch.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { readBody, replyJson, startServer } from '../support/http.ts';
import { waitFor } from '../support/wait.ts';

function streaming(
  allowHosts: readonly string[],
  limits: { headersMs?: number; maxBytes?: number } = {},
): StreamingFetch {
  return createStreamingFetch({
    allowHosts,
    denyHosts: [],
    clock: systemClock,
    headersMs: 5_000,
    maxBytes: 1_000,
    ...limits,
  });
}

const codeOf = (thrown: unknown): unknown => (thrown instanceof Error && 'code' in thrown ? thrown.code : thrown);

describe('a fetch whose answer comes bit by bit', () => {
  test('gives each piece as it comes, and closes the connection when it is left', async () => {
    let isGone = false;
    await using server = await startServer((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('data: one\n\n');
      response.once('close', () => (isGone = true));
    });
    const response = await streaming([`127.0.0.1:${server.port}`])(server.url);
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    expect(await reader?.read()).toEqual({ done: false, value: 'data: one\n\n' });
    await reader?.cancel();
    await waitFor(() => isGone);
  });

  test('sends method, headers and body', async () => {
    await using server = await startServer(async (request, response) => {
      replyJson(response, 200, {
        method: request.method,
        key: request.headers['x-key'],
        body: await readBody(request),
      });
    });
    const response = await streaming([`127.0.0.1:${server.port}`])(new URL(server.url), {
      method: 'POST',
      headers: new Headers({ 'X-Key': 'k' }),
      body: 'words',
    });
    expect(await response.json()).toEqual({ method: 'POST', key: 'k', body: 'words' });
  });

  test('reaches nothing private that is not opened by name, and never where a cloud hands out credentials', async () => {
    await using server = await startServer((_request, response) => void response.end('x'));
    const closed = streaming([]);
    await expect(closed(server.url).catch(codeOf)).resolves.toBe('fetch-refused');
    const opened = streaming(['169.254.169.254:80']);
    await expect(opened('http://169.254.169.254/').catch(codeOf)).resolves.toBe('fetch-refused');
    await expect(opened('file:///etc/passwd').catch(codeOf)).resolves.toBe('fetch-refused');
  });

  test('follows no redirect', async () => {
    await using server = await startServer((_request, response) => {
      response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end();
    });
    const response = await streaming([`127.0.0.1:${server.port}`])(server.url);
    expect([response.status, response.headers.get('location')]).toEqual([302, 'http://127.0.0.1:1/']);
    await response.body?.cancel();
  });

  test('ends at the limit of bytes, which counts for each event of a stream', async () => {
    await using server = await startServer((request, response) => {
      const isStream = request.url === '/events';
      response.writeHead(200, { 'content-type': isStream ? 'text/event-stream' : 'application/json' });
      let left = 5;
      const next = (): void => {
        left -= 1;
        if (left === 0) response.end();
        else response.write(`data: ${'x'.repeat(400)}\n\n`, () => setImmediate(next));
      };
      next();
    });
    const fetch = streaming([`127.0.0.1:${server.port}`]);
    expect((await (await fetch(`${server.url}/events`)).text()).length).toBe(4 * 408);
    const whole = await fetch(`${server.url}/json`);
    await expect(whole.text()).rejects.toThrow('is longer than 1000 bytes');
  });

  test('gives up on headers that do not come, and stops when its caller does', async () => {
    await using server = await startServer(() => {});
    const hosts = [`127.0.0.1:${server.port}`];
    await expect(streaming(hosts, { headersMs: 100 })(server.url)).rejects.toThrow('took longer than 100 ms');
    const stop = new AbortController();
    const running = streaming(hosts)(server.url, { signal: stop.signal });
    stop.abort(new Error('enough'));
    await expect(running).rejects.toThrow('enough');
  });

  test('refuses what is packed, since it cannot be unpacked as it comes', async () => {
    await using server = await startServer((_request, response) => {
      response.writeHead(200, { 'content-encoding': 'gzip' }).end('x');
    });
    const fetch = streaming([`127.0.0.1:${server.port}`]);
    await expect(fetch(server.url)).rejects.toThrow('is compressed, although that was not requested');
  });
});
