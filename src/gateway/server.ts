import type { RequestListener, Server } from 'node:http';
import { isIP, type AddressInfo } from 'node:net';
import type { ChannelHealth } from '../channels/channel.ts';
import type { StorageState } from '../storage/storage-health.ts';
import type { Clock } from '../util/clock.ts';
import { AppError, errorCode, errorMessage } from '../util/errors.ts';
import { http } from '../util/http.ts';
import type { Logger } from '../util/log.ts';
import type { WireError } from './http/wire.ts';
import { isLoopback, requireTokenBeyondLoopback } from './token.ts';

export interface HttpOptions {
  readonly host: string;
  /** 0: any that is free. */
  readonly port: number;
  /** As configured; null when the owner did not choose one. */
  readonly token: string | null;
  readonly version: string;
  readonly channels: () => Readonly<Record<string, ChannelHealth>>;
  readonly storage: () => StorageState;
  readonly clock: Clock;
  readonly log: Logger;
}

export interface HttpServer extends AsyncDisposable {
  /** e.g. `http://127.0.0.1:18790`, with the real port. */
  readonly address: string;
}

/** Serves HTTP until disposed of. Throws `port-busy` or `config-invalid` when it cannot listen. */
export async function startHttpServer(options: HttpOptions): Promise<HttpServer> {
  const { host, clock, log } = options;
  requireTokenBeyondLoopback(host, options.token);
  const startedAt = clock.monotonic();
  let pages: Promise<RequestListener> | undefined;
  const server = http.createServer((request, response) => {
    pages ??= loadPages(options, startedAt);
    pages
      .then((answer) => answer(request, response))
      .catch((error: unknown) => {
        log.error('http: request failed', { error });
        response.destroy();
      });
  });
  // Who has said all and only listens is answered too, also while hono is being loaded.
  Object.assign(server, { httpAllowHalfOpen: true });
  const { port } = await listen(server, options);
  server.on('error', (error) => log.error('http: server failed', { error }));
  return {
    address: `http://${isIP(host) === 6 ? `[${host}]` : host}:${port}`,
    [Symbol.asyncDispose]: async () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await closed;
    },
  };
}

/** What is served; hono comes with the first request and not with the start. */
async function loadPages(options: HttpOptions, startedAt: number): Promise<RequestListener> {
  const { host, clock, log } = options;
  const [{ Hono }, { getRequestListener }] = await Promise.all([import('hono'), import('@hono/node-server')]);
  const app = new Hono();
  app.use(async (context, next) => {
    if (isOwnHost(context.req.header('host'), host)) return await next();
    return context.json(failure('host-refused', 'This address is not served here.'), 403);
  });
  app.get('/health', (context) => {
    const channels = options.channels();
    const { state: storage } = options.storage();
    const isDegraded = storage !== 'ok' || Object.values(channels).some(({ state }) => state === 'failed');
    const health = {
      status: isDegraded ? 'degraded' : 'ok',
      version: options.version,
      uptimeSeconds: Math.floor((clock.monotonic() - startedAt) / 1000),
      storage,
      channels,
    };
    // Without its disk it serves no one.
    return context.json(health, storage === 'ok' ? 200 : 503);
  });
  app.notFound((context) => context.json(failure('not-found', 'There is nothing here.'), 404));
  app.onError((error, context) => {
    log.error('http: request failed', { path: context.req.path, error });
    return context.json(failure('internal', 'The request failed; the log says why.'), 500);
  });
  return getRequestListener(app.fetch);
}

function failure(code: string, message: string): WireError {
  return { error: { code, message } };
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

/**
 * Whether a request names this server, so that a web page cannot reach it under a name of its own (DNS rebinding).
 * On a wildcard address any numeric host is ours: rebinding needs a name.
 */
function isOwnHost(header: string | undefined, host: string): boolean {
  const url = header === undefined ? null : URL.parse(`http://${header}`);
  if (url === null) return false;
  const named = url.hostname.replace(/^\[|\]$/gu, '');
  if (isLoopback(named) || named === host.toLowerCase()) return true;
  return (host === '0.0.0.0' || host === '::') && isIP(named) !== 0;
}
