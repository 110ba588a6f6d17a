import { once } from 'node:events';
import { describe, expect, onTestFinished, test } from 'vitest';
import { WebSocket } from 'ws';
import { LOGIN_HEADER } from '../../../src/core/gateway/http/login.ts';
import { bearer, httpWorld, post, TOKEN } from './http-world.ts';

const WEEK_MS = 7 * 86_400_000;

describe('a login link', () => {
  test('has its code in the fragment, which no browser sends, and logs in once', async () => {
    const world = await httpWorld();
    const link = world.server.newLink() ?? '';
    expect(link).toMatch(new RegExp(`^http://127\\.0\\.0\\.1:${world.port}/#login=[\\w-]{43}$`, 'u'));
    const code = link.split('#login=')[1] ?? '';
    const first = await world.ask('/login', post({ code }, { origin: world.server.address }));
    expect(first.status).toBe(204);
    expect(first.headers['set-cookie']?.[0]).toMatch(
      new RegExp(`^assistant_session_${world.port}=[^;]+; Path=/; Max-Age=2592000; HttpOnly; SameSite=Strict$`, 'u'),
    );
    const second = await world.ask('/login', post({ code }, { origin: world.server.address }));
    expect(second.status).toBe(401);
    expect(JSON.parse(second.text)).toMatchObject({ error: { code: 'login-failed' } });
  });

  test('is worth nothing after ten minutes', async () => {
    const world = await httpWorld();
    const code = world.server.newLink()?.split('#login=')[1] ?? '';
    await world.clock.advance(600_000);
    expect((await world.ask('/login', post({ code }))).status).toBe(401);
  });

  test('is not made where no page is served', async () => {
    const world = await httpWorld({}, { page: null });
    expect(world.server.newLink()).toBeNull();
    expect((await world.ask('/')).status).toBe(404);
  });

  test('names an address that can be opened when the server listens on all', async () => {
    const world = await httpWorld({ host: '0.0.0.0', token: 'chosen' });
    expect(world.server.newLink()).toContain(`http://127.0.0.1:${world.port}/#login=`);
  });
});

