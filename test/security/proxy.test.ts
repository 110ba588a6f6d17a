import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { Agent, request as ask, type IncomingMessage, type RequestOptions, type ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import { connect, createServer as createTcpServer, type AddressInfo, type Socket } from 'node:net';
import { join } from 'node:path';
import { connect as connectTls, rootCertificates, setDefaultCACertificates } from 'node:tls';
import { afterEach, describe, expect, test } from 'vitest';
import { startGuardedProxy, type GuardedProxyOptions, type SendingRequest } from '../../src/core/security/proxy.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { readBody, startServer } from '../support/http.ts';
import { tempFolder } from '../support/temp.ts';
import { waitFor } from '../support/wait.ts';
import { testCertificate } from './fetch-certificate.ts';

const A = '93.184.216.34';
const PLAIN = 'http://page.example.com';
const SECURED = 'https://public.example:443';

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

type Sent = Pick<RequestOptions, 'method' | 'headers' | 'agent'> & { readonly body?: string };

async function answerOf(where: RequestOptions, { body, ...sent }: Sent) {
  const request = ask({ ...where, ...sent }).end(body);
  const [answer] = (await once(request, 'response')) as [IncomingMessage];
  return { status: answer.statusCode, headers: answer.headers, body: await readBody(answer) };
}

/** What names lead to, one look-up after the other, the last from then on. */
type Names = Readonly<Record<string, readonly (readonly string[])[]>>;

/** The proxy and what it did; every address leads to the site. */
async function worldOf(
  { port }: Pick<Site, 'port'>,
  options: Partial<GuardedProxyOptions> & { readonly names?: Names } = {},
) {
  await using stack = new AsyncDisposableStack();
  const socketPath = join(stack.use(await tempFolder()).path, 'p.sock');
  const { names = {}, maySend = async () => 'no one allowed it.' } = options;
  const dialed: string[] = [];
  const refusals: string[] = [];
  const decided: SendingRequest[] = [];
  const asked = new Map<string, number>();
  const proxy = stack.use(
    await startGuardedProxy(socketPath, {
      allowHosts: [],
      denyHosts: [],
      clock: systemClock,
      ownNetworks: () => [],
      resolve: async (name) => {
        const answers = names[name] ?? [[A]];
        const nth = asked.get(name) ?? 0;
        asked.set(name, nth + 1);
        return answers[Math.min(nth, answers.length - 1)] ?? [];
      },
      dial: (to) => {
        dialed.push(`${to.addresses.join()}:${to.port}`);
        return connect({ host: '127.0.0.1', port });
      },
      onRefused: (sentence) => refusals.push(sentence),
      ...options,
      maySend: async (request, signal) => {
        decided.push(request);
        return await maySend(request, signal);
      },
    }),
  );
  /** The connection behind CONNECT. */
  const tunnel = async (authority: string): Promise<Socket> => {
    const request = ask({ socketPath, method: 'CONNECT', path: authority }).end();
    const [answer, socket] = (await once(request, 'connect')) as [IncomingMessage, Socket];
    expect(answer.statusCode).toBe(200);
    return socket.on('error', () => {});
  };
  /** TLS inside of it, with the key of the proxy. */
  const secured = async (authority: string): Promise<Socket> => {
    const socket = connectTls({ socket: await tunnel(authority), rejectUnauthorized: false });
    await once(socket, 'secureConnect');
    const key = socket.getPeerX509Certificate()?.publicKey.export({ type: 'spki', format: 'der' });
    const hash = createHash('sha256').update(key ?? '');
    expect(hash.digest('base64')).toBe(proxy.keyHash);
    return socket;
  };
  /** Asks as a browser asks a proxy: over plain HTTP, or in a new tunnel. */
  const asks = async (address: string, sent: Sent = {}) => {
    const [, scheme, authority = '', path = ''] = /^(https?):\/\/([^/]*)(.*)$/u.exec(address) ?? [];
    if (scheme === 'http') return await answerOf({ socketPath, path: address }, sent);
    const socket = await secured(authority);
    return await answerOf({ createConnection: () => socket, path }, sent);
  };
  const owned = stack.move();
  const dispose = (): Promise<void> => owned.disposeAsync();
  return { socketPath, proxy, dialed, refusals, decided, tunnel, secured, asks, [Symbol.asyncDispose]: dispose };
}

afterEach(() => setDefaultCACertificates([...rootCertificates]));

describe('The proxy of the browser', () => {
  test('asks the checked address of a name over plain HTTP and passes the answer back', async () => {
    await using server = await site();
    await using world = await worldOf(server);
    const answer = await world.asks(`${PLAIN}/a?b=c`, { headers: { host: 'other.example' } });
    expect(answer).toMatchObject({ status: 200, body: 'hello from page.example.com' });
    expect(answer.headers['set-cookie']).toEqual(['a=1', 'b=2']);
    expect(answer.headers['alt-svc']).toBeUndefined();
    expect(world.dialed).toEqual([`${A}:80`]);
    expect(server.asked).toEqual([{ method: 'GET', url: '/a?b=c', host: 'page.example.com', body: '' }]);
  });

  test('asks a server with a certificate that is verified, over one connection, whatever a request says of its host', async () => {
    await using server = await site('trusted');
    await using world = await worldOf(server);
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const socket = await world.secured('public.example:443');
    agent.createConnection = () => socket;
    for (const path of ['/one', '//other.example/two']) {
      const answer = await answerOf({ agent, path }, { headers: { host: 'fronted.example' } });
      expect(answer).toMatchObject({ status: 200, body: 'hello from public.example' });
    }
    expect(server.asked.map(({ url, host }) => [url, host])).toEqual([
      ['/one', 'public.example'],
      ['//other.example/two', 'public.example'],
    ]);
    expect(world.dialed).toEqual([`${A}:443`]);
  });

  test.each([
    ['breaks off in the middle of an answer', 'HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nabc', true],
    [
      'changes the protocol unasked',
      'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n',
      false,
    ],
  ])('outlives a server that %s', async (_, says, resets) => {
    const server = createTcpServer((socket) => {
      socket
        .on('error', () => {})
        .once('data', () => {
          socket.write(says, () => setTimeout(() => resets && socket.resetAndDestroy(), 20));
        });
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    await using world = await worldOf({ port: (server.address() as AddressInfo).port });
    const broken = await world.asks(`${PLAIN}/`).catch((error: unknown) => error);
    expect(resets ? broken : (broken as { status?: number }).status).toEqual(resets ? expect.any(Error) : 403);
    server.close();
  });

  test('makes no more connections at the same time than a browser needs, however many are asked for at once', async () => {
    let open = 0;
    let most = 0;
    const server = createTcpServer((socket) => {
      most = Math.max(most, (open += 1));
      socket.on('error', () => {}).on('close', () => (open -= 1));
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    {
      await using world = await worldOf({ port: (server.address() as AddressInfo).port });
      const client = connect(world.socketPath).on('error', () => {});
      client.write(`GET ${PLAIN}/ HTTP/1.1\r\nHost: page.example.com\r\n\r\n`.repeat(300));
      await waitFor(() => world.refusals.some((sentence) => sentence.includes('too many')));
      client.destroy();
    }
    expect(most).toBeLessThanOrEqual(64);
    server.close();
  });

  test('refuses a server whose certificate no one signed', async () => {
    await using server = await site('untrusted');
    await using world = await worldOf(server);
    expect((await world.asks(`${SECURED}/`)).status).toBe(403);
    expect(world.refusals.join()).toContain('No trusted connection to public.example');
    expect(server.asked).toEqual([]);
  });

  test.each([
    ['this machine', '127.0.0.1:8080'],
    ['this machine by IPv6', '[::1]:8080'],
    ['this machine by another spelling', '0x7f.1:80'],
    ['localhost', 'localhost:18790'],
    ['a private network', '192.168.1.1:443'],
    ['the credentials of a cloud', '169.254.169.254:80'],
    ['a name of a cloud', 'metadata.google.internal:80'],
    ['a private name', 'router.lan:80'],
    ['a name that leads to this machine', 'inside.example.com:443'],
    ['a name with one private address among public ones', 'mixed.example.com:443'],
    ['a port of mail', 'page.example.com:25'],
    ['a host that the owner forbids', 'never.example.com:443'],
    ['nothing', ':443'],
    ['what is no host', 'a%20b:443'],
  ])('connects nobody to %s', async (_, authority) => {
    const names = { 'inside.example.com': [['127.0.0.1']], 'mixed.example.com': [[A, '10.0.0.1']] };
    await using world = await worldOf({ port: 1 }, { names, denyHosts: ['never.example.com'] });
    for (const scheme of ['http', 'https']) expect((await world.asks(`${scheme}://${authority}/`)).status).toBe(403);
    expect(world.dialed).toEqual([]);
  });

  test('resolves again for each connection, so that a name that turns to this machine leads nowhere', async () => {
    await using server = await site();
    await using world = await worldOf(server, { names: { 'page.example.com': [[A], ['127.0.0.1']] } });
    expect((await world.asks(`${PLAIN}/`)).status).toBe(200);
    expect((await world.asks(`${PLAIN}/`)).status).toBe(403);
    expect(world.dialed).toEqual([`${A}:80`]);
    expect(world.refusals).toHaveLength(1);
  });

  test('reaches a private host that the owner opened', async () => {
    await using server = await site();
    await using world = await worldOf(server, { allowHosts: ['127.0.0.1:8080', '[::1]:8080'] });
    for (const host of ['127.0.0.1', '[::1]']) {
      expect((await world.asks(`http://${host}:8080/`)).status).toBe(200);
      expect((await world.asks(`http://${host}:8081/`)).status).toBe(403);
    }
  });

  test.each(['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'])('sends no %s that is not allowed', async (method) => {
    await using server = await site();
    await using world = await worldOf(server);
    expect((await world.asks(`${PLAIN}/f`, { method, headers: { 'content-type': 'text/plain' } })).status).toBe(403);
    expect(server.asked).toEqual([]);
    expect(world.refusals).toEqual([`Sending ${method} to page.example.com was refused: no one allowed it.`]);
  });

  test('inside of TLS too holds what is sent for as long as it is decided about, and shows it', async () => {
    await using server = await site('trusted');
    const decision = Promise.withResolvers<string | null>();
    let answer: Promise<string | null> = Promise.resolve('the owner said no.');
    await using world = await worldOf(server, { maySend: () => answer });
    const sent = { method: 'POST', body: 'name=Ming&pin=1234' };
    expect((await world.asks(`${SECURED}/form`, sent)).status).toBe(403);
    answer = decision.promise;
    const asked = world.asks(`${SECURED}/form`, sent);
    await waitFor(() => world.decided.length === 2, { what: 'the question' });
    expect(server.asked).toEqual([]);
    decision.resolve(null);
    expect(await asked).toMatchObject({ status: 200, body: 'hello from public.example' });
    expect(server.asked).toEqual([{ ...sent, url: '/form', host: 'public.example' }]);
    const { method, url, body } = world.decided[0] ?? {};
    expect({ method, url, body: Buffer.from(body ?? '').toString() }).toEqual({
      ...sent,
      url: 'https://public.example/form',
    });
  });

  test('takes a decision that breaks for a no', async () => {
    await using server = await site();
    await using world = await worldOf(server, { maySend: async () => Promise.reject(new Error('broken')) });
    expect((await world.asks(`${PLAIN}/`, { method: 'POST', body: 'x' })).status).toBe(403);
    expect(server.asked).toEqual([]);
  });

  test('decides about a preflight by the method that it announces', async () => {
    await using server = await site();
    await using world = await worldOf(server);
    for (const [announced, status] of [
      ['PUT', 403],
      ['GET', 200],
    ] as const) {
      const headers = { 'access-control-request-method': announced };
      expect((await world.asks(`${PLAIN}/`, { method: 'OPTIONS', headers })).status).toBe(status);
    }
    expect(world.decided.map(({ method }) => method)).toEqual(['PUT']);
  });

  test('sends no GET that has a body', async () => {
    await using server = await site();
    await using world = await worldOf(server);
    const sent = { headers: { 'content-length': 6 }, body: 'hidden' };
    expect((await world.asks(`${PLAIN}/`, sent)).status).toBe(403);
    expect(server.asked).toEqual([]);
  });

  test('refuses WebSockets, over plain HTTP and inside of TLS', async () => {
    await using server = await site('trusted');
    await using world = await worldOf(server, { maySend: async () => null });
    const headers = { connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-version': '13' };
    for (const url of [PLAIN, SECURED]) expect((await world.asks(`${url}/ws`, { headers })).status).toBe(403);
    expect(server.asked).toEqual([]);
    expect(world.refusals).toHaveLength(2);
  });

  test('passes nothing on in a tunnel that is not TLS', async () => {
    const received: string[] = [];
    await using server = await site('trusted');
    await using world = await worldOf(server);
    const socket = await world.tunnel('public.example:443');
    socket.on('data', (data: Buffer) => received.push(data.toString('latin1')));
    socket.write('POST /steal HTTP/1.1\r\nhost: public.example\r\ncontent-length: 1\r\n\r\nx');
    await once(socket, 'close');
    expect(server.asked).toEqual([]);
    expect(received.join('')).not.toContain('hello');
  });

  test('cuts what carries too many bytes', async () => {
    await using server = await site();
    await using world = await worldOf(server, { maxBytes: 100_000 });
    expect((await world.asks(`${PLAIN}/`)).status).toBe(200);
    await expect(world.asks(`${PLAIN}/large`)).rejects.toThrow();
    expect(world.refusals.join()).toContain('too many bytes');
  });

  test('ends all of its connections when it closes', async () => {
    await using server = await site('trusted');
    await using world = await worldOf(server);
    const socket = await world.secured('public.example:443');
    const closed = once(socket, 'close');
    await world.proxy[Symbol.asyncDispose]();
    await closed;
    await expect(world.asks(`${PLAIN}/`)).rejects.toThrow(/ECONNREFUSED|ENOENT/u);
  });
});
