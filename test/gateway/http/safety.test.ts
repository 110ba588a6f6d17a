import { describe, expect, test } from 'vitest';
import { bearer, httpWorld, post, TOKEN } from './http-world.ts';

describe('a page of another site', () => {
  test.each(['http://evil.example', 'null', 'https://127.0.0.1', 'http://localhost', 'http://127.0.0.1:1', ''])(
    'is refused by its Origin %j, whatever it brings',
    async (origin) => {
      const world = await httpWorld();
      const cookie = await world.login();
      const tries: Readonly<Record<string, string>>[] = [{ cookie }, bearer(), {}];
      for (const headers of tries) {
        const answer = await world.ask('/ready', { headers: { ...headers, origin } });
        expect(answer.status).toBe(403);
        expect(JSON.parse(answer.text)).toMatchObject({ error: { code: 'origin-refused' } });
      }
      expect((await world.ask('/login', post({ token: TOKEN }, { origin }))).status).toBe(403);
    },
  );

  test.each([
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/jsonp',
  ])('that sends a form (%s) is not read', async (type) => {
    const world = await httpWorld();
    const answer = await world.ask('/login', {
      method: 'POST',
      headers: { 'content-type': type },
      body: JSON.stringify({ token: TOKEN }),
    });
    expect(answer.status).toBe(415);
    expect(answer.headers['set-cookie']).toBeUndefined();
  });

  test('is given no leave by a preflight', async () => {
    const world = await httpWorld();
    const answer = await world.ask('/login', {
      method: 'OPTIONS',
      headers: { origin: 'http://evil.example', 'access-control-request-method': 'POST' },
    });
    expect(answer.status).toBe(403);
    expect(Object.keys(answer.headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
  });
});

describe('a name that was bound to this machine later', () => {
  test.each(['evil.example', '127.0.0.1.evil.example', '127.0.0.1@evil.example', 'localhost/x', 'localhost#x', ' '])(
    'is not served: %j',
    async (host) => {
      const world = await httpWorld();
      for (const path of ['/', '/ready', '/login']) {
        expect(await world.raw(`GET ${path} HTTP/1.0\r\nHost: ${host}\r\n\r\n`)).toMatch(/^HTTP\/1\.[01] 40[03] /u);
      }
    },
  );

  test('hears of /health that it runs, and nothing more', async () => {
    const world = await httpWorld({ channels: () => ({ telegram: { state: 'running' } }) });
    const answer = await world.ask('/health', { headers: { host: 'evil.example' } });
    expect([answer.status, JSON.parse(answer.text)]).toEqual([200, { status: 'ok' }]);
  });

  test('is served if it is that of the reverse proxy', async () => {
    const world = await httpWorld({ publicUrl: 'https://assistant.example.org' });
    const asked = async (host: string): Promise<number> => (await world.ask('/', { headers: { host } })).status;
    expect(await asked('assistant.example.org')).toBe(200);
    expect(await asked('assistant.example.org:81')).toBe(403);
    expect(await asked('other.example.org')).toBe(403);
  });
});

test('every answer says to browsers what this page may do, errors too', async () => {
  const world = await httpWorld();
  const paths = ['/', '/health', '/ready', '/nothing', '/api/x'];
  for (const path of paths) {
    const { headers } = await world.ask(path);
    expect(headers['content-security-policy']).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data: blob:; media-src 'self' blob:; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
    );
    expect(headers['x-content-type-options']).toBe('nosniff');
    expect(headers['cache-control']).toBe(path === '/' ? 'no-cache' : 'no-store');
    expect(headers['access-control-allow-origin']).toBeUndefined();
  }
});

test('without a login all is closed but /health, the page and the login', async () => {
  const world = await httpWorld();
  for (const path of ['/ready', '/metrics', '/api/operations/info', '/v1/models', '/nothing', '/ws']) {
    expect((await world.ask(path)).status, path).toBe(401);
    expect((await world.ask(path, post({}))).status, path).toBe(401);
  }
  expect((await world.ask('/')).status).toBe(200);
  expect((await world.ask('/health')).status).toBe(200);
});

test('a file of the page that a browser has is not sent again', async () => {
  const world = await httpWorld();
  const first = await world.ask('/');
  expect([first.status, first.text, first.headers.etag]).toEqual([200, '<p>', '"h1"']);
  const again = await world.ask('/', { headers: { 'if-none-match': '"h1"' } });
  expect([again.status, again.text]).toEqual([304, '']);
});

test('the page is loaded once, when a browser asks for it, and anew after a failure', async () => {
  let loads = 0;
  const page = async () => {
    loads += 1;
    if (loads === 1) throw new Error('the disk');
    return { get: () => undefined };
  };
  const world = await httpWorld({}, { page });
  await world.ask('/api/x');
  await world.ask('/health');
  expect(loads).toBe(0);
  expect((await world.ask('/')).status).toBe(500);
  expect((await world.ask('/a.js')).status).toBe(401);
  expect((await world.ask('/b.js')).status).toBe(401);
  expect(loads).toBe(2);
});

describe('a body', () => {
  test('beyond a megabyte is refused, also when it does not say how long it is', async () => {
    const world = await httpWorld();
    const long = `{"token":"${'x'.repeat(1_000_000)}"}`;
    expect((await world.ask('/login', { ...post({}), body: long })).status).toBe(413);
    const chunked = { ...post({}).headers, 'transfer-encoding': 'chunked' };
    expect((await world.ask('/login', { method: 'POST', headers: chunked, body: long })).status).toBe(413);
  });

  test('that is no JSON, or not what was expected, gets one sentence', async () => {
    const world = await httpWorld();
    const sent = async (body: string): Promise<unknown> =>
      JSON.parse((await world.ask('/login', { ...post({}), body })).text);
    const invalid = { error: { code: 'input-invalid', message: expect.stringMatching(/^[A-Z][^\n]*\.$/u) } };
    for (const body of ['{', '[1]', '"x"', '{"code":1}', '['.repeat(400_000), '{"__proto__":{"code":"x"}}']) {
      expect(await sent(body), body.slice(0, 20)).toEqual(invalid);
    }
  });
});

describe('a client that takes its time', () => {
  const times = { headersTimeout: 300, requestTimeout: 600, connectionsCheckingInterval: 100 };

  test.each([
    ['with its headers', 'GET / HTTP/1.1\r\nHost: localhost\r\nX-A: '],
    [
      'with its body',
      'POST /login HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 90\r\n\r\n{',
    ],
    ['and says nothing at all', ''],
  ])('%s is cut off', async (_, bytes) => {
    const world = await httpWorld({}, {}, times);
    await world.ask('/health');
    const from = performance.now();
    expect(await world.raw(bytes, 20_000)).toMatch(/^(?:HTTP\/1\.1 408 |$)/u);
    expect(performance.now() - from).toBeLessThan(15_000);
  });
});

test.each([
  ['two hosts', 'GET /ready HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n'],
  [
    'two origins',
    'GET /ready HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost\r\nOrigin: http://evil.example\r\n',
  ],
  [
    'two tokens',
    `GET /ready HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${TOKEN}\r\nAuthorization: Bearer x\r\n`,
  ],
  ['two lengths', 'POST /login HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nContent-Length: 5\r\n'],
  [
    'a length and chunks',
    'POST /login HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n',
  ],
  ['a header that goes on in the next line', 'GET /ready HTTP/1.1\r\nHost: localhost\r\nX-A: a\r\n b\r\n'],
  ['a space before the colon', 'GET /ready HTTP/1.1\r\nHost : localhost\r\n'],
  ['more headers than anybody needs', `GET /ready HTTP/1.1\r\nHost: localhost\r\nX-A: ${'a'.repeat(20_000)}\r\n`],
])('a request with %s is refused', async (_, head) => {
  const world = await httpWorld();
  const answer = await world.raw(`${head}Connection: close\r\n\r\n{}`);
  expect(answer).toMatch(/^HTTP\/1\.1 4(?!04)\d\d /u);
  expect(answer.match(/HTTP\/1\.1/gu)).toHaveLength(1);
});
