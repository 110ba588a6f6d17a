import { createHash, generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import {
  Agent,
  createServer,
  request as ask,
  type AgentOptions,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createSecureContext, TLSSocket, type SecureContext } from 'node:tls';
import { raceAbort } from '../util/clock.ts';
import { AppError, errorMessage } from '../util/errors.ts';
import { openChecked, systemDial, type Ports } from './fetch/connect.ts';
import { fetchRefused } from './fetch/contract.ts';
import type { GuardedFetchOptions } from './fetch/fetch.ts';
import { readHostList } from './fetch/host-list.ts';
import { systemNetworks, systemResolve } from './fetch/target.ts';
import { readUrl } from './fetch/url-rules.ts';

/** A request that sends something, before it is sent. All of it is untrusted. */
export interface SendingRequest {
  /** In upper case: not GET, not HEAD; of a preflight the method that it announces. */
  readonly method: string;
  /** The whole address. */
  readonly url: string;
  /** Scheme, host and port. */
  readonly origin: string;
  /** Names in lower case. */
  readonly headers: IncomingHttpHeaders;
  /** All that it would send; of a preflight nothing. */
  readonly body: Uint8Array;
}

export interface GuardedProxyOptions extends GuardedFetchOptions {
  /**
   * Decides about each request with another method than GET and HEAD; it may take its time. Null: it is sent. Otherwise
   * one sentence why not. A rejection is a no.
   */
  readonly maySend: (request: SendingRequest, signal: AbortSignal) => Promise<string | null>;
  /** Is told one sentence for each request that was refused or failed. @default no one is */
  readonly onRefused?: (sentence: string) => void;
  /** Bytes of all bodies of the proxy's life. @default 1 GB */
  readonly maxBytes?: number;
}

/** A proxy that listens; disposing ends all of its connections. */
export interface RunningProxy extends AsyncDisposable {
  /** SHA-256 in base64 of the only key that clients have to accept, whichever host they ask for. */
  readonly keyHash: string;
}

const MOST_BYTES = 1_000_000_000;
/** Longest body of a request. */
const MOST_BODY_BYTES = 30_000_000;
/** Longest headers of a request or an answer. */
const MOST_HEADER_BYTES = 64 * 1024;
/** A server that says nothing for so long is given up. */
const SILENCE_MS = 300_000;
/** At the same time, to each side. Browsers have at most 32 to a proxy. */
const MOST_CONNECTIONS = 64;
/** The longest that one to a server lasts. */
const LASTS_MS = 1_200_000;

/** Headers of one connection, and hints at other ways to a server; none of them is passed on. */
const OWN_HEADERS = new Set([
  'alt-svc',
  'connection',
  'expect',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);
const ONLY_ASKS = new Set(['GET', 'HEAD']);
/** The announcement of a request to another site, which has no body. */
const PREFLIGHT = 'OPTIONS';

/** A connection for TLS that a client asked for. */
interface Tunnel {
  /** Host and port, as the client wrote them. */
  readonly authority: string;
  /** Has at most one connection, to that host. */
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
  readonly #closing = new AbortController();
  /** What comes inside of TLS comes to it too, as a connection of its own. */
  readonly #server = createServer({ maxHeaderSize: MOST_HEADER_BYTES });
  readonly #tunnels = new WeakMap<Duplex, Tunnel>();
  #bytes = 0;
  /** To servers, also those that are being made. */
  #openConnections = 0;

  constructor(options: GuardedProxyOptions) {
    const { clock, resolve = systemResolve, dial = systemDial, ownNetworks = systemNetworks } = options;
    const allow = readHostList('allowHosts', options.allowHosts);
    const deny = readHostList('denyHosts', options.denyHosts);
    this.#options = options;
    this.#ports = { allow, deny, clock, resolve, dial, ownNetworks };
    const { secureContext, keyHash } = ownCertificate();
    this.keyHash = keyHash;
    this.#server.maxConnections = MOST_CONNECTIONS;
    this.#server.on('connect', ({ url = '' }, client, head) => {
      client.on('error', () => {});
      client.write('HTTP/1.1 200 Connection established\r\n\r\n');
      if (head.length > 0) client.unshift(head);
      const secured = new TLSSocket(client, { isServer: true, secureContext, ALPNProtocols: ['http/1.1'] });
      const agent = this.#agent('https:', secured, { keepAlive: true, maxSockets: 1 });
      secured.once('close', () => agent.destroy());
      this.#tunnels.set(secured, { authority: url, agent });
      this.#server.emit('connection', secured);
    });
    this.#server.on('request', (request, response) => void this.#answer(request, response));
    this.#server.on('clientError', (_error, socket) => void socket.destroy());
  }

  async listen(path: string): Promise<void> {
    this.#server.listen(path);
    await once(this.#server, 'listening');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort(new Error('the proxy is closing'));
    if (!this.#server.listening) return;
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      await this.#relay(request, response);
    } catch (error) {
      if (error instanceof AppError && !this.#closing.signal.aborted) this.#options.onRefused?.(errorMessage(error));
      // Half an answer is no answer, and what broke off for another reason than ours the client tries again.
      if (response.headersSent || !(error instanceof AppError)) response.destroy();
      else response.writeHead(403, { 'content-length': 0, connection: 'close' }).end();
    }
  }

  /** Passes one request on, once it may be sent, and its answer back. The host is the one of the connection. */
  async #relay(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '' } = request;
    const { signal } = this.#closing;
    const { url, port, agent } = this.#target(request);
    if (request.headers.upgrade !== undefined)
      throw fetchRefused('A WebSocket was refused: pages are read without them.');
    const body = await this.#body(request, url.host);
    await this.#requireAllowed(request, url, body);
    const { 'content-length': _length, ...headers } = passedOn(request.headers);
    const outgoing = ask({
      agent,
      hostname: url.hostname,
      port,
      method,
      path: url.pathname + url.search,
      headers: {
        ...headers,
        host: url.host,
        ...(body.length > 0 || sends(method) ? { 'content-length': body.length } : {}),
      },
      maxHeaderSize: MOST_HEADER_BYTES,
      timeout: SILENCE_MS,
    });
    outgoing.once('timeout', () => outgoing.destroy());
    // Servers break off, or change the protocol unasked, whenever they like.
    outgoing.on('error', () => {});
    outgoing.once('upgrade', (_answer, socket) => {
      socket.destroy();
      outgoing.emit('error', fetchRefused(`An answer of ${url.host} was refused: it changes the protocol.`));
    });
    response.once('close', () => outgoing.destroy());
    const answered = once(outgoing, 'response');
    answered.catch(() => {});
    outgoing.end(body);
    const [answer] = (await raceAbort(answered, signal)) as [IncomingMessage];
    response.writeHead(answer.statusCode ?? 502, passedOn(answer.headers));
    await pipeline(answer, (pieces: AsyncIterable<Buffer>) => this.#counted(pieces), response, { signal });
  }

  /** Where a request goes, and by which connection: over plain HTTP each has its own. */
  #target(request: IncomingMessage): { readonly url: URL; readonly port: number; readonly agent: Agent } {
    const { url: asked = '', socket } = request;
    const tunnel = this.#tunnels.get(socket);
    if (tunnel === undefined) {
      if (!/^http:/iu.test(asked)) throw fetchRefused('Only http:// addresses are asked for without TLS.');
      return { ...readUrl(asked), agent: this.#agent('http:', socket, {}) };
    }
    if (!asked.startsWith('/')) throw fetchRefused('A request without an address was refused.');
    const { url, port } = readUrl(`https://${tunnel.authority}/`);
    return { url: new URL(`${url.origin}${asked}`), port, agent: tunnel.agent };
  }

  /** Connects to checked addresses alone, with TLS where the scheme says so. `client`: who asks. */
  #agent(scheme: 'http:' | 'https:', client: Duplex, options: AgentOptions): Agent {
    const open = async (address: string, done: (error: Error | null, socket: Duplex) => void): Promise<void> => {
      try {
        const socket = await this.#open(address);
        // An agent would keep what nobody asks over any more.
        if (client.destroyed) socket.destroy();
        else done(null, socket);
      } catch (error) {
        done(error instanceof Error ? error : new Error(String(error)), new Socket());
      }
    };
    const agent = new Agent(options);
    agent.createConnection = ({ host, port }, callback = () => {}) => {
      void open(`${scheme}//${host}:${port}/`, callback);
      return null;
    };
    return agent;
  }

  /** A connection to a checked address: so many at the same time, each for so long. */
  async #open(address: string): Promise<Socket> {
    if (this.#openConnections >= MOST_CONNECTIONS) throw fetchRefused('A connection was refused: there are too many.');
    this.#openConnections += 1;
    try {
      const { socket } = await openChecked(readUrl(address), this.#ports, this.#closing.signal);
      const limit = this.#ports.clock.timer(LASTS_MS, () => socket.destroy());
      socket.once('close', () => {
        this.#openConnections -= 1;
        limit[Symbol.dispose]();
      });
      return socket;
    } catch (error) {
      this.#openConnections -= 1;
      throw error;
    }
  }

  async #requireAllowed({ method = '', headers }: IncomingMessage, url: URL, body: Uint8Array): Promise<void> {
    const announced = method === PREFLIGHT ? headers['access-control-request-method'] : undefined;
    const sent = (announced ?? method).toUpperCase();
    if (ONLY_ASKS.has(sent)) return;
    const { signal } = this.#closing;
    const request = { method: sent, url: url.href, origin: url.origin, headers, body };
    const why = await raceAbort(this.#options.maySend(request, signal), signal).catch(
      () => 'it could not be decided about.',
    );
    if (why !== null) throw fetchRefused(`Sending ${sent} to ${url.host} was refused: ${why}`);
  }

  /** All that a request sends. Throws for what only asks and yet sends something, and for too much. */
  async #body(request: IncomingMessage, host: string): Promise<Buffer> {
    const pieces: Uint8Array[] = [];
    let length = 0;
    for await (const piece of this.#counted(request.iterator({ destroyOnReturn: false }))) {
      if (!sends(request.method)) throw fetchRefused(`Sending to ${host} was refused: ${request.method} has no body.`);
      length += piece.length;
      if (length > MOST_BODY_BYTES) throw fetchRefused(`Sending to ${host} was refused: it is too much.`);
      pieces.push(piece);
    }
    return Buffer.concat(pieces);
  }

  async *#counted(pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    const { maxBytes = MOST_BYTES } = this.#options;
    for await (const piece of pieces) {
      this.#bytes += piece.length;
      if (this.#bytes > maxBytes) throw fetchRefused('A connection was closed: it carried too many bytes.');
      yield piece;
    }
  }
}

