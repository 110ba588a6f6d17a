import { once } from 'node:events';
import { Agent, createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { createSecureContext, TLSSocket } from 'node:tls';
import { AppError, errorMessage } from '../../util/errors.ts';
import { openChecked, systemDial, type Ports } from '../fetch/connect.ts';
import { fetchRefused } from '../fetch/contract.ts';
import { readHostList } from '../fetch/host-list.ts';
import { systemNetworks, systemResolve, type Target } from '../fetch/target.ts';
import { readUrl } from '../fetch/url-rules.ts';
import { ownCertificate } from './certificate.ts';
import { DEFAULT_PROXY_LIMITS, type GuardedProxyOptions, type ProxyLimits, type RunningProxy } from './contract.ts';
import { relay } from './relay.ts';

/** Longest headers of a request or an answer. */
const MOST_HEADER_BYTES = 64 * 1024;

/** A connection for TLS that a client asked for: one of the client, one to the server. */
interface Tunnel {
  readonly target: Target;
  /** Has the one connection to the server. */
  readonly agent: Agent;
}

/**
 * Listens on a unix socket as an HTTP proxy that reaches what the guarded fetch reaches and nothing else. Each connection
 * is resolved once, all of its addresses are judged, only a checked one is connected to, and its certificate is always
 * verified. TLS of the client ends here, under a key of the proxy's own, so that the method of every request is known:
 * what sends something is sent if `maySend` says so. There are no WebSockets. The programs that use it are not trusted.
 */
export async function startGuardedProxy(path: string, options: GuardedProxyOptions): Promise<RunningProxy> {
  const proxy = new GuardedProxy(options);
  await proxy.listen(path);
  return proxy;
}

class GuardedProxy implements RunningProxy {
  readonly keyHash: string;
  readonly #options: GuardedProxyOptions;
  readonly #ports: Ports;
  readonly #limits: ProxyLimits;
  readonly #secure: ReturnType<typeof createSecureContext>;
  readonly #closing = new AbortController();
  readonly #outer = createServer({ maxHeaderSize: MOST_HEADER_BYTES });
  /** What is asked inside of TLS; its sockets come from `#outer`. */
  readonly #inner = createServer({ maxHeaderSize: MOST_HEADER_BYTES });
  readonly #tunnels = new WeakMap<Duplex, Tunnel>();
  /** Of clients and of servers. */
  readonly #sockets = new Set<Duplex>();
  #connections = 0;
  #bytes = 0;

  constructor(options: GuardedProxyOptions) {
    const { clock, resolve = systemResolve, dial = systemDial, ownNetworks = systemNetworks } = options;
    const allow = readHostList('allowHosts', options.allowHosts);
    const deny = readHostList('denyHosts', options.denyHosts);
    this.#options = options;
    this.#ports = { allow, deny, clock, resolve, dial, ownNetworks };
    this.#limits = { ...DEFAULT_PROXY_LIMITS, ...options.limits };
    const { key, cert, keyHash } = ownCertificate('assistant');
    this.keyHash = keyHash;
    this.#secure = createSecureContext({ key, cert });
    this.#outer.on('connection', (socket) => this.#keep(socket));
    this.#outer.on('connect', (request, socket, head) => void this.#tunnel(request, socket, head));
    this.#outer.on('request', (request, response) => void this.#plain(request, response));
    this.#inner.on('request', (request, response) => void this.#secured(request, response));
    for (const server of [this.#outer, this.#inner]) {
      server.on('upgrade', (_request, socket) => this.#refuseUpgrade(socket));
      server.on('clientError', (_error, socket) => void socket.destroy());
    }
  }

  async listen(path: string): Promise<void> {
    this.#outer.listen(path);
    await once(this.#outer, 'listening');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort(new Error('the proxy is closing'));
    for (const socket of this.#sockets) socket.destroy();
    if (!this.#outer.listening) return;
    this.#outer.close();
    await once(this.#outer, 'close');
  }

  async #tunnel({ url = '' }: IncomingMessage, client: Duplex, head: Uint8Array): Promise<void> {
    let server: Socket;
    let target: Target;
    try {
      ({ server, target } = await this.#connect(`https://${url}/`));
    } catch (error) {
      this.#refused(error);
      client.end('HTTP/1.1 403 Forbidden\r\nconnection: close\r\ncontent-length: 0\r\n\r\n');
      return;
    }
    if (client.destroyed) return void server.destroy();
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    agent.createConnection = () => server;
    client.once('close', () => server.destroy());
    // What the client sends on a connection that the server closed meanwhile, it sends again on another.
    server.once('close', () => client.destroy());
    client.write('HTTP/1.1 200 Connection established\r\n\r\n');
    if (head.length > 0) client.unshift(head);
    const secured = new TLSSocket(client, {
      isServer: true,
      secureContext: this.#secure,
      ALPNProtocols: ['http/1.1'],
    });
    this.#keep(secured);
    this.#tunnels.set(secured, { target, agent });
    this.#inner.emit('connection', secured);
  }

  /** A request inside of TLS. */
  async #secured(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const tunnel = this.#tunnels.get(request.socket);
    const { url = '' } = request;
    await this.#answered(response, async () => {
      if (tunnel === undefined || !url.startsWith('/')) throw fetchRefused('A request without an address was refused.');
      const { target, agent } = tunnel;
      await this.#relay(request, response, { url: new URL(url, target.url.origin), agent });
    });
  }

  /** A request over plain HTTP; each has a connection of its own. */
  async #plain(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { url = '' } = request;
    await this.#answered(response, async () => {
      if (!/^http:/iu.test(url)) throw fetchRefused('Only http:// addresses are asked for without TLS.');
      const { server, target } = await this.#connect(url);
      const agent = new Agent();
      agent.createConnection = () => server;
      try {
        await this.#relay(request, response, { url: target.url, agent });
      } finally {
        server.destroy();
      }
    });
  }

  async #relay(
    request: IncomingMessage,
    response: ServerResponse,
    to: { readonly url: URL; readonly agent: Agent },
  ): Promise<void> {
    const { maySend } = this.#options;
    const count = this.#counter();
    await relay(request, response, { ...to, maySend, count, limits: this.#limits, signal: this.#closing.signal });
  }

  async #answered(response: ServerResponse, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.#refused(error);
      // Half an answer is no answer, and what broke off for another reason than ours the client tries again.
      if (response.headersSent || !(error instanceof AppError)) response.destroy();
      else response.writeHead(403, { 'content-length': 0, connection: 'close' }).end();
    }
  }

  /** Checks an address and connects to it, with TLS where it says so. */
  async #connect(address: string): Promise<{ readonly server: Socket; readonly target: Target }> {
    const { connections, lastMs } = this.#limits;
    if (this.#connections >= connections) throw fetchRefused(`More than ${connections} connections at once.`);
    this.#connections += 1;
    const { signal } = this.#closing;
    try {
      const { target, socket: server } = await openChecked(readUrl(address), this.#ports, signal);
      this.#keep(server);
      const limit = this.#ports.clock.timer(lastMs, () => server.destroy());
      server.once('close', () => {
        limit[Symbol.dispose]();
        this.#connections -= 1;
      });
      return { server, target };
    } catch (error) {
      this.#connections -= 1;
      throw error;
    }
  }

  /** Counts bytes of one request and its answer; throws where they are too many. */
  #counter(): (bytes: number) => void {
    const { connectionBytes, bytes: most } = this.#limits;
    let here = 0;
    return (bytes) => {
      here += bytes;
      this.#bytes += bytes;
      if (here > connectionBytes || this.#bytes > most)
        throw fetchRefused('A connection was closed: it carried too many bytes.');
    };
  }

  #refuseUpgrade(socket: Duplex): void {
    this.#refused(fetchRefused('A WebSocket was refused: pages are read without them.'));
    socket.end('HTTP/1.1 403 Forbidden\r\nconnection: close\r\ncontent-length: 0\r\n\r\n');
  }

  #keep(socket: Duplex): void {
    this.#sockets.add(socket);
    socket.on('error', () => {});
    socket.once('close', () => this.#sockets.delete(socket));
  }

  #refused(error: unknown): void {
    if (this.#closing.signal.aborted || !(error instanceof AppError)) return;
    this.#options.onRefused?.(errorMessage(error));
  }
}
