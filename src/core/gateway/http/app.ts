import type { IncomingMessage, RequestListener } from 'node:http';
import type { Duplex } from 'node:stream';
import { getRequestListener } from '@hono/node-server';
import { Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import * as z from 'zod';
import { mountOpenAi } from '../openai/mount.ts';
import { AppError } from '../../util/errors.ts';
import { failure, jsonBody, refused, statusOf, type HttpEnv } from './answer.ts';
import { serveAssets } from './assets.ts';
import { Failures } from './failures.ts';
import { serveFiles } from './files.ts';
import { serveHealth, serveReady } from './health.ts';
import { serveHistory } from './history.ts';
import { LOGIN_HEADER, type Login } from './login.ts';
import { serveMessages } from './messages.ts';
import { serveOperations } from './operations.ts';
import type { HttpOptions, Inside } from './options.ts';
import { isPublicRoute, servePublicRoutes, serveRoutes, type WrongSecrets } from './plugin-routes.ts';
import type { Sockets } from './socket.ts';
import { addressOf, isOwnHost, SAFE_HEADERS, unsafe } from './safety.ts';

/** Of everything but uploads, bytes. */
const LARGEST_BODY = 1_000_000;

/** Routes that set a limit of their own, and those whose body need not be JSON. */
const OWN_LIMIT = /^\/(?:v1\/|api\/uploads$)/u;
const OWN_TYPE = /^\/(?:api\/uploads$|v1\/responses\/[^/]+\/cancel$)/u;

/** What answers requests, and connections that are to become WebSockets. */
export interface HttpApp {
  readonly listener: RequestListener;
  readonly upgrade: (request: IncomingMessage, socket: Duplex, head: Buffer) => void;
  /** Ends the WebSockets. */
  readonly close: () => Promise<void>;
}

interface WebSockets extends Pick<HttpApp, 'upgrade' | 'close'> {
  /** Ends those whose login has ended. */
  readonly endLeft: () => Promise<void>;
}

const loginInput = z.union([z.object({ code: z.string().max(200) }), z.object({ token: z.string().max(2_000) })]);

/** Joins all that is served. `login`: null while the start waits for its disk, so that only /health is. */
export function createApp(options: HttpOptions & { readonly startedAt: number }, login: Login | null): HttpApp {
  const { log, inside } = options;
  const app = new Hono<HttpEnv>();
  const { upgrade, close, endLeft } = webSockets(options, login);
  app.use(async (context, next) => {
    for (const [name, value] of Object.entries(SAFE_HEADERS)) context.header(name, value);
    const { incoming } = context.env;
    if (context.req.path === '/health') return await next();
    const reason = unsafe(incoming, options);
    if (reason !== null) return refused(context, reason);
    return await next();
  });
  const limit = bodyLimit({
    maxSize: LARGEST_BODY,
    onError: (context) => failure(context, 413, 'body-too-large', TOO_LARGE),
  });
  app.use((context, next) => (OWN_LIMIT.test(context.req.path) ? next() : limit(context, next)));
  app.use(async (context, next) => {
    const { method, path } = context.req;
    const type = context.req.header('content-type') ?? '';
    if (method === 'GET' || method === 'HEAD' || OWN_TYPE.test(path)) return await next();
    if (inside !== null && isPublicRoute(inside.app, context)) return await next();
    if (/^application\/json *(?:;.*)?$/iu.test(type)) return await next();
    return failure(context, 415, 'json-needed', 'Send the header Content-Type: application/json, and JSON.');
  });
  serveHealth(app, options, (context) => isOwnHost(context.req.header('host'), options));
  if (login !== null && inside !== null) {
    app.post('/login', async (context) => {
      const entered = login.enter(context.env.incoming, await jsonBody(context, loginInput));
      if ('status' in entered) return refused(context, entered);
      return context.body(null, 204, { 'Set-Cookie': entered.cookie, [LOGIN_HEADER]: entered.key });
    });
    app.post('/logout', async (context) => {
      const cookie = await login.leave(context.env.incoming);
      await endLeft();
      return context.body(null, 204, { 'Set-Cookie': cookie });
    });
    serveAssets(app, inside.page);
    servePublicRoutes(app, inside.app, wrongSecrets(options));
    app.use(async (context, next) => {
      const reason = login.refusal(context.env.incoming);
      return reason === null ? await next() : refused(context, reason);
    });
    serveInside(app, inside);
    serveRoutes(app, inside.app);
  }
  app.notFound((context) => failure(context, 404, 'not-found', 'There is nothing here.'));
  app.onError((error, context) => {
    if (error instanceof AppError) return failure(context, statusOf(error), error.code, error.message, error.facts);
    log.error('http: request failed', { path: context.req.path, error });
    return failure(context, 500, 'internal', 'The request failed; the log says why.');
  });
  return { listener: getRequestListener(app.fetch), upgrade, close };
}

function serveInside(app: Hono<HttpEnv>, inside: Inside): void {
  serveReady(app, inside.ready);
  mountOpenAi(app, inside.app);
  serveOperations(app, inside);
  serveMessages(app, inside);
  serveFiles(app, inside.files);
  serveHistory(app, inside.history);
}

/** `/ws`: who may connect, by the same rules as for requests. */
function webSockets(options: HttpOptions, login: Login | null): WebSockets {
  const { inside, clock, log } = options;
  let sockets: Promise<Sockets> | undefined;
  const refuse = (socket: Duplex, status: string): void => {
    socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
  };
  const upgrade: HttpApp['upgrade'] = (request, socket, head) => {
    const reason = unsafe(request, options);
    if (reason !== null) return refuse(socket, `${reason.status} Refused`);
    if (inside === null || login === null || URL.parse(request.url ?? '', 'http://own')?.pathname !== '/ws') {
      return refuse(socket, '404 Not Found');
    }
    const entry = login.refusal(request);
    if (entry !== null) return refuse(socket, `${entry.status} Refused`);
    const isStillIn = (earlier: IncomingMessage): boolean => login.isStillIn(earlier);
    sockets ??= import('./socket.ts').then((module) => new module.Sockets({ feed: inside.feed, clock, isStillIn }));
    sockets
      .then((open) => open.accept(request, socket, head) || refuse(socket, '503 Too Many Connections'))
      .catch((error: unknown) => {
        log.error('http: WebSocket failed', { error });
        socket.destroy();
      });
  };
  return {
    upgrade,
    close: async () => (await sockets)?.[Symbol.dispose](),
    endLeft: async () => (await sockets)?.endLeft(),
  };
}

/** Calls of webhooks with a wrong secret are slowed like failed logins, and apart from them. */
function wrongSecrets(options: HttpOptions): WrongSecrets {
  const failures = new Failures(options.clock);
  return {
    waitFor: ({ env }) => failures.waitFor(addressOf(env.incoming, options)),
    failed: ({ env }) => failures.failed(addressOf(env.incoming, options)),
  };
}

const TOO_LARGE = `The body of a request has at most ${LARGEST_BODY} bytes.`;
