import type { MessageBus } from '../../bus/bus.ts';
import type { ChannelHealth } from '../../channels/channel.ts';
import type { OpenAiPorts } from '../../gateway/openai/ports.ts';
import type { HttpServer } from '../../gateway/http/server.ts';
import type { Base } from '../base.ts';
import type { Channels } from '../channels.ts';
import { startMonitoring, type MonitoringParts } from '../monitoring/monitoring.ts';
import { loadPage } from './page.ts';
import { Readiness } from './readiness.ts';

export interface HttpParts extends MonitoringParts {
  readonly bus: MessageBus;
  readonly channels: Channels;
  readonly openai: OpenAiPorts;
  /** HTTP port instead of the configured one. */
  readonly port: number | undefined;
}

/** Serves HTTP for a gateway, with all that lies behind its login. */
export async function serveHttp(base: Base, parts: HttpParts): Promise<HttpServer> {
  const { bus, journal, channels, openai, port } = parts;
  const { config, paths, random, version, newId, clock, log, redact, storage } = base;
  const { startHttpServer } = await import('../../gateway/http/server.ts');
  const { gatewayToken } = await import('../../gateway/token.ts');
  const { host, port: configured, token, publicUrl, ui } = config.gateway;
  const health = (): Health => cleanHealth(channels.manager.health(), redact);
  await using stack = new AsyncDisposableStack();
  const readiness = stack.use(new Readiness({ bus, journal, health, storage, clock }));
  const metrics = await startMonitoring(base, parts, stack);
  const server = stack.use(
    await startHttpServer({
      host,
      port: port ?? configured,
      token,
      publicUrl,
      version,
      channels: health,
      storage: () => storage.state,
      clock,
      log,
      inside: {
        token: await gatewayToken({ configured: token, path: paths.token, random }),
        random,
        page: ui ? loadPage : null,
        ready: () => readiness.look(),
        metrics,
        openai,
        hooks: {
          hooks: () => config.hooks,
          bus,
          receivedAt: (key) => journal.places.find(key)?.receivedAt,
          newId,
          clock,
          log,
        },
      },
    }),
  );
  const owned = stack.move();
  return { ...server, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

type Health = Readonly<Record<string, ChannelHealth>>;

/** What a platform said of an error may hold anything. */
export function cleanHealth(health: Health, redact: Base['redact']): Health {
  return Object.fromEntries(
    Object.entries(health).map(([name, { detail, ...facts }]) => [
      name,
      { ...facts, ...(detail === undefined ? {} : { detail: redact(detail) }) },
    ]),
  );
}
