import type { Context, Hono } from 'hono';
import type { StatusCode } from 'hono/utils/http-status';
import type { ServedRoute } from '../../plugins/contributions.ts';
import type { App } from '../../app.ts';
import { deadline, DeadlineError, raceAbort } from '../../util/clock.ts';
import { AppError } from '../../util/errors.ts';
import { thrownLine } from '../../util/misfit.ts';
import { failure, type HttpEnv } from './answer.ts';
import { SAFE_HEADERS } from './safety.ts';

/** How requests of those who do not know a secret are slowed. */
export interface WrongSecrets {
  /** Seconds until it may try again; 0: it may now. */
  readonly waitFor: (context: Context<HttpEnv>) => number;
  readonly failed: (context: Context<HttpEnv>) => void;
}

const REFUSED = { code: 'route-refused', message: 'The secret of this call is missing or wrong.' };

/** A route that does not answer within this time has failed. */
const ROUTE_MS = 30_000;

/** Whether these may be called without a login, with a body of any kind. */
export function isPublicRoute({ plugins }: App, { req }: Pick<Context<HttpEnv>, 'req'>): boolean {
  return (plugins.routes.find(req.method, req.path)?.allows ?? null) !== null;
}

/** Serves the public routes of plugins; to be mounted before the login. */
export function servePublicRoutes(hono: Hono<HttpEnv>, app: App, wrong: WrongSecrets): void {
  hono.use(async (context, next) => {
    const route = app.plugins.routes.find(context.req.method, context.req.path);
    if (route === undefined || route.allows === null) return await next();
    const { allows, refusal = REFUSED, part } = route;
    const given = await withoutLogin(context, { isPublic: true });
    const isAllowed = await within(app, async () => (await allows(given.clone(), part)) === true).catch(
      (error: unknown) => {
        app.log.error('plugins: a route failed', { plugin: route.owner, reason: thrownLine(error) });
        return false;
      },
    );
    if (isAllowed) return await answer(context, { route, given }, app);
    const wait = wrong.waitFor(context);
    if (wait > 0) {
      context.header('Retry-After', String(wait));
      return failure(context, 429, 'too-many', 'Too many calls with a wrong secret. Wait a minute.');
    }
    wrong.failed(context);
    return failure(context, 401, refusal.code, refusal.message);
  });
}

/** Serves the other routes of plugins; to be mounted behind the login. */
export function serveRoutes(hono: Hono<HttpEnv>, app: App): void {
  hono.use(async (context, next) => {
    const route = app.plugins.routes.find(context.req.method, context.req.path);
    if (route === undefined || route.allows !== null) return await next();
    return await answer(context, { route, given: await withoutLogin(context, { isPublic: false }) }, app);
  });
}

async function answer(
  context: Context<HttpEnv>,
  { route, given }: { readonly route: ServedRoute; readonly given: Request },
  app: App,
): Promise<Response> {
  try {
    const response = await within(app, async () => await route.handle(given, route.part));
    if (!(response instanceof Response)) throw new Error('it gave no Response');
    // What keeps browsers safe is said by this server alone.
    const own = [...response.headers].filter(([name]) => !SAFE.has(name) && name !== 'set-cookie');
    for (const [name, value] of own) context.header(name, value);
    context.status(response.status as StatusCode);
    return response.body === null ? context.body(null) : context.body(response.body);
  } catch (error) {
    // What a part of the program says itself is answered like everything else.
    if (error instanceof AppError && app.plugins.builtin.some(({ name }) => name === route.owner)) throw error;
    app.log.error('plugins: a route failed', { plugin: route.owner, reason: thrownLine(error) });
    const isLate = error instanceof DeadlineError;
    const why = isLate ? 'did not answer in time' : 'failed; the log says why';
    return failure(context, isLate ? 504 : 500, 'route-failed', `The plugin "${route.owner}" ${why}.`);
  }
}

async function within<T>({ clock }: App, work: () => Promise<T>): Promise<T> {
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
