import type { Hono } from 'hono';
import { storageSentence } from '../../storage/storage-health.ts';
import type { HttpContext, HttpEnv } from './answer.ts';
import type { HttpOptions, Readiness } from './options.ts';

/** `GET /health`, for everybody. Details only for requests that name this server: no other page can read them. */
export function serveHealth(
  app: Hono<HttpEnv>,
  options: HttpOptions & { readonly startedAt: number },
  showsDetails: (context: HttpContext) => boolean,
): void {
  app.get('/health', (context) => {
    const channels = options.channels();
    const state = options.storage();
    const { state: storage } = state;
    const trouble = storageSentence(state, options.home);
    const homes = options.homes?.() ?? null;
    const isDegraded =
      storage !== 'ok' ||
      Object.keys(homes?.failed ?? {}).length > 0 ||
      Object.values(channels).some((channel) => ['failed', 'reconnecting'].includes(channel.state));
    const waiting = options.standby?.() ?? null;
    const rest = homes?.ready === false ? 'starting' : 'ok';
    const status = isDegraded ? 'degraded' : waiting === null ? rest : 'waiting';
    const details = {
      version: options.version,
      uptimeSeconds: Math.floor((options.clock.monotonic() - options.startedAt) / 1000),
      ...(waiting === null ? {} : { waiting }),
      storage,
      // What happened and what to do.
      ...(trouble === null ? {} : { trouble }),
      ...(homes === null ? { channels } : { homes: homes.counts, failed: homes.failed }),
    };
    // Without its disk it serves no one.
    return context.json({ status, ...(showsDetails(context) ? details : {}) }, storage === 'ok' ? 200 : 503);
  });
}

/** `GET /ready`: 503 unless all that an answer needs works. */
export function serveReady(app: Hono<HttpEnv>, ready: () => Promise<Readiness>): void {
  app.get('/ready', async (context) => {
    const found = await ready();
    return context.json(found, found.ready ? 200 : 503);
  });
}
