import { request, type IncomingHttpHeaders } from 'node:http';
import { connect } from 'node:net';
import { gzipSync } from 'node:zlib';
import { onTestFinished } from 'vitest';
import { allOperations } from '../../support/extensions.ts';
import { Feed, type FeedOptions } from '../../../src/core/gateway/feed/feed.ts';
import type { App } from '../../../src/core/app.ts';
import type { HttpOptions, Inside } from '../../../src/core/gateway/http/options.ts';
import { LOGIN_HEADER, type EndedLogins } from '../../../src/core/gateway/http/login.ts';
import { startHttpServer, type HttpServer } from '../../../src/core/gateway/http/server.ts';
import { silentLog } from '../../../src/core/util/log.ts';
import { systemRandom } from '../../../src/core/util/random.ts';
import { appWith } from '../../support/app-with.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';

export const TOKEN = 'the-token-of-this-gateway';

export interface Answered {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

export interface Sent {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string | string[]>>;
  readonly body?: string | Buffer;
}

export interface HttpWorld {
  readonly server: HttpServer;
  readonly clock: VirtualClock;
  readonly feed: Feed;
  readonly port: number;
  /** Sends these headers, `Host` unless it is given, and with the cookie of `login` the other half of that login. */
  readonly ask: (path: string, sent?: Sent) => Promise<Answered>;
  /** As the page sends JSON, with the cookie of a login. */
  readonly login: (how?: Readonly<Record<string, string>>) => Promise<string>;
  /** The header with the half of a login that the page keeps beside this cookie. */
  readonly key: (cookie: string) => Readonly<Record<string, string>>;
  /** What is answered to these very bytes, until the server closes or `ms` are over. */
  readonly raw: (bytes: string, ms?: number) => Promise<string>;
}

/** A server of the gateway alone, with the ports behind it as given. */
export async function httpWorld(
  options: Partial<HttpOptions> = {},
  { watched = {}, ...inside }: Partial<Inside> & { readonly watched?: Partial<FeedOptions> } = {},
  times?: Parameters<typeof startHttpServer>[1],
): Promise<HttpWorld> {
  const clock = new VirtualClock();
  const feed = new Feed({
    ownChanges: [],
    journal: {
      newest: () => ({ inbound: 0, outbound: 0 }),
      after: (place) => ({ rows: [], cursor: place }),
      onQueued: () => ({ [Symbol.dispose]: () => {} }),
    },
    bus: { listen: () => ({ [Symbol.dispose]: () => {} }) },
    continued: () => [],
    left: async () => [],
    questions: () => [],
    main: () => 'web:main',
    health: () => '',
    clock,
    version: '1.2.3',
    startedAt: 0,
    ...watched,
  });
  const ok = { ready: true, channels: {}, provider: 'ok', journal: 'ok', disk: 'ok' };
  const server = await startHttpServer(
    {
      host: '127.0.0.1',
      port: 0,
      token: null,
      publicUrl: null,
      version: '1.2.3',
      channels: () => ({}),
      home: '/home/anna/.assistant',
      storage: () => ({ state: 'ok', since: 0, reason: null }),
      clock,
      log: silentLog,
      inside: {
        token: TOKEN,
        ready: async () => ok,
        assistant: { call: notHere, operations: allOperations() },
        files: { use: async () => undefined, keep: notHere, image: async () => undefined, sent: async () => undefined },
        history: { page: notHere, entry: notHere },
        feed,
        page: async () => ({
          get: (path) =>
            path === 'index.html'
              ? { body: Buffer.from('<p>'), gzipped: gzipSync('<p>'), type: 'text/html', hash: 'h1' }
              : undefined,
        }),
        app: appWith({
          random: systemRandom,
          bus: { publishInbound: notHere, sessionOf: notHere } as unknown as App['bus'],
          journal: { endedLogins: endedInMemory(), inbox: { onAnswer: () => {} } } as unknown as App['journal'],
          plugins: { routes: { find: () => undefined } } as unknown as App['plugins'],
          redact: (json) => json,
          clock,
          log: silentLog,
        }),
        ...inside,
      },
      ...options,
    },
    times,
  );
  onTestFinished(async () => {
    await server[Symbol.asyncDispose]();
    feed[Symbol.dispose]();
  });
  const port = Number(new URL(server.address).port);
  const keys = new Map<string, string>();
  const key: HttpWorld['key'] = (cookie) => ({ [LOGIN_HEADER]: keys.get(cookie) ?? '' });
  const ask: HttpWorld['ask'] = (path, sent = {}) => {
    const { cookie } = sent.headers ?? {};
    const known = typeof cookie === 'string' ? key(cookie) : {};
    return send(port, path, { ...sent, headers: { ...known, ...sent.headers } });
  };
  return {
    server,
    clock,
    feed,
    port,
    ask,
    login: async (how = { token: TOKEN }) => {
      const { headers } = await ask('/login', post(how, { origin: `http://127.0.0.1:${port}` }));
      const cookie = headers['set-cookie']?.[0]?.split(';')[0] ?? '';
      keys.set(cookie, String(headers[LOGIN_HEADER]));
      return cookie;
    },
    key,
    raw: (bytes, ms) => rawAnswer(port, bytes, ms),
  };
}

function endedInMemory(): EndedLogins {
  const hashes = new Set<string>();
  return {
    has: (hash) => hashes.has(hash),
    add: async (hash) => {
      hashes.add(hash);
    },
  };
}

/** Of what a whole assistant has behind its gateway. */
function notHere(): never {
  throw new Error('this server has no assistant behind it');
}

export function post(body: unknown, headers: Readonly<Record<string, string>> = {}): Sent {
  return { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(body) };
}

export const bearer = (token = TOKEN): { authorization: string } => ({ authorization: `Bearer ${token}` });

function send(port: number, path: string, { method = 'GET', headers = {}, body }: Sent): Promise<Answered> {
  return new Promise((resolve, reject) => {
    const asked = request({ host: '127.0.0.1', port, path, method, headers, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () =>
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          text: Buffer.concat(chunks).toString(),
        }),
      );
      response.on('error', reject);
    });
    asked.on('error', reject);
    asked.end(body);
  });
}

function rawAnswer(port: number, bytes: string, ms = 2_000): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    let answer = '';
    const timer = setTimeout(() => socket.destroy(), ms);
    socket.on('data', (chunk) => (answer += String(chunk)));
    socket.on('error', () => {});
    socket.on('close', () => {
      clearTimeout(timer);
      resolve(answer);
    });
    socket.write(bytes);
  });
}
