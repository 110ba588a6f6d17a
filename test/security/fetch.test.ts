import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { createServer } from 'node:https';
import { setDefaultCACertificates } from 'node:tls';
import { afterEach, describe, expect, test, vi } from 'vitest';
import type { FetchOptions } from '../../src/core/security/fetch/contract.ts';
import { systemDial } from '../../src/core/security/fetch/connect.ts';
import { createGuardedFetch } from '../../src/core/security/fetch/fetch.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { readBody, startServer, type TestServer } from '../support/http.ts';
import { testCertificate } from './fetch-certificate.ts';
import { failureOf, fetchWorld } from './fetch-world.ts';

const A = '93.184.216.34';
const B = '93.184.216.35';
const V6 = '2606:2800:220:1::1';
const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString('utf8');

interface Recorded {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

/** A server that notes what it is asked; `/to?URL` redirects (303 and the like with `/to/303?URL`), others say hello. */
async function recordingServer(): Promise<TestServer & { readonly asked: Recorded[] }> {
  const asked: Recorded[] = [];
  const server = await startServer(async (request, response) => {
    const body = await readBody(request);
    asked.push({ method: request.method, url: request.url, headers: request.headers, body });
    const [, status = '302', location] = /^\/to\/?(\d*)\?(.*)$/.exec(request.url ?? '') ?? [];
    if (location === undefined) response.end(`hello from ${request.headers.host}`);
    else
      response.writeHead(Number(status === '' ? 302 : status), { location: decodeURIComponent(location) }).end('moved');
  });
  return Object.assign(server, { asked });
}

const to = (location: string, status = ''): string => `/to/${status}?${encodeURIComponent(location)}`;

afterEach(() => vi.unstubAllEnvs());

describe('A permitted fetch', () => {
  test('asks the checked address by the name of the URL and gives back what came', async () => {
    await using server = await recordingServer();
    const world = fetchWorld({ names: { 'page.example.com': [[A]] }, servers: { [A]: server.port } });
    const result = await world.fetchGuarded('http://page.example.com./a?b=c#d', { headers: { Accept: 'text/html' } });
    expect(result).toMatchObject({ status: 200, url: 'http://page.example.com/a?b=c', redirects: 0, truncated: false });
    expect(text(result.bytes)).toBe('hello from page.example.com');
    expect(world.dialed).toEqual([`${A}:80`]);
    expect(server.asked[0]).toMatchObject({ method: 'GET', url: '/a?b=c', headers: { accept: 'text/html' } });
  });

  test('sends a method, headers and a body', async () => {
    await using server = await recordingServer();
    const world = fetchWorld({ names: { 'api.example.com': [[A]] }, servers: { [A]: server.port } });
    const headers = { authorization: 'Bearer x', 'content-type': 'application/json' };
    await world.fetchGuarded('http://api.example.com:8080/', { method: 'post', headers, body: '{"a":1}' });
    expect(server.asked[0]).toMatchObject({ method: 'POST', headers, body: '{"a":1}' });
    expect(server.asked[0]?.headers.host).toBe('api.example.com:8080');
  });

  test('gives any status and header back as a result', async () => {
    await using server = await startServer((_request, response) => {
      response.writeHead(404, { 'X-Many': ['a', 'b'], 'content-type': 'text/plain' }).end('gone');
    });
    const world = fetchWorld({ names: { 'page.example.com': [[A]] }, servers: { [A]: server.port } });
    const { status, headers } = await world.fetchGuarded('http://page.example.com/');
    expect(status).toBe(404);
    expect(headers).toMatchObject({ 'x-many': 'a, b', 'content-type': 'text/plain' });
  });

  test('reaches a public IPv6 literal', async () => {
    await using server = await recordingServer();
    const world = fetchWorld({ servers: { [V6]: server.port } });
    const { bytes } = await world.fetchGuarded(`http://[${V6}]:8080/`);
    expect(text(bytes)).toBe(`hello from [${V6}]:8080`);
  });

  test('opens a connection to 127.0.0.1 with the system’s own means when its host is opened', async () => {
    await using server = await recordingServer();
    const allowHosts = [`127.0.0.1:${server.port}`];
    const opened = createGuardedFetch({ allowHosts, denyHosts: [], clock: systemClock });
    const closed = createGuardedFetch({ allowHosts: [], denyHosts: [], clock: systemClock });
    expect((await opened.fetchGuarded(server.url)).status).toBe(200);
    expect(await failureOf(closed.fetchGuarded(server.url))).toMatchObject({ code: 'fetch-refused' });
    expect(await failureOf(closed.fetchGuarded(`http://localhost:${server.port}`))).toMatchObject({
      code: 'fetch-refused',
    });
    expect(server.asked).toHaveLength(1);
  });

  test('uses no proxy from the environment', async () => {
    await using server = await recordingServer();
    await using proxy = await recordingServer();
    for (const name of ['http_proxy', 'HTTP_PROXY', 'https_proxy', 'HTTPS_PROXY', 'ALL_PROXY'])
      vi.stubEnv(name, proxy.url);
    vi.stubEnv('NODE_USE_ENV_PROXY', '1');
    const world = fetchWorld({ names: { 'page.example.com': [[A]] }, servers: { [A]: server.port } });
    await world.fetchGuarded('http://page.example.com/');
    expect([server.asked.length, proxy.asked.length]).toEqual([1, 0]);
  });

  test.each<FetchOptions>([
    { headers: { Host: 'internal' } },
    { headers: { 'Transfer-Encoding': 'chunked' } },
    { headers: { 'Proxy-Authorization': 'x' } },
    { headers: { 'x-a': 'b\r\nHost: internal' } },
    { headers: { 'x a': 'b' } },
    { method: 'CONNECT' },
    { method: 'GET / HTTP/1.1\r\nHost: internal\r\n\r\nGET' },
    { method: 'GET', body: 'x' },
  ])('cannot be given %j', async (options) => {
    const world = fetchWorld({ names: { 'page.example.com': [[A]] } });
    expect(await failureOf(world.fetchGuarded('http://page.example.com/', options))).toMatchObject({
      code: 'fetch-refused',
    });
    expect(world.dialed).toEqual([]);
  });
});

describe('Between the check and the connection', () => {
  test('a name cannot change its address: it is asked once and connected to where it was checked', async () => {
    await using server = await recordingServer();
    await using secret = await recordingServer();
    const world = fetchWorld({
      names: { 'rebind.example.com': [[A], ['127.0.0.1']] },
      servers: { [A]: server.port, '127.0.0.1': secret.port },
    });
    await world.fetchGuarded('http://rebind.example.com/');
    expect(world.resolved).toEqual(['rebind.example.com']);
    expect(world.dialed).toEqual([`${A}:80`]);
    expect(await failureOf(world.fetchGuarded('http://rebind.example.com/'))).toMatchObject({ code: 'fetch-refused' });
    expect([server.asked.length, secret.asked.length]).toEqual([1, 0]);
  });

  test('a name cannot change its address on the way through a redirect to itself', async () => {
    await using server = await recordingServer();
    await using secret = await recordingServer();
    const world = fetchWorld({
      names: { 'rebind.example.com': [[A], ['127.0.0.1']] },
      servers: { [A]: server.port, '127.0.0.1': secret.port },
    });
    const failure = await failureOf(world.fetchGuarded(`http://rebind.example.com${to('/second')}`));
    expect(failure).toMatchObject({ code: 'fetch-refused' });
    expect([server.asked.length, secret.asked.length]).toEqual([1, 0]);
  });

  test('the system’s connection tries one checked address after the other, and resolves nothing', async () => {
    await using server = await startServer((_request, response) => void response.end());
    await using socket = systemDial({ addresses: ['127.0.0.2', '127.0.0.1'], port: server.port });
    await once(socket, 'connect');
    expect(socket.remoteAddress).toBe('127.0.0.1');
    await expect(once(systemDial({ addresses: ['localhost'], port: server.port }), 'connect')).rejects.toThrow(
      'Invalid IP address',
    );
  });
});

describe('A redirect', () => {
  const names = { 'a.example.com': [[A]], 'b.example.com': [[B]], 'inside.example.com': [['10.0.0.7']] };

  test('is followed, checked and resolved anew', async () => {
    await using a = await recordingServer();
    await using b = await recordingServer();
    const world = fetchWorld({ names, servers: { [A]: a.port, [B]: b.port } });
    const result = await world.fetchGuarded(`http://a.example.com${to('http://b.example.com/there?x#y')}`);
    expect(result).toMatchObject({ url: 'http://b.example.com/there?x', redirects: 1, status: 200 });
    expect(world.resolved).toEqual(['a.example.com', 'b.example.com']);
  });

  test.each([
    'http://127.0.0.1/',
    'http://localhost/',
    'http://169.254.169.254/latest/meta-data/',
    'http://[::1]/',
    'http://[::ffff:127.0.0.1]/',
    'http://2130706433/',
    'http://0x7f.1/',
    '//127.0.0.1/',
    '//localhost:18790/',
    '\\\\127.0.0.1\\',
    '/\\127.0.0.1/',
    '/\\b.example.com/',
    '/\t/b.example.com/',
    '/a\tb',
    'http:127.0.0.1/',
    'http:\\\\127.0.0.1/',
    'http://inside.example.com/',
    '//inside.example.com',
    'http://user:pass@b.example.com/',
    '//me@b.example.com/',
    'http://b.example.com:25/',
    'file:///etc/passwd',
    'ftp://b.example.com/',
    'gopher://127.0.0.1:6379/_x',
    'data:text/plain,hi',
    'javascript:alert(1)',
    'http://metadata.google.internal/',
    'http://b.example.com@127.0.0.1/',
    'http://[::1%25lo]/',
  ])('to %s is refused, and nothing goes there', async (location) => {
    await using a = await recordingServer();
    await using inside = await recordingServer();
    const servers = {
      [A]: a.port,
      [B]: inside.port,
      '127.0.0.1': inside.port,
      '::1': inside.port,
      '10.0.0.7': inside.port,
    };
    const world = fetchWorld({ names, servers });
    for (const status of ['301', '302', '303', '307', '308']) {
      const failure = await failureOf(world.fetchGuarded(`http://a.example.com${to(location, status)}`));
      expect(failure).toMatchObject({ code: 'fetch-refused' });
    }
    expect(a.asked).toHaveLength(5);
    expect(inside.asked).toEqual([]);
    expect(new Set(world.dialed)).toEqual(new Set([`${A}:80`]));
  });

  test('to private is refused also at the end of a chain', async () => {
    await using a = await recordingServer();
    const world = fetchWorld({ names, servers: { [A]: a.port, [B]: a.port } });
    const chain = to(`http://b.example.com${to(`http://a.example.com${to('http://10.0.0.1/')}`)}`);
    expect(await failureOf(world.fetchGuarded(`http://a.example.com${chain}`))).toMatchObject({
      code: 'fetch-refused',
    });
    expect(a.asked).toHaveLength(3);
  });

  test('to an opened host is followed', async () => {
    await using a = await recordingServer();
    await using inside = await recordingServer();
    const world = fetchWorld({
      names,
      servers: { [A]: a.port, '10.0.0.7': inside.port },
      allowHosts: ['inside.example.com'],
    });
    const { redirects } = await world.fetchGuarded(`http://a.example.com${to('http://inside.example.com/')}`);
    expect(redirects).toBe(1);
    expect(inside.asked).toHaveLength(1);
  });

  test.each([
    ['/next?y', 'http://a.example.com/next?y'],
    ['next', 'http://a.example.com/to/next'],
    ['?', 'http://a.example.com/to/?'],
    ['/with space', 'http://a.example.com/with%20space'],
    ['/gr%C3%B6%C3%9Fe', 'http://a.example.com/gr%C3%B6%C3%9Fe'],
    [Buffer.from('/größe').toString('latin1'), 'http://a.example.com/gr%C3%B6%C3%9Fe'],
    ['/?u=http://127.0.0.1/', 'http://a.example.com/?u=http://127.0.0.1/'],
    ['//b.example.com/x', 'http://b.example.com/x'],
    ['HTTP://B.example.com/x', 'http://b.example.com/x'],
  ])('may be written as %s', async (location, url) => {
    await using a = await recordingServer();
    const world = fetchWorld({ names, servers: { [A]: a.port, [B]: a.port } });
    expect(await world.fetchGuarded(`http://a.example.com${to(location)}`)).toMatchObject({ url, status: 200 });
  });

  test('in a circle, or the sixth, ends the fetch', async () => {
    let count = 0;
    await using a = await startServer((request, response) => {
      count += 1;
      response.writeHead(302, { location: request.url === '/circle' ? '/circle' : `/${count}` }).end();
    });
    const world = fetchWorld({ names, servers: { [A]: a.port } });
    const failed = { code: 'fetch-failed', kind: 'bad-redirect' };
    expect(await failureOf(world.fetchGuarded('http://a.example.com/circle'))).toMatchObject(failed);
    expect(count).toBe(1);
    expect(await failureOf(world.fetchGuarded('http://a.example.com/start'))).toMatchObject(failed);
    expect(count).toBe(1 + 6);
  });

  test('without a place to go is a result', async () => {
    await using a = await startServer((_request, response) => void response.writeHead(302).end('lost'));
    const world = fetchWorld({ names, servers: { [A]: a.port } });
    expect(await world.fetchGuarded('http://a.example.com/')).toMatchObject({ status: 302, redirects: 0 });
  });

  const secrets = {
    authorization: 'Bearer secret',
    cookie: 'session=secret',
    'x-api-key': 'secret',
    accept: 'text/html',
    'accept-language': 'de',
  };

  test('takes credentials along within an origin, and to no other', async () => {
    await using a = await recordingServer();
    const world = fetchWorld({ names, servers: { [A]: a.port, [B]: a.port } });
    await world.fetchGuarded(`http://a.example.com${to('/same')}`, { headers: secrets });
    expect(a.asked[1]?.headers).toMatchObject(secrets);
    for (const other of ['http://b.example.com/', 'http://a.example.com:8080/']) {
      await world.fetchGuarded(`http://a.example.com${to(other)}`, { headers: secrets });
      const last = a.asked.at(-1);
      expect(JSON.stringify(last)).not.toContain('secret');
      expect(last?.headers).toMatchObject({ accept: 'text/html', 'accept-language': 'de' });
    }
  });

  test('turns POST into GET where browsers do, and never carries a body to another origin', async () => {
    await using a = await recordingServer();
    const world = fetchWorld({ names, servers: { [A]: a.port, [B]: a.port } });
    const post = { method: 'POST', body: 'secret', headers: { 'content-type': 'text/plain' } };
    for (const status of ['301', '302', '303']) {
      await world.fetchGuarded(`http://a.example.com${to('http://b.example.com/', status)}`, post);
      expect(a.asked.at(-1)).toMatchObject({ method: 'GET', body: '' });
      expect(a.asked.at(-1)?.headers['content-type']).toBeUndefined();
    }
    for (const status of ['307', '308']) {
      await world.fetchGuarded(`http://a.example.com${to('/same', status)}`, post);
      expect(a.asked.at(-1)).toMatchObject({ method: 'POST', body: 'secret', url: '/same' });
      const away = world.fetchGuarded(`http://a.example.com${to('http://b.example.com/', status)}`, post);
      expect(await failureOf(away)).toMatchObject({ code: 'fetch-failed', kind: 'bad-redirect' });
    }
    expect(a.asked.filter(({ headers }) => headers.host === 'b.example.com')).toHaveLength(3);
  });
});

describe('Over TLS', () => {
  async function tlsServer(location?: string): Promise<{ port: number; names: (string | false)[] } & AsyncDisposable> {
    const names: (string | false)[] = [];
    const server = createServer(testCertificate, (_request, response) => {
      if (location === undefined) response.end('private');
      else response.writeHead(302, { location }).end();
    });
    server.on('secureConnection', (socket) => names.push(socket.servername ?? false));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    if (address === null || typeof address === 'string') throw new Error('no port');
    const close = async (): Promise<void> => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    };
    return { port: address.port, names, [Symbol.asyncDispose]: close };
  }
  const names = { 'public.example': [[A]], 'other.example': [[A]] };

  test('an untrusted certificate ends the fetch, also when the environment says that it does not matter', async () => {
    await using server = await tlsServer();
    vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0');
    const world = fetchWorld({ names, servers: { [A]: server.port } });
    const failure = await failureOf(world.fetchGuarded('https://public.example/'));
    expect(failure).toMatchObject({ code: 'fetch-failed', kind: 'tls' });
  });

  test('name and certificate are those of the URL while the connection goes to the checked address', async () => {
    setDefaultCACertificates([testCertificate.cert]);
    await using server = await tlsServer();
    const world = fetchWorld({ names, servers: { [A]: server.port } });
    expect(text((await world.fetchGuarded('https://public.example/')).bytes)).toBe('private');
    expect(text((await world.fetchGuarded('https://public.example./')).bytes)).toBe('private');
    expect(text((await world.fetchGuarded(`https://${A}/`)).bytes)).toBe('private');
    expect(server.names).toEqual(['public.example', 'public.example', false]);
    expect(await failureOf(world.fetchGuarded('https://other.example/'))).toMatchObject({ kind: 'tls' });
  });

  test('a redirect to http is refused', async () => {
    setDefaultCACertificates([testCertificate.cert]);
    await using server = await tlsServer('http://public.example/');
    const world = fetchWorld({ names, servers: { [A]: server.port } });
    const failure = await failureOf(world.fetchGuarded('https://public.example/'));
    expect(failure).toMatchObject({ code: 'fetch-refused', message: expect.stringContaining('https to http') });
    expect(world.dialed).toEqual([`${A}:443`]);
  });

  test('a server that does not speak it ends the fetch', async () => {
    await using server = await startServer((_request, response) => void response.end());
    const world = fetchWorld({ names, servers: { [A]: server.port } });
    expect(await failureOf(world.fetchGuarded('https://public.example/'))).toMatchObject({ kind: 'tls' });
  });
});
