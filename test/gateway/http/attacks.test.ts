import { Agent, request, type IncomingMessage } from 'node:http';
import { once } from 'node:events';
import { connect, Socket } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { WebSocket } from 'ws';
import { waitFor } from '../../support/wait.ts';
import { startWorld } from '../../support/world.ts';
import { bearer, httpWorld, post, TOKEN, type HttpWorld } from './http-world.ts';

const WRITES = ['/api/messages', '/api/stop', '/api/answers', '/api/operations/info', '/api/uploads', '/logout'];

/** The status with which a WebSocket is refused; 101: it opens. */
async function statusOf(world: HttpWorld, headers: Record<string, string>, path = '/ws'): Promise<number> {
  const socket = new WebSocket(`ws://127.0.0.1:${world.port}${path}`, { headers });
  onTestFinished(() => socket.terminate());
  const refused = once(socket, 'unexpected-response').then(([, response]: { statusCode: number }[]) => response);
  const opened = once(socket, 'open').then(() => ({ statusCode: 101 }));
  return (await Promise.race([refused, opened]))?.statusCode ?? 0;
}

describe('a WebSocket', () => {
  test('of the page opens with its cookie, one of a program with the token', async () => {
    const world = await httpWorld();
    const cookie = await world.login();
    expect(await statusOf(world, { cookie, ...world.key(cookie), origin: world.server.address })).toBe(101);
    expect(await statusOf(world, { cookie, origin: world.server.address })).toBe(401);
    expect(await statusOf(world, bearer())).toBe(101);
  });

  test('from another page, under another name, or of nobody does not open', async () => {
    const world = await httpWorld();
    const cookie = await world.login();
    const evil = 'http://evil.example';
    expect(await statusOf(world, { cookie, origin: evil })).toBe(403);
    expect(await statusOf(world, { ...bearer(), origin: evil })).toBe(403);
    expect(await statusOf(world, { cookie, origin: 'null' })).toBe(403);
    expect(await statusOf(world, { cookie })).toBe(403);
    expect(await statusOf(world, { ...bearer(), host: 'evil.example' })).toBe(403);
    expect(await statusOf(world, { cookie, origin: evil, host: 'evil.example' })).toBe(403);
    expect(await statusOf(world, {})).toBe(401);
    expect(await statusOf(world, { origin: world.server.address })).toBe(401);
    expect(await statusOf(world, {}, `/ws?token=${TOKEN}&access_token=${TOKEN}`)).toBe(401);
    expect(await statusOf(world, bearer(), '/api/messages')).toBe(404);
  });

  test('with a wrong token counts as a failed login', async () => {
    const world = await httpWorld();
    for (let n = 0; n < 10; n += 1) expect(await statusOf(world, bearer('wrong'))).toBe(401);
    expect(await statusOf(world, bearer())).toBe(429);
  });
});

describe('a page of another site', () => {
  test('sends nothing with the cookie of the person who looks at it', async () => {
    const world = await httpWorld();
    const cookie = await world.login();
    const body = JSON.stringify({ id: 'message-0001', chat: 'main', text: 'hi' });
    for (const path of WRITES) {
      for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'application/json']) {
        for (const origin of ['http://evil.example', 'null', `http://127.0.0.1:${world.port + 1}`]) {
          const headers = { cookie, origin, 'content-type': type };
          expect((await world.ask(path, { method: 'POST', headers, body })).status, `${path} ${type}`).toBe(403);
        }
      }
    }
  });

  test('that leaves out what says where it is has no cookie that counts, and no form that is read', async () => {
    const world = await httpWorld();
    const cookie = await world.login();
    for (const path of WRITES.filter((one) => one !== '/logout')) {
      expect((await world.ask(path, post({}, { cookie }))).status, path).toBe(403);
      expect((await world.ask(path, post({}, { cookie, 'sec-fetch-site': 'same-origin' }))).status, path).toBe(403);
    }
    for (const path of WRITES.filter((one) => one !== '/api/uploads')) {
      const headers = { cookie, origin: world.server.address, 'content-type': 'text/plain' };
      expect((await world.ask(path, { method: 'POST', headers, body: '{}' })).status, path).toBe(415);
    }
  });
});

