import type { Questions } from '../agent/questions/questions.ts';
import type { MessageBus } from '../bus/bus.ts';
import type { ChannelHealth } from '../channels/channel.ts';
import type { Journal } from '../journal/journal.ts';
import { startControlServer } from '../gateway/control.ts';
import type { RedactFrame } from '../gateway/control-server.ts';
import type { AssistantInfo } from '../gateway/assistant-port.ts';
import { LocalAssistant } from '../gateway/local-assistant.ts';
import type { AuditLog } from '../storage/audit-log.ts';
import type { ToolRegistry } from '../tools/registry/registry.ts';
import { runToolOnce } from '../tools/registry/run-once.ts';
import type { Base } from './base.ts';
import type { AgentRequests } from './requests/requests.ts';
import { storageLine } from './status.ts';
import type { Channels } from './channels.ts';

type Health = Readonly<Record<string, ChannelHealth>>;

export interface ServeParts {
  readonly bus: MessageBus;
  readonly journal: Pick<Journal, 'retention'>;
  readonly channels: Channels;
  readonly questions: Questions;
  readonly registry: ToolRegistry;
  readonly requests: AgentRequests;
  readonly audit: Pick<AuditLog, 'record'>;
  /** What the person should know now, beside the warnings of the start. */
  readonly troubles: () => readonly string[];
  /** `provider/model` */
  readonly model: () => string;
  /** HTTP port instead of the configured one. */
  readonly port: number | undefined;
  /** Aborts when the process stops. */
  readonly closing: AbortSignal;
}

/** The assistant for terminals, the control socket and programs; in a gateway for HTTP too. The stack ends it all. */
export async function serve(base: Base, parts: ServeParts, stack: AsyncDisposableStack): Promise<LocalAssistant> {
  const { paths, clock, newId, log, redact, version, startedAt } = base;
  const { bus, questions, registry } = parts;
  const { terminal, manager } = parts.channels;
  let http: string | null = null;
  const info = (): AssistantInfo => ({
    version,
    pid: process.pid,
    home: paths.home,
    model: parts.model(),
    channels: cleanHealth(manager.health(), redact),
    warnings: [...base.warnings, ...parts.troubles()],
    storage: storageLine(parts.journal.retention.last(), clock.now()),
    startedAt,
    http,
  });
  const local = new LocalAssistant({
    bus,
    clock,
    newId,
    terminal,
    approvals: questions,
    info,
    tools: {
      tools: () =>
        registry.list().map(({ tool, spec }) => ({ ...spec, effect: tool.effect, role: tool.role ?? 'trusted' })),
      runTool: async (call) => {
        const report = await runToolOnce(registry, call, { workspace: paths.workspace, newId });
        return { ...report, reason: report.reason === null ? null : redact(report.reason) };
      },
    },
    requests: {
      ...parts.requests,
      info: async () => ({ ...info(), transcription: base.config.voice.provider !== null }),
    },
    audit: parts.audit,
    closing: parts.closing,
  });
  const redactFrame: RedactFrame = (line, { showsRuns }) => redact(line, showsRuns ? { knownBy: 'value' } : {});
  stack.use(await startControlServer({ path: paths.socket, version, assistant: local, log, redact: redactFrame }));
  if (base.serving) http = await serveHttp(base, parts, stack);
  return local;
}

async function serveHttp(
  { config, paths, random, version, clock, log, redact, storage }: Base,
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
    channels: () => cleanHealth(manager.health(), redact),
    storage: () => storage.state,
    clock,
    log,
  });
  stack.use(server);
  return server.address;
}

/** What a platform said of an error may hold anything. */
function cleanHealth(health: Health, redact: Base['redact']): Health {
  return Object.fromEntries(
    Object.entries(health).map(([name, { detail, ...facts }]) => [
      name,
      { ...facts, ...(detail === undefined ? {} : { detail: redact(detail) }) },
    ]),
  );
}
