import { once } from 'node:events';
import { Agent, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { setDefaultCACertificates, rootCertificates } from 'node:tls';
import { afterEach, describe, expect, test } from 'vitest';
import { readBody, startServer } from '../support/http.ts';
import { waitFor } from '../support/wait.ts';
import { testCertificate } from './fetch-certificate.ts';
import { askOver, proxyWorld } from './proxy-world.ts';

const A = '93.184.216.34';
const NAMES = { 'page.example.com': [[A]], 'public.example': [[A]] };

interface Asked {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly host: string | undefined;
  readonly body: string;
}

interface Site extends AsyncDisposable {
  readonly port: number;
  readonly asked: Asked[];
}

/** A site; `secured`: with the certificate of the tests, and whether the program trusts it. */
async function site(secured?: 'trusted' | 'untrusted'): Promise<Site> {
  const asked: Asked[] = [];
  const listener = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { method, url, headers } = request;
    asked.push({ method, url, host: headers.host, body: await readBody(request) });
    response.setHeader('alt-svc', 'h3=":443"').setHeader('set-cookie', ['a=1', 'b=2']);
    response.end(url === '/large' ? 'x'.repeat(300_000) : `hello from ${headers.host}`);
  };
  if (secured === undefined) return Object.assign(await startServer(listener), { asked });
  const server = createServer(testCertificate, (request, response) => void listener(request, response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  if (secured === 'trusted') setDefaultCACertificates([...rootCertificates, testCertificate.cert]);
  const close = async (): Promise<void> => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  };
  return { port: (server.address() as AddressInfo).port, asked, [Symbol.asyncDispose]: close };
}

/** The proxy, with this site behind both names. */
function worldOf({ port }: Site, options: Parameters<typeof proxyWorld>[0] = {}): ReturnType<typeof proxyWorld> {
  return proxyWorld({ names: NAMES, servers: { [A]: port, '127.0.0.1': port }, ...options });
}

afterEach(() => setDefaultCACertificates([...rootCertificates]));

describe('The proxy of the browser', () => {
  test('asks the checked address of a name over plain HTTP and passes the answer back', async () => {
    await using server = await site();
    await using world = await worldOf(server);
    const answer = await world.plain('http://page.example.com/a?b=c', { headers: { host: 'other.example' } });
    expect(answer).toMatchObject({ status: 200, body: 'hello from page.example.com' });
    expect(answer.headers['set-cookie']).toEqual(['a=1', 'b=2']);
    expect(answer.headers['alt-svc']).toBeUndefined();
    expect(world.dialed).toEqual([`${A}:80`]);
    expect(server.asked).toEqual([{ method: 'GET', url: '/a?b=c', host: 'page.example.com', body: '' }]);
  });

  test('asks a server with a certificate that is verified, and serves it under its own key', async () => {
    await using server = await site('trusted');
    await using world = await worldOf(server);
    const socket = await world.secured('public.example:443');
    expect(await askOver(socket, '/x', { headers: { host: 'fronted.example' } })).toMatchObject({
      status: 200,
      body: 'hello from public.example',
    });
    expect(server.asked).toEqual([{ method: 'GET', url: '/x', host: 'public.example', body: '' }]);
    expect(world.dialed).toEqual([`${A}:443`]);
  });

  test('asks one server over one connection, for paths that look like another host too', async () => {
    await using server = await site('trusted');
    await using world = await worldOf(server);
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const socket = await world.secured('public.example:443');
    agent.createConnection = () => socket;
    for (const path of ['/one', '//other.example/two'])
      expect((await askOver(agent, path)).body).toBe('hello from public.example');
    expect(server.asked.map(({ url, host }) => [url, host])).toEqual([
      ['/one', 'public.example'],
      ['//other.example/two', 'public.example'],
    ]);
    expect(world.dialed).toEqual([`${A}:443`]);
  });

  test('refuses a server whose certificate no one signed', async () => {
    await using server = await site('untrusted');
    await using world = await worldOf(server);
    expect((await askOver(await world.secured('public.example:443'), '/')).status).toBe(403);
    expect(world.refusals.join()).toContain('No trusted connection to public.example');
    expect(server.asked).toEqual([]);
  });

  const FORBIDDEN: readonly (readonly [string, string])[] = [
    ['this machine', '127.0.0.1:8080'],
    ['this machine by another spelling', '0x7f.1:80'],
    ['a name of a cloud', 'metadata.google.internal:80'],
    ['a name that leads to this machine', 'inside.example.com:443'],
    ['a name with one private address among public ones', 'mixed.example.com:443'],
    ['a port of mail', 'page.example.com:25'],
    ['a host that the owner forbids', 'never.example.com:443'],
    ['nothing', ':443'],
    ['what is no host', 'a%20b:443'],
  ];

  test.each(FORBIDDEN)('connects nobody to %s', async (_, authority) => {
    const names = {
      ...NAMES,
      'inside.example.com': [['127.0.0.1']],
      'mixed.example.com': [[A, '10.0.0.1']],
      'never.example.com': [[A]],
    };
    await using world = await proxyWorld({ names, denyHosts: ['never.example.com'] });
    expect((await askOver(await world.secured(authority), '/')).status).toBe(403);
    expect((await world.plain(`http://${authority}/`)).status).toBe(403);
    expect(world.dialed).toEqual([]);
  });

  test('resolves again for each connection, so that a name that turns to this machine leads nowhere', async () => {
    await using server = await site();
    await using world = await worldOf(server, { names: { 'page.example.com': [[A], ['127.0.0.1']] } });
    expect((await world.plain('http://page.example.com/')).status).toBe(200);
    expect((await world.plain('http://page.example.com/')).status).toBe(403);
    expect(world.dialed).toEqual([`${A}:80`]);
    expect(world.refusals).toHaveLength(1);
  });

  test('reaches a private host that the owner opened', async () => {
    await using server = await site();
    await using world = await worldOf(server, { allowHosts: ['127.0.0.1:8080'] });
    expect((await world.plain('http://127.0.0.1:8080/')).status).toBe(200);
    expect((await world.plain('http://127.0.0.1:8081/')).status).toBe(403);
  });

  test.each(['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'])('sends no %s that is not allowed', async (method) => {
    await using server = await site();
    await using world = await worldOf(server);
    const headers = { 'content-type': 'text/plain' };
    expect((await world.plain('http://page.example.com/f', { method, headers })).status).toBe(403);
    expect(server.asked).toEqual([]);
    expect(world.refusals).toEqual([`Sending ${method} to page.example.com was refused: no one allowed it.`]);
  });

  test('inside of TLS too sends nothing that is not allowed, and shows what it would be', async () => {
    await using server = await site('trusted');
    let answer: string | null = 'the owner said no.';
    await using world = await worldOf(server, { maySend: async () => answer });
    const body = 'name=Ming&pin=1234';
    const socket = await world.secured('public.example:443');
    expect((await askOver(socket, '/form', { method: 'POST', body })).status).toBe(403);
    expect(server.asked).toEqual([]);
    answer = null;
    const again = await world.secured('public.example:443');
    expect(await askOver(again, '/form', { method: 'POST', body })).toMatchObject({
      status: 200,
      body: 'hello from public.example',
    });
    expect(server.asked).toEqual([{ method: 'POST', url: '/form', host: 'public.example', body }]);
    expect(world.decided.map(({ method, url, body }) => [method, url, Buffer.from(body).toString()])).toEqual([
      ['POST', 'https://public.example/form', body],
      ['POST', 'https://public.example/form', body],
    ]);
  });

  test('holds a request for as long as it is decided about', async () => {
    await using server = await site();
    const decision = Promise.withResolvers<string | null>();
    await using world = await worldOf(server, { maySend: () => decision.promise });
    const answer = world.plain('http://page.example.com/', { method: 'POST', body: 'x' });
    await waitFor(() => world.decided.length === 1, { what: 'the question' });
    expect(server.asked).toEqual([]);
    decision.resolve(null);
    expect(await answer).toMatchObject({ status: 200 });
    expect(server.asked[0]?.body).toBe('x');
  });

  test('takes a decision that breaks for a no', async () => {
    await using server = await site();
    const maySend = async (): Promise<null> => Promise.reject(new Error('broken'));
    await using world = await worldOf(server, { maySend });
    expect((await world.plain('http://page.example.com/', { method: 'POST', body: 'x' })).status).toBe(403);
    expect(server.asked).toEqual([]);
  });

  test('decides about a preflight by the method that it announces', async () => {
    await using server = await site();
    await using world = await worldOf(server);
    const preflight = async (announced: string): Promise<number> =>
      (
        await world.plain('http://page.example.com/', {
          method: 'OPTIONS',
          headers: { 'access-control-request-method': announced },
        })
      ).status;
    expect([await preflight('PUT'), await preflight('GET')]).toEqual([403, 200]);
    expect(world.decided.map(({ method }) => method)).toEqual(['PUT']);
  });

  test('sends no GET that has a body', async () => {
    await using server = await site();
    await using world = await worldOf(server);
    expect(
      (await world.plain('http://page.example.com/', { headers: { 'content-length': 6 }, body: 'hidden' })).status,
    ).toBe(403);
    expect(server.asked).toEqual([]);
  });

  test('refuses WebSockets, over plain HTTP and inside of TLS', async () => {
    await using server = await site('trusted');
    await using world = await worldOf(server, { maySend: async () => null });
    const headers = { connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-version': '13' };
    const socket = await world.secured('public.example:443');
    expect((await askOver(socket, '/ws', { headers })).status).toBe(403);
    expect((await world.plain('http://page.example.com/ws', { headers })).status).toBe(403);
    expect(server.asked).toEqual([]);
    expect(world.refusals).toHaveLength(2);
  });

  test('passes nothing on in a tunnel that is not TLS', async () => {
    const received: string[] = [];
    await using server = await site('trusted');
    await using world = await worldOf(server);
    const { status, socket } = await world.tunnel('public.example:443');
    expect(status).toBe(200);
    socket.on('data', (data: Buffer) => received.push(data.toString('latin1')));
    socket.write('POST /steal HTTP/1.1\r\nhost: public.example\r\ncontent-length: 1\r\n\r\nx');
    await once(socket, 'close');
    expect(server.asked).toEqual([]);
    expect(received.join('')).not.toContain('hello');
  });

  test('cuts what carries too many bytes', async () => {
    await using server = await site();
    await using world = await worldOf(server, { maxBytes: 100_000 });
    expect((await world.plain('http://page.example.com/')).status).toBe(200);
    await expect(world.plain('http://page.example.com/large')).rejects.toThrow();
    expect(world.refusals.join()).toContain('too many bytes');
  });

  test('ends all of its connections when it closes', async () => {
    await using server = await site('trusted');
    await using world = await worldOf(server);
    const socket = await world.secured('public.example:443');
    const closed = once(socket, 'close');
    await world.proxy[Symbol.asyncDispose]();
    await closed;
    await expect(world.plain('http://public.example/')).rejects.toThrow(/ECONNREFUSED|ENOENT/u);
  });
});
