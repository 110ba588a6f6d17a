import type { IncomingMessage, Server } from 'node:http';
import { isIP, type AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { AppError, errorCode, errorMessage } from '../../util/errors.ts';
import { http } from '../../util/http.ts';
import { requireTokenBeyondLoopback } from '../token.ts';
import type { HttpApp } from './app.ts';
import { capConnections } from './connections.ts';
import { Login } from './login.ts';
import type { HttpOptions, Inside } from './options.ts';

/** How long a client may take for its headers, and for all of its request, milliseconds. */
const TIMES = { headersTimeout: 10_000, requestTimeout: 60_000, connectionsCheckingInterval: 2_000 };

export interface HttpServer extends AsyncDisposable {
  /** e.g. `http://127.0.0.1:18790`, with the real port. */
  readonly address: string;
  /** Makes an address that logs a browser in once, within 10 minutes; null: no page is served. */
  readonly newLink: () => string | null;
}

/**
 * Serves HTTP until disposed of. What answers is loaded with the first request and not with the start. Throws `port-busy` or
 * `config-invalid` when it cannot listen. `times`: @default those above
 */
export async function startHttpServer(options: HttpOptions, times: Partial<typeof TIMES> = {}): Promise<HttpServer> {
  const { host, clock, log, inside } = options;
  requireTokenBeyondLoopback(host, options.token);
  const startedAt = clock.monotonic();
  let port = options.port;
  const loginOf = ({ app, token }: Inside): Login =>
    new Login({
      token,
      places: options,
      clock,
      random: app.random,
      ended: app.journal.endedLogins,
      port: () => port,
    });
  const login = inside === null ? null : loginOf(inside);
  let app: Promise<HttpApp> | undefined;
  const loaded = async (use: (app: HttpApp) => void, drop: () => void): Promise<void> => {
    app ??= import('./app.ts').then(({ createApp }) => createApp({ ...options, startedAt }, login));
    try {
      use(await app);
    } catch (error) {
      log.error('http: request failed', { error });
      drop();
    }
  };
  const server = http.createServer({ ...TIMES, ...times }, (request, response) => {
    void loaded(
      ({ listener }) => listener(request, response),
      () => response.destroy(),
    );
  });
  capConnections(server, (socket) => login?.hasEntered(socket) === true);
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on('error', () => socket.destroy());
    void loaded(
      ({ upgrade }) => upgrade(request, socket, head),
      () => socket.destroy(),
    );
  });
  // Who has said all and only listens is answered too, also while hono is being loaded.
  Object.assign(server, { httpAllowHalfOpen: true });
  ({ port } = await listen(server, options));
  server.on('error', (error) => log.error('http: server failed', { error }));
  const address = `http://${isIP(host) === 6 ? `[${host}]` : host}:${port}`;
  // No one can open a wildcard address in a browser.
  const reached = options.publicUrl ?? address.replace(/^http:\/\/(?:0\.0\.0\.0|\[::\])/u, 'http://127.0.0.1');
  return {
    address,
    newLink: () =>
      login === null || inside?.page === null ? null : `${reached.replace(/\/$/u, '')}/#login=${login.newCode()}`,
    [Symbol.asyncDispose]: async () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      await (await app?.catch(() => undefined))?.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

function listen(server: Server, { host, port }: HttpOptions): Promise<AddressInfo> {
  return new Promise((resolve, reject) => {
    server.once('error', (cause) => reject(listenError(cause, host, port)));
    server.listen(port, host, () => {
      const address = server.address();
      if (typeof address === 'object' && address !== null) resolve(address);
      else reject(new Error('the HTTP server has no address'));
    });
  });
}

function listenError(cause: unknown, host: string, port: number): AppError {
  const facts = { host, port };
  switch (errorCode(cause)) {
    case 'EADDRINUSE':
      return new AppError(
        'port-busy',
        `Port ${port} on ${host} is taken by another program. Use --port N or gateway.port in the configuration to choose another.`,
        { cause, facts },
      );
    case 'EACCES':
      return new AppError(
        'port-forbidden',
        `You may not listen on port ${port}. Use --port N or gateway.port in the configuration to choose one above 1023.`,
        { cause, facts },
      );
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
    case 'EINVAL':
    case 'EAI_AGAIN':
      return new AppError(
        'config-invalid',
        `gateway.host is ${host}, which is not an address of this machine. Use 127.0.0.1 or another that is.`,
        {
          cause,
          facts,
          exitCode: 78,
        },
      );
    default:
      return new AppError('http-listen', `Could not listen on ${host}, port ${port}: ${errorMessage(cause)}.`, {
        cause,
        facts,
      });
  }
}
