import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { HttpOptions } from '../../../src/core/gateway/http/options.ts';
import { startHttpServer, type HttpServer } from '../../../src/core/gateway/http/server.ts';
import { gatewayToken } from '../../../src/core/gateway/token.ts';
import { systemRandom } from '../../../src/core/util/random.ts';
import { silentLog } from '../../../src/core/util/log.ts';
import { failureOf, temporaryFolder } from '../../config/temporary-home.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';

async function start(options: Partial<HttpOptions> = {}): Promise<HttpServer> {
  const server = await startHttpServer({
    host: '127.0.0.1',
    port: 0,
    token: null,
    publicUrl: null,
    inside: null,
    version: '1.2.3',
    channels: () => ({}),
    home: '/home/anna/.assistant',
    storage: () => ({ state: 'ok', since: 0, reason: null }),
    clock: new VirtualClock(),
    log: silentLog,
    ...options,
  });
  onTestFinished(() => server[Symbol.asyncDispose]());
  return server;
}

function statusFor(server: HttpServer, host: string, path = '/'): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const { port } = new URL(server.address);
    const asked = request({ host: '127.0.0.1', port, path, headers: { host } }, (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    asked.on('error', reject);
    asked.end();
  });
}

describe('/health', () => {
  test('says what serves, for how long, and how each channel is', async () => {
    const clock = new VirtualClock();
    const server = await start({ clock, channels: () => ({ telegram: { state: 'running', lastInboundAt: 5 } }) });
    await clock.advance(90_500);
    const response = await fetch(`${server.address}/health`);
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({
      status: 'ok',
      version: '1.2.3',
      uptimeSeconds: 90,
      storage: 'ok',
      channels: { telegram: { state: 'running', lastInboundAt: 5 } },
    });
  });

  test('is 503 and says how the disk is while that cannot be written', async () => {
    const server = await start({ storage: () => ({ state: 'full', since: 5, reason: 'ENOSPC' }) });
    const response = await fetch(`${server.address}/health`);
    expect(response.status).toBe(503);
    expect(await response.json()).toMatchObject({ status: 'degraded', storage: 'full' });
  });

  test.each(['failed', 'reconnecting'] as const)('is degraded, and still 200, when a channel is %s', async (state) => {
    const server = await start({
      channels: () => ({ a: { state: 'running' }, b: { state, detail: 'no token' } }),
    });
    const response = await fetch(`${server.address}/health`);
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ status: 'degraded', channels: { b: { detail: 'no token' } } });
  });
});

test('everything else is not found, as JSON', async () => {
  const server = await start();
  for (const [path, method] of [
    ['/', 'GET'],
    ['/health', 'POST'],
    ['/api/x', 'GET'],
  ] as const) {
    const response = await fetch(server.address + path, { method, headers: { 'Content-Type': 'application/json' } });
    expect(response.status).toBe(404);
    expect(await response.json()).toEqual({ error: { code: 'not-found', message: 'There is nothing here.' } });
  }
});

test.each([
  ['127.0.0.1', 404],
  ['localhost:1234', 404],
  ['[::1]:80', 404],
  ['evil.example', 403],
  ['127.0.0.1.evil.example', 403],
])('a request for the host %j gets %d', async (host, status) => {
  expect(await statusFor(await start(), host)).toBe(status);
});

test('a wildcard address takes numeric hosts, which no foreign page can name', async () => {
  const server = await start({ host: '0.0.0.0', token: 'chosen' });
  expect(await statusFor(server, '192.0.2.7:18790')).toBe(404);
  expect(await statusFor(server, 'evil.example')).toBe(403);
});

describe('an address that cannot be had', () => {
  test('because another program has the port names the port and the way out', async () => {
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void other.close());
    const { port } = other.address() as AddressInfo;
    const error = await failureOf(start({ port }));
    expect(error).toMatchObject({ code: 'port-busy', exitCode: 1, facts: { host: '127.0.0.1', port } });
    expect(error.message).toBe(
      `Port ${port} on 127.0.0.1 is taken by another program. Use --port N or gateway.port in the configuration to choose another.`,
    );
  });

  test('because it is not ours is a configuration error', async () => {
    const error = await failureOf(start({ host: '192.0.2.1', token: 'chosen' }));
    expect(error).toMatchObject({ code: 'config-invalid', exitCode: 78 });
  });

  test.each(['0.0.0.0', '::', '192.168.0.5', 'example.org'])('beyond loopback needs a token: %s', async (host) => {
    const error = await failureOf(start({ host }));
    expect(error).toMatchObject({ code: 'config-invalid', exitCode: 78 });
    expect(error.message).toContain('gateway.token is not set');
  });
});

test('the port is free again after the server ended, also with a connection open', async () => {
  const server = await start();
  const { port } = new URL(server.address);
  await fetch(`${server.address}/health`);
  await server[Symbol.asyncDispose]();
  await start({ port: Number(port) });
});

describe('the token', () => {
  test('is made once, for the owner alone', async () => {
    const path = join(temporaryFolder(), 'gateway.token');
    const made = await gatewayToken({ configured: null, path, random: systemRandom });
    expect(made).toMatch(/^[\w-]{43}$/u);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(readFileSync(path, 'utf8').trim()).toBe(made);
    expect(await gatewayToken({ configured: null, path, random: systemRandom })).toBe(made);
  });

  test.each([
    ['empty', Buffer.alloc(0)],
    ['zeroed', Buffer.alloc(44)],
    ['cut off', Buffer.from('Zm9vYmFyYmF6')],
    ['random bytes', Buffer.from([200, 31, 7, 255, 128, 10, 66, 67])],
  ])('is made again, and the owner is told, when its file is damaged: %s', async (_how, bytes) => {
    const path = join(temporaryFolder(), 'gateway.token');
    writeFileSync(path, bytes);
    const said: string[] = [];
    const remade = (sentence: string): void => void said.push(sentence);
    const made = await gatewayToken({ configured: null, path, random: systemRandom, remade });
    expect(made).toMatch(/^[\w-]{43}$/u);
    expect(said).toEqual([expect.stringContaining(`${path} was damaged, so I made a new token.`)]);
    expect(await gatewayToken({ configured: null, path, random: systemRandom, remade })).toBe(made);
    expect(said).toHaveLength(1);
  });

  test('that can’t be read stops the start with one sentence', async () => {
    const path = temporaryFolder();
    const failed = gatewayToken({ configured: null, path, random: systemRandom });
    await expect(failed).rejects.toThrow(`${path} can’t be read: EISDIR`);
  });

  test('is the configured one where there is one', async () => {
    const path = join(temporaryFolder(), 'gateway.token');
    expect(await gatewayToken({ configured: 'mine', path, random: systemRandom })).toBe('mine');
    expect(() => statSync(path)).toThrow(/ENOENT/u);
  });
});
