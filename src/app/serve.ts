import type { Approvals } from '../agent/approvals.ts';
import type { MessageBus } from '../bus/bus.ts';
import { startControlServer } from '../gateway/control.ts';
import { LocalAssistant } from '../gateway/local-assistant.ts';
import type { RequestHandlers } from '../gateway/requests.ts';
import type { ToolRegistry } from '../tools/registry.ts';
import { runToolOnce } from '../tools/run-once.ts';
import type { Base } from './base.ts';
import type { Channels } from './channels.ts';

export interface ServeParts {
  readonly bus: MessageBus;
  readonly channels: Channels;
  readonly approvals: Approvals;
  readonly registry: ToolRegistry;
  readonly requests: RequestHandlers;
  /** `provider/model` */
  readonly model: string;
  /** HTTP port instead of the configured one. */
  readonly port: number | undefined;
}

/** The assistant for terminals, the control socket and programs; in a gateway for HTTP too. The stack ends it all. */
export async function serve(base: Base, parts: ServeParts, stack: AsyncDisposableStack): Promise<LocalAssistant> {
  const { paths, clock, newId, log, version, startedAt, warnings } = base;
  const { bus, approvals, registry, model } = parts;
  const { terminal, manager } = parts.channels;
  let http: string | null = null;
  const local = new LocalAssistant({
    bus,
    clock,
    newId,
    terminal,
    approvals,
    info: () => ({
      version,
      pid: process.pid,
      home: paths.home,
      model,
      channels: manager.health(),
      warnings,
      startedAt,
      http,
    }),
    tools: {
      tools: () =>
        registry.list().map(({ tool, spec }) => ({ ...spec, effect: tool.effect, role: tool.role ?? 'trusted' })),
      runTool: (call) => runToolOnce(registry, call, { workspace: paths.workspace, newId }),
    },
    requests: parts.requests,
  });
  stack.use(await startControlServer({ path: paths.socket, version, assistant: local, log }));
  if (base.serving) http = await serveHttp(base, parts, stack);
  return local;
}

async function serveHttp(
  { config, paths, random, version, clock, log }: Base,
  { port, channels: { manager } }: ServeParts,
  stack: AsyncDisposableStack,
): Promise<string> {
  const { startHttpServer } = await import('../gateway/server.ts');
  const { gatewayToken } = await import('../gateway/token.ts');
  const { host, port: configured, token } = config.gateway;
  await gatewayToken({ configured: token, path: paths.token, random });
  const server = await startHttpServer({
    host,
    port: port ?? configured,
    token,
    version,
    channels: () => manager.health(),
    clock,
    log,
  });
  stack.use(server);
  return server.address;
}
