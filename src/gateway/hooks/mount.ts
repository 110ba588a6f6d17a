import type { Context, Env, Hono } from 'hono';
import { RecentMap } from '../../util/recent-map.ts';
import { publishCall } from './call.ts';
import type { HookPorts } from './ports.ts';
import { knowsSecret } from './secret.ts';

const MINUTE_MS = 60_000;
/** Calls of one webhook in a minute. */
const MOST_CALLS = 60;
/** Webhooks that are kept count of. */
const COUNTED = 1_000;
/** Compared with what the caller of an unknown name shows, so that it takes the same time. */
const NO_SECRET = 'no webhook has this name';

/** How requests of those who do not know a secret are slowed. */
export interface WrongSecrets<E extends Env> {
  /** Seconds until it may try again; 0: it may now. */
  readonly waitFor: (context: Context<E>) => number;
  readonly failed: (context: Context<E>) => void;
}

/**
 * Serves `POST /hooks/<name>`: whoever knows the secret of a webhook starts a turn, and is answered at once. An unknown name is
 * answered like a wrong secret. The size of a body is limited before.
 */
export function mountHooks<E extends Env>(app: Hono<E>, ports: HookPorts, wrong: WrongSecrets<E>): void {
  const calls = new RecentMap<string, readonly number[]>(COUNTED);
  app.post('/hooks/:name', async (context) => {
    const name = context.req.param('name');
    const header = (of: string): string | undefined => context.req.header(of);
    const hooks = ports.hooks();
    const settings = Object.hasOwn(hooks, name) ? hooks[name] : undefined;
    const body = new Uint8Array(await context.req.arrayBuffer());
    const shown = { authorization: header('Authorization'), signature: header('X-Hub-Signature-256'), body };
    const knows = knowsSecret(settings?.secret ?? NO_SECRET, shown);
    if (settings === undefined || !knows) {
      const wait = wrong.waitFor(context);
      if (wait > 0) return tooMany(context, 'Too many calls with a wrong secret. Wait a minute.', wait);
      wrong.failed(context);
      const message = 'There is no webhook with this name and secret.';
      return context.json({ error: { code: 'hook-refused', message } }, 401);
    }
    const now = ports.clock.monotonic();
    const recent = (calls.get(name) ?? []).filter((at) => at > now - MINUTE_MS);
    if (recent.length >= MOST_CALLS) {
      const wait = Math.ceil(((recent[0] ?? now) + MINUTE_MS - now) / 1_000);
      return tooMany(context, `At most ${MOST_CALLS} calls of a webhook are taken in a minute.`, wait);
    }
    calls.set(name, [...recent, now]);
    const key = header('Idempotency-Key') ?? header('X-GitHub-Delivery');
    const accepted = await publishCall({ name, settings, body, key: key === '' ? undefined : key }, ports);
    if (accepted === 'refused') {
      return tooMany(context, 'Too many calls of this webhook wait for their turn.', MINUTE_MS / 1_000);
    }
    ports.log.info('hooks: called', { hook: name, accepted });
    return context.json({ accepted }, 202);
  });
}

function tooMany<E extends Env>(context: Context<E>, message: string, seconds: number): Response {
  context.header('Retry-After', String(seconds));
  return context.json({ error: { code: 'too-many', message } }, 429);
}
