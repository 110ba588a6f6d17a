import { createHash } from 'node:crypto';
import { once } from 'node:events';
import {
  Agent,
  request as ask,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  type RequestOptions,
} from 'node:http';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { connect as connectTls } from 'node:tls';
import {
  startGuardedProxy,
  type GuardedProxyOptions,
  type RunningProxy,
  type SendingRequest,
} from '../../src/core/security/proxy.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { readBody } from '../support/http.ts';
import { tempFolder } from '../support/temp.ts';

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

interface Sent {
  readonly method?: string;
  readonly headers?: OutgoingHttpHeaders;
  readonly body?: string;
}

export interface ProxyWorld extends AsyncDisposable {
  readonly proxy: RunningProxy;
  readonly socketPath: string;
  /** `address:port` of every connection that was begun. */
  readonly dialed: string[];
  readonly resolved: string[];
  readonly refusals: string[];
  /** What was to be decided about. */
  readonly decided: SendingRequest[];
  /** Asks over plain HTTP, as a browser asks a proxy. */
  plain(url: string, sent?: Sent): Promise<Answer>;
  /** Status of CONNECT, and the connection behind it. */
  tunnel(authority: string): Promise<{ readonly status: number; readonly socket: Socket }>;
  /** TLS inside of CONNECT; accepts the key of the proxy alone. */
  secured(authority: string): Promise<Socket>;
}

/** A proxy with a small internet behind it: names answer what `names` says, addresses are ports on 127.0.0.1. */
export async function proxyWorld(
  options: Partial<GuardedProxyOptions> & {
    readonly names?: Readonly<Record<string, readonly (readonly string[])[]>>;
    readonly servers?: Readonly<Record<string, number>>;
  } = {},
): Promise<ProxyWorld> {
  await using stack = new AsyncDisposableStack();
  const folder = stack.use(await tempFolder());
  const socketPath = join(folder.path, 'p.sock');
  const dialed: string[] = [];
  const resolved: string[] = [];
  const refusals: string[] = [];
  const decided: SendingRequest[] = [];
  const { maySend = async () => 'no one allowed it.' } = options;
  const proxy = stack.use(
    await startGuardedProxy(socketPath, {
      allowHosts: [],
      denyHosts: [],
      clock: systemClock,
      ownNetworks: () => [],
      resolve: async (name) => {
        const answers = options.names?.[name] ?? [];
        const asked = resolved.filter((other) => other === name).length;
        resolved.push(name);
        const answer = answers[Math.min(asked, answers.length - 1)];
        if (answer === undefined) throw Object.assign(new Error(`no such name: ${name}`), { code: 'ENOTFOUND' });
        return answer;
      },
      dial: ({ addresses: [address = ''], port }) => {
        dialed.push(`${address}:${port}`);
        return connect({ host: '127.0.0.1', port: options.servers?.[address] ?? 1 });
      },
      onRefused: (sentence) => refusals.push(sentence),
      ...options,
      maySend: async (request, signal) => {
        decided.push(request);
        return await maySend(request, signal);
      },
    }),
  );
  const tunnel: ProxyWorld['tunnel'] = async (authority) => {
    const request = ask({ socketPath, method: 'CONNECT', path: authority }).end();
    const [answer, socket] = (await once(request, 'connect')) as [IncomingMessage, Socket];
    socket.on('error', () => {});
    return { status: answer.statusCode ?? 0, socket };
  };
  const owned = stack.move();
  return {
    proxy,
    socketPath,
    dialed,
    resolved,
    refusals,
    decided,
    tunnel,
    plain: (url, sent = {}) => answerOf({ socketPath, path: url }, sent),
    secured: async (authority) => {
      const { status, socket } = await tunnel(authority);
      if (status !== 200) throw new Error(`CONNECT was answered with ${status}`);
      const secured = connectTls({ socket, servername: authority.split(':')[0], rejectUnauthorized: false });
      await once(secured, 'secureConnect');
      const key = secured.getPeerX509Certificate()?.publicKey.export({ type: 'spki', format: 'der' });
      const hash = createHash('sha256')
        .update(key ?? '')
        .digest('base64');
      if (hash !== proxy.keyHash) throw new Error('it is not the key of the proxy');
      return secured;
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** Asks over a connection that there is. */
export async function askOver(by: Socket | Agent, path: string, sent: Sent = {}): Promise<Answer> {
  return await answerOf({ ...(by instanceof Agent ? { agent: by } : { createConnection: () => by }), path }, sent);
}

async function answerOf(where: RequestOptions, { method = 'GET', headers = {}, body }: Sent): Promise<Answer> {
  const request = ask({ ...where, method, headers });
  request.end(body);
  const [answer] = (await once(request, 'response')) as [IncomingMessage];
  return { status: answer.statusCode ?? 0, headers: answer.headers, body: await readBody(answer) };
}
