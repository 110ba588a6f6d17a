import { RecentMap, type App, type Route } from '../../core/api.ts';
import { publishCall } from './call.ts';
import { knowsSecret } from './secret.ts';
import { hooks, type HookSettings } from './settings.ts';

const MINUTE_MS = 60_000;
/** Calls of one webhook in a minute. */
const MOST_CALLS = 60;
/** Webhooks that are kept count of. */
const COUNTED = 1_000;
/** Compared with what the caller of an unknown name shows, so that it takes the same time. */
const NO_SECRET = 'no webhook has this name';

/** Who knows the secret starts a turn, and is answered at once. An unknown name is answered like a wrong secret. */
export function hookRoute(app: App): Route {
  const calls = new RecentMap<string, readonly number[]>(COUNTED);
  const named = (name: string): HookSettings | undefined => {
    const all = app.settingsOf(hooks);
    return Object.hasOwn(all, name) ? all[name] : undefined;
  };
  return {
    method: 'POST',
    path: '/hooks/:name',
    refusal: { code: 'hook-refused', message: 'There is no webhook with this name and secret.' },
    allows: async (request, part) => {
      const settings = named(part('name'));
      const authorization = request.headers.get('authorization') ?? undefined;
      const signature = request.headers.get('x-hub-signature-256') ?? undefined;
      const body = new Uint8Array(await request.arrayBuffer());
      return knowsSecret(settings?.secret ?? NO_SECRET, { authorization, signature, body }) && settings !== undefined;
    },
    handle: async (request, part) => {
      const name = part('name');
      const settings = named(name);
      if (settings === undefined) return new Response(null, { status: 404 });
      const now = app.clock.monotonic();
      const recent = (calls.get(name) ?? []).filter((at) => at > now - MINUTE_MS);
      if (recent.length >= MOST_CALLS) {
        const wait = Math.ceil(((recent[0] ?? now) + MINUTE_MS - now) / 1_000);
        return tooMany(`At most ${MOST_CALLS} calls of a webhook are taken in a minute.`, wait);
      }
      calls.set(name, [...recent, now]);
      const key = request.headers.get('idempotency-key') ?? request.headers.get('x-github-delivery') ?? '';
      const body = new Uint8Array(await request.arrayBuffer());
      const accepted = await publishCall({ name, settings, body, key: key === '' ? undefined : key }, app);
      if (accepted === 'refused')
        return tooMany('Too many calls of this webhook wait for their turn.', MINUTE_MS / 1_000);
      app.log.info('hooks: called', { hook: name, accepted });
      return Response.json({ accepted }, { status: 202 });
    },
  };
}

function tooMany(message: string, seconds: number): Response {
  const headers = { 'Retry-After': String(seconds) };
  return Response.json({ error: { code: 'too-many', message } }, { status: 429, headers });
}
