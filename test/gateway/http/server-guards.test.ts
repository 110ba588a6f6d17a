import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { HttpOptions } from '../../../src/core/gateway/http/options.ts';
import { startHttpServer, type HttpServer } from '../../../src/core/gateway/http/server.ts';
import { gatewayToken, isLoopback, requireTokenBeyondLoopback } from '../../../src/core/gateway/token.ts';
import { silentLog } from '../../../src/core/util/log.ts';
import { systemRandom } from '../../../src/core/util/random.ts';
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

/** What the server answers to these very bytes. */
async function answerTo(server: HttpServer, request: string): Promise<string> {
  const socket = connect(Number(new URL(server.address).port), '127.0.0.1');
  socket.end(request);
  let answer = '';
  for await (const chunk of socket) answer += String(chunk);
  return answer;
}

describe('a request', () => {
  test.each(['GET / HTTP/1.0\r\n\r\n', 'GET / HTTP/1.0\r\nHost: [\r\n\r\n', 'GET / HTTP/1.0\r\nHost:\r\n\r\n'])(
    'that names no host is not served: %j',
    async (request) => {
      expect(await answerTo(await start(), request)).toMatch(/^HTTP\/1\.[01] 40[03] /u);
    },
  );

  test.each(['0.0.0.0', '::'])('for a name is not served where it listens on every address (%s)', async (host) => {
    const server = await start({ host, token: 'chosen' }).catch((error: unknown) =>
      host === '::' ? null : Promise.reject(error),
    );
    if (server === null) return;
    const served = async (name: string): Promise<boolean> =>
      (await answerTo(server, `GET / HTTP/1.0\r\nHost: ${name}\r\n\r\n`)).includes(' 404 ');
    expect(await served('192.0.2.7:80')).toBe(true);
    expect(await served('rebound.example')).toBe(false);
  });

  test('that fails is told nothing of what went wrong inside', async () => {
    const channels = (): never => {
      throw new Error('the secret of the house');
    };
    const answer = await answerTo(await start({ channels }), 'GET /health HTTP/1.0\r\nHost: localhost\r\n\r\n');
    expect(answer).toContain(' 500 ');
    expect(answer).not.toMatch(/secret|server\.ts|at /u);
  });
});

describe('an address that other machines reach', () => {
  test.each(['0.0.0.0', '::', '192.0.2.7'])(
    'is not listened at without a token that the owner chose: %s',
    async (host) => {
      expect(await failureOf(start({ host, port: 0 }))).toMatchObject({
        code: 'config-invalid',
        message: expect.stringContaining('gateway.token is not set'),
      });
      expect(() => requireTokenBeyondLoopback(host, 'chosen')).not.toThrow();
    },
  );

  test.each([
    ['127.0.0.1', true],
    ['127.1.2.3', true],
    ['localhost', true],
    ['::1', true],
    ['127.evil.example', false],
    ['127.0.0.1.evil.example', false],
    ['1127.0.0.1', false],
    ['localhost.evil.example', false],
    ['0.0.0.0', false],
  ])('is told from this machine: %s is loopback: %s', (host, expected) => {
    expect(isLoopback(host)).toBe(expected);
  });
});

test('no two homes have the same token', async () => {
  const make = async (): Promise<string> => {
    const path = join(temporaryFolder(), 'gateway.token');
    await gatewayToken({ configured: null, path, random: systemRandom });
    return readFileSync(path, 'utf8');
  };
  expect(await make()).not.toBe(await make());
});