describe('the cookie', () => {
  test('opens what asks for a login, to the page alone', async () => {
    const world = await httpWorld();
    const cookie = await world.login();
    const asked = async (headers: Record<string, string>): Promise<number> =>
      (await world.ask('/ready', { headers: { cookie, ...headers } })).status;
    expect(await asked({ 'sec-fetch-site': 'same-origin' })).toBe(200);
    expect(await asked({ origin: world.server.address })).toBe(200);
    expect(await asked({ referer: `${world.server.address}/x` })).toBe(200);
    expect(await asked({})).toBe(403);
    expect(await asked({ 'sec-fetch-site': 'none' })).toBe(403);
    expect(await asked({ 'sec-fetch-site': 'same-site' })).toBe(403);
    expect(await asked({ 'sec-fetch-site': 'cross-site', referer: `${world.server.address}/` })).toBe(403);
    expect(await asked({ referer: 'http://127.0.0.1:1/x' })).toBe(403);
  });

  test('lasts 30 days, and over a restart with the same token', async () => {
    const first = await httpWorld();
    const cookie = await first.login();
    const headers = { cookie, ...first.key(cookie), origin: first.server.address };
    await first.clock.advance(4 * WEEK_MS);
    expect((await first.ask('/ready', { headers })).status).toBe(200);
    await first.server[Symbol.asyncDispose]();
    const again = await httpWorld({ port: first.port, clock: first.clock });
    expect((await again.ask('/ready', { headers })).status).toBe(200);
    await first.clock.advance(WEEK_MS);
    expect((await again.ask('/ready', { headers })).status).toBe(401);
  });

  test('dies with the token that it was made with', async () => {
    const first = await httpWorld();
    const cookie = await first.login();
    const headers = { cookie, ...first.key(cookie), origin: first.server.address };
    await first.server[Symbol.asyncDispose]();
    const again = await httpWorld({ port: first.port }, { token: 'another' });
    expect((await again.ask('/ready', { headers })).status).toBe(401);
  });

  test('is worth nothing after the logout', async () => {
    const world = await httpWorld();
    const cookie = await world.login();
    const headers = { cookie, origin: world.server.address };
    expect((await world.ask('/ready', { headers })).status).toBe(200);
    const left = await world.ask('/logout', post({}, headers));
    expect(left.status).toBe(204);
    expect(left.headers['set-cookie']?.[0]).toContain('=; Path=/; Max-Age=0;');
    expect((await world.ask('/ready', { headers })).status).toBe(401);
  });

  test('alone, as another port of this machine sees it, logs nobody out', async () => {
    const world = await httpWorld();
    const cookie = await world.login();
    const headers = { cookie, ...world.key(cookie), origin: world.server.address };
    const socket = new WebSocket(`ws://127.0.0.1:${world.port}/ws`, { headers });
    onTestFinished(() => socket.terminate());
    await once(socket, 'open');
    const { origin } = headers;
    for (const half of ['', 'A'.repeat(43)])
      await world.ask('/logout', post({}, { cookie, origin, [LOGIN_HEADER]: half }));
    expect((await world.ask('/ready', { headers })).status).toBe(200);
    expect(socket.readyState).toBe(WebSocket.OPEN);
  });

  test('ends with the logout for the tabs that are open too, and another login goes on', async () => {
    const world = await httpWorld();
    const tab = async (): Promise<{ readonly headers: Record<string, string>; readonly socket: WebSocket }> => {
      const cookie = await world.login();
      const headers = { cookie, ...world.key(cookie), origin: world.server.address };
      const socket = new WebSocket(`ws://127.0.0.1:${world.port}/ws`, { headers });
      onTestFinished(() => socket.terminate());
      await once(socket, 'open');
      return { headers, socket };
    };
    const [mine, other] = [await tab(), await tab()];
    const closed = once(mine.socket, 'close');
    await world.ask('/logout', post({}, mine.headers));
    expect((await closed).map(String)).toEqual(['1008', 'logged out']);
    expect(other.socket.readyState).toBe(WebSocket.OPEN);
  });

  test('with another end, or signed by nobody, is none', async () => {
    const world = await httpWorld();
    const cookie = await world.login();
    const [name = '', value = ''] = cookie.split('=');
    const [until = '', nonce = '', signature = ''] = value.split('.');
    for (const forged of [
      `${name}=${Number(until) + 1}.${nonce}.${signature}`,
      `${name}=${until}.${nonce}.${'A'.repeat(43)}`,
      `${name}=${until}.${nonce}`,
      `${name}=`,
      `assistant_session_1=${value}`,
    ]) {
      const headers = { cookie: forged, ...world.key(cookie), origin: world.server.address };
      const answer = await world.ask('/ready', { headers });
      expect(answer.status, forged).toBe(401);
    }
  });

  test('is Secure where a reverse proxy serves the page over TLS, and only there', async () => {
    const world = await httpWorld({ publicUrl: 'https://assistant.example.org' });
    const cookieFor = async (host: string, origin: string): Promise<string> => {
      const answer = await world.ask('/login', post({ token: TOKEN }, { host, origin }));
      return answer.headers['set-cookie']?.[0] ?? answer.text;
    };
    expect(await cookieFor('assistant.example.org', 'https://assistant.example.org')).toMatch(/; Secure$/u);
    expect(await cookieFor('127.0.0.1', 'http://127.0.0.1')).toMatch(/SameSite=Strict$/u);
    expect(await cookieFor('assistant.example.org', 'http://assistant.example.org')).toContain('origin-refused');
    expect(world.server.newLink()).toMatch(/^https:\/\/assistant\.example\.org\/#login=/u);
  });
});

describe('the token', () => {
  test('as a bearer token opens what asks for a login', async () => {
    const world = await httpWorld();
    expect((await world.ask('/ready', { headers: bearer() })).status).toBe(200);
    expect((await world.ask('/ready', { headers: bearer('another') })).status).toBe(401);
  });

  test('is read nowhere else', async () => {
    const world = await httpWorld();
    expect((await world.ask(`/ready?token=${TOKEN}&access_token=${TOKEN}`)).status).toBe(401);
    expect((await world.ask('/ready', { headers: { authorization: TOKEN } })).status).toBe(401);
    expect((await world.ask('/ready', { headers: { 'x-api-key': TOKEN } })).status).toBe(401);
    expect((await world.ask(`/login?token=${TOKEN}`, post({}))).status).toBe(400);
  });
});

describe('the cookie alone, which every server on this machine gets to see,', () => {
  const wrong = (right: string): readonly string[] => [
    '',
    'A'.repeat(43),
    right.slice(1),
    `${right}x`,
    right.toLowerCase(),
  ];

  test.each([
    '/ready',
    '/api/media/none',
    '/api/outbound/1/media/0',
    '/v1/models',
    '/metrics',
    '/api/sessions/x/history',
  ])('does not open %s, with the key of another login or none', async (path) => {
    const world = await httpWorld();
    const cookie = await world.login();
    const other = world.key(await world.login())[LOGIN_HEADER] ?? '';
    const origin = world.server.address;
    for (const key of [other, ...wrong(world.key(cookie)[LOGIN_HEADER] ?? '')]) {
      const headers = { cookie, origin, [LOGIN_HEADER]: key };
      expect((await world.ask(path, { headers })).status, key).toBe(401);
      const address = `${path}?login=${encodeURIComponent(key)}`;
      expect((await world.ask(address, { headers: { cookie, origin, [LOGIN_HEADER]: [] } })).status, key).toBe(401);
    }
  });

  test.each(['/api/messages', '/api/uploads', '/api/operations/pageLink', '/v1/responses'])(
    'sends nothing to %s, and a key in the address does not count there',
    async (path) => {
      const world = await httpWorld();
      const cookie = await world.login();
      const key = world.key(cookie)[LOGIN_HEADER] ?? '';
      const headers = { cookie, origin: world.server.address, [LOGIN_HEADER]: '' };
      expect((await world.ask(path, post({}, headers))).status).toBe(401);
      const bare = { cookie, origin: world.server.address, [LOGIN_HEADER]: [] };
      const sent = { ...post({}), headers: { 'content-type': 'application/json', ...bare } };
      expect((await world.ask(`${path}?login=${key}`, sent)).status).toBe(401);
    },
  );

  test('opens the page itself, and with the key in the address what a browser opens by itself', async () => {
    const world = await httpWorld();
    const cookie = await world.login();
    const key = world.key(cookie)[LOGIN_HEADER] ?? '';
    const headers = { cookie, 'sec-fetch-site': 'same-origin', [LOGIN_HEADER]: [] };
    expect((await world.ask('/', { headers })).status).toBe(200);
    expect((await world.ask(`/api/media/none?login=${key}`, { headers })).status).toBe(404);
    expect((await world.ask(`/api/media/none?login=${key}`, { headers: { [LOGIN_HEADER]: [] } })).status).toBe(401);
  });
});

describe('failed logins', () => {
  test('are ten a minute at most, on this machine too, and the right token has to wait as well', async () => {
    const world = await httpWorld();
    for (let n = 0; n < 10; n += 1) expect((await world.ask('/ready', { headers: bearer('wrong') })).status).toBe(401);
    const slowed = await world.ask('/ready', { headers: bearer() });
    expect(slowed.status).toBe(429);
    expect(slowed.headers['retry-after']).toBe('60');
    expect((await world.ask('/login', post({ token: TOKEN }))).status).toBe(429);
    await world.clock.advance(60_000);
    expect((await world.ask('/ready', { headers: bearer() })).status).toBe(200);
  });

  test('do not slow who is logged in already', async () => {
    const world = await httpWorld();
    const headers = { cookie: await world.login(), origin: world.server.address };
    for (let n = 0; n < 20; n += 1) await world.ask('/login', post({ code: 'wrong' }));
    expect((await world.ask('/ready', { headers })).status).toBe(200);
  });

  test('of others do not keep out a program that was right before, from this machine or through the proxy', async () => {
    const world = await httpWorld({ publicUrl: 'https://assistant.example.org' });
    const via = (address: string, token?: string): Record<string, string> => ({
      host: 'assistant.example.org',
      'x-forwarded-for': address,
      ...bearer(token),
    });
    const status = async (headers: Record<string, string>): Promise<number> =>
      (await world.ask('/ready', { headers })).status;
    expect(await status(bearer())).toBe(200);
    expect(await status(via('192.0.2.1'))).toBe(200);
    for (let n = 0; n < 110; n += 1) await status(via(`10.0.${n}.1`, 'wrong'));
    for (let n = 0; n < 10; n += 1) await status(bearer('wrong'));
    expect(await status(bearer())).toBe(200);
    expect((await world.ask('/login', post({ token: TOKEN }))).status).toBe(204);
    expect(await status(via('192.0.2.1'))).toBe(200);
    expect(await status(bearer('wrong'))).toBe(429);
    expect(await status(via('192.0.2.2'))).toBe(429);
  });

  test('behind a proxy are counted for each client, but a client cannot name itself otherwise', async () => {
    const world = await httpWorld({ publicUrl: 'https://assistant.example.org' });
    const tried = async (host: string, forwarded: string): Promise<number> =>
      (await world.ask('/ready', { headers: { host, 'x-forwarded-for': forwarded, ...bearer('wrong') } })).status;
    for (let n = 0; n < 10; n += 1) await tried('assistant.example.org', `10.0.0.${n}, 192.0.2.1`);
    expect(await tried('assistant.example.org', '192.0.2.1')).toBe(429);
    expect(await tried('assistant.example.org', '192.0.2.2')).toBe(401);
    for (let n = 0; n < 10; n += 1) expect(await tried('127.0.0.1', `192.0.2.${n + 10}`)).toBe(401);
    expect(await tried('127.0.0.1', '192.0.2.99')).toBe(429);
  });

  test('from many addresses are a hundred a minute in all', async () => {
    const world = await httpWorld({ publicUrl: 'https://assistant.example.org' });
    const tried = async (n: number): Promise<number> =>
      (
        await world.ask('/ready', {
          headers: { host: 'assistant.example.org', 'x-forwarded-for': `10.0.${n}.1`, ...bearer('wrong') },
        })
      ).status;
    for (let n = 0; n < 100; n += 1) expect(await tried(n)).toBe(401);
    expect(await tried(100)).toBe(429);
  });
});