test('a path that leads out leads nowhere, with the token too', async () => {
  const world = await httpWorld();
  const secret = /root:|"gateway"|the-token/u;
  for (const path of [
    '/../../../etc/passwd',
    '/assets/../../../../etc/passwd',
    '/assets/..%2f..%2f..%2fetc%2fpasswd',
    '/%2e%2e/%2e%2e/config.json',
    '/..\\..\\config.json',
    '//etc/passwd',
    '/api/media/..%2f..%2fgateway.token',
    '/api/media/%00',
    '/api/outbound/..%2f..%2fstate.db/media/0',
    '/api/outbound/x/media/-1',
    '/api/%2e%2e/login',
  ]) {
    const answer = await world.raw(
      `GET ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${TOKEN}\r\nConnection: close\r\n\r\n`,
    );
    expect(answer, path).toMatch(/^HTTP\/1\.1 40[04] /u);
    expect(answer, path).not.toMatch(secret);
  }
});

test('a file of more than 20 MB is not taken, also when it does not say how large it is', async () => {
  const world = await httpWorld();
  const large = Buffer.alloc(20 * 1024 * 1024 + 1);
  const sent = { method: 'POST', headers: { ...bearer(), 'content-type': 'image/png' }, body: large };
  expect((await world.ask('/api/uploads', sent)).status).toBe(413);
  const chunked = { ...sent, headers: { ...sent.headers, 'transfer-encoding': 'chunked' } };
  expect((await world.ask('/api/uploads', chunked)).status).toBe(413);
});

describe('connections that only stay open', () => {
  test.each([
    ['say nothing', ''],
    ['stop within their headers', 'GET /health HTTP/1.1\r\nHost: localhost\r\nX-A: '],
    ['stop within a wrong token', 'GET /ready HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer wro'],
  ])('and %s keep out no request with the token, and end no connection that has had one', async (_, begun) => {
    const world = await httpWorld();
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const idle: Socket[] = [];
    onTestFinished(() => {
      agent.destroy();
      idle.forEach((socket) => socket.destroy());
    });
    const kept = async (): Promise<{ readonly status: number | undefined; readonly socket: Socket }> => {
      const asked = request({ port: world.port, path: '/ready', headers: bearer(), agent });
      const answered = once(asked, 'response');
      asked.end();
      const [response]: IncomingMessage[] = await answered;
      response?.resume();
      await once(response ?? asked, 'end');
      return { status: response?.statusCode, socket: response?.socket ?? asked.socket ?? new Socket() };
    };
    const first = await kept();
    for (let n = 0; n < 540; n += 1) {
      const socket = connect(world.port, '127.0.0.1');
      socket.on('error', () => {});
      socket.write(begun);
      idle.push(socket);
      if (n % 20 === 0) await once(socket, 'connect');
    }
    for (let n = 0; n < 25; n += 1) expect((await world.ask('/ready', { headers: bearer() })).status).toBe(200);
    const again = await kept();
    expect([first.status, again.status, again.socket === first.socket]).toEqual([200, 200, true]);
  });
});

describe('a thousand connections that only stay open', () => {
  /** Processor time of a turn, milliseconds: the least of several, which what else runs on the machine disturbs least. */
  async function turnMs(run: () => Promise<unknown>): Promise<number> {
    let least = Infinity;
    for (let n = 0; n < 12; n += 1) {
      const before = process.threadCpuUsage();
      await run();
      const { user, system } = process.threadCpuUsage(before);
      least = Math.min(least, (user + system) / 1_000);
    }
    return least;
  }

  test('slow no turn by a tenth, and leave room again when they are gone', async () => {
    await using world = await startWorld();
    world.model.setHandler(() => 'Fine.');
    const { http } = await world.assistant.call('info', {});
    const port = Number(new URL(http ?? '').port);
    let turns = 0;
    const run = (): Promise<unknown> => world.assistant.run(`turn ${(turns += 1)}`, { session: `s${turns}` });
    await turnMs(run);
    const alone = await turnMs(run);
    const idle: Socket[] = [];
    onTestFinished(() => idle.forEach((socket) => socket.destroy()));
    for (let n = 0; n < 1_000; n += 1) {
      const socket = connect(port, '127.0.0.1');
      socket.on('error', () => {});
      idle.push(socket);
      if (n % 2 === 0) socket.write('GET /health HTTP/1.1\r\nHost: localhost\r\nX-A: ');
      if (n % 50 === 0) await once(socket, 'connect');
    }
    let among = await turnMs(run);
    for (let n = 0; n < 10 && among >= alone * 1.1; n += 1) among = Math.min(among, await turnMs(run));
    for (const socket of idle) socket.destroy();
    // Measured on both sides, because the machine itself may have become slower in between.
    expect(among).toBeLessThan(Math.max(alone, await turnMs(run)) * 1.1);
    await waitFor(async () => (await fetch(`${http}/health`)).status === 200, { what: 'room' });
  });
});
