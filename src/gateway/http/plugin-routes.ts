import type { Context, Hono } from 'hono';
import type { StatusCode } from 'hono/utils/http-status';
import { deadline, DeadlineError, raceAbort, type Clock } from '../../util/clock.ts';
import type { Logger } from '../../util/log.ts';
import { thrownLine } from '../../util/misfit.ts';
import type { WrongSecrets } from '../hooks/mount.ts';
import { failure, type HttpEnv } from './answer.ts';
import { SAFE_HEADERS } from './safety.ts';

/** A route that a plugin serves. */
export interface ServedRoute {
  /** The name of the plugin. */
  readonly owner: string;
  /** Only `true` lets a caller without a login in; null: no one is. */
  readonly allows: ((request: Request) => unknown) | null;
  readonly handle: (request: Request) => Response | Promise<Response>;
}

export interface PluginRoutes {
  /** `path`: `/plugins/<package>/…`. */
  readonly find: (method: string, path: string) => ServedRoute | undefined;
}

interface RoutePorts {
  readonly routes: PluginRoutes;
  readonly clock: Clock;
  readonly log: Logger;
}

/** A route that does not answer within this time has failed. */
const ROUTE_MS = 30_000;

/** Whether these may be called without a login, with a body of any kind. */
export function isPublicRoute(routes: PluginRoutes, { req }: Pick<Context<HttpEnv>, 'req'>): boolean {
  return (routes.find(req.method, req.path)?.allows ?? null) !== null;
}

/** Serves the public routes of plugins; to be mounted before the login. */
export function servePublicRoutes(app: Hono<HttpEnv>, ports: RoutePorts, wrong: WrongSecrets<HttpEnv>): void {
  app.use('/plugins/*', async (context, next) => {
    const route = ports.routes.find(context.req.method, context.req.path);
    if (route === undefined || route.allows === null) return await next();
    const { allows } = route;
    const given = await withoutLogin(context, { isPublic: true });
    const isAllowed = await within(ports, async () => (await allows(given.clone())) === true).catch(
      (error: unknown) => {
        ports.log.error('plugins: a route failed', { plugin: route.owner, reason: thrownLine(error) });
        return false;
      },
    );
    if (isAllowed) return await answer(context, { route, given }, ports);
    const wait = wrong.waitFor(context);
    if (wait > 0) {
      context.header('Retry-After', String(wait));
      return failure(context, 429, 'too-many', 'Too many calls with a wrong secret. Wait a minute.');
    }
    wrong.failed(context);
    return failure(context, 401, 'route-refused', 'The secret of this call is missing or wrong.');
  });
}

/** Serves the other routes of plugins; to be mounted behind the login. */
export function serveRoutes(app: Hono<HttpEnv>, ports: RoutePorts): void {
  app.use('/plugins/*', async (context, next) => {
    const route = ports.routes.find(context.req.method, context.req.path);
    if (route === undefined || route.allows !== null) return await next();
    return await answer(context, { route, given: await withoutLogin(context, { isPublic: false }) }, ports);
  });
}

async function answer(
  context: Context<HttpEnv>,
  { route, given }: { readonly route: ServedRoute; readonly given: Request },
  ports: RoutePorts,
): Promise<Response> {
  try {
    const response = await within(ports, async () => await route.handle(given));
    if (!(response instanceof Response)) throw new Error('it gave no Response');
    // What keeps browsers safe is said by this server alone.
    const own = [...response.headers].filter(([name]) => !SAFE.has(name) && name !== 'set-cookie');
    for (const [name, value] of own) context.header(name, value);
    context.status(response.status as StatusCode);
    return response.body === null ? context.body(null) : context.body(response.body);
  } catch (error) {
    ports.log.error('plugins: a route failed', { plugin: route.owner, reason: thrownLine(error) });
    const isLate = error instanceof DeadlineError;
    const why = isLate ? 'did not answer in time' : 'failed; the log says why';
    return failure(context, isLate ? 504 : 500, 'route-failed', `The plugin "${route.owner}" ${why}.`);
  }
}

async function within<T>({ clock }: RoutePorts, work: () => Promise<T>): Promise<T> {
  using limit = deadline(clock, ROUTE_MS, 'the route');
  return await raceAbort(work(), limit.signal);
}

const SAFE = new Set(Object.keys(SAFE_HEADERS).map((name) => name.toLowerCase()));

/** The request without what it was let in by. */
async function withoutLogin({ req }: Context<HttpEnv>, { isPublic }: { readonly isPublic: boolean }): Promise<Request> {
  const headers = new Headers(req.raw.headers);
  headers.delete('cookie');
  if (!isPublic) headers.delete('authorization');
  const hasBody = req.method !== 'GET' && req.method !== 'HEAD';
  return new Request(req.url, {
    method: req.method,
    headers,
    ...(hasBody ? { body: await req.arrayBuffer() } : {}),
  });
}