function sends(method = ''): boolean {
  return !ONLY_ASKS.has(method) && method !== PREFLIGHT;
}

function passedOn(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  const named = new Set((headers.connection ?? '').split(',').map((name) => name.trim().toLowerCase()));
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !OWN_HEADERS.has(name) && !named.has(name)));
}

/**
 * A certificate in DER, before and after its key (P-256): CN=assistant, from 2020 to 2049, without a signature. It proves
 * nothing to anybody, and the browser is told to accept its key whatever the certificate says.
 */
const BEFORE_KEY =
  '3081d53081bba003020102020101300a06082a8648ce3d04030230143112301006035504030c09617373697374616e74' +
  '301e170d3230303130313030303030305a170d3439313233313233353935395a' +
  '30143112301006035504030c09617373697374616e74';
const AFTER_KEY = '300a06082a8648ce3d0403020309003006020101020101';

/** Makes a new key with a certificate for it. `keyHash`: SHA-256 of the public key in base64, as browsers name keys. */
function ownCertificate(): { readonly secureContext: SecureContext; readonly keyHash: string } {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const publicBytes = publicKey.export({ type: 'spki', format: 'der' });
  const whole = Buffer.concat([Buffer.from(BEFORE_KEY, 'hex'), publicBytes, Buffer.from(AFTER_KEY, 'hex')]);
  const key = privateKey.export({ type: 'pkcs8', format: 'pem' });
  const cert = `-----BEGIN CERTIFICATE-----\n${whole.toString('base64')}\n-----END CERTIFICATE-----\n`;
  const keyHash = createHash('sha256').update(publicBytes).digest('base64');
  return { secureContext: createSecureContext({ key, cert }), keyHash };
}
