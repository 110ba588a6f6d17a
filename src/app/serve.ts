import type { HookRunner } from '../agent/hooks/hooks.ts';
import type { Questions } from '../agent/questions/questions.ts';
import type { MessageBus } from '../bus/bus.ts';
import { startControlServer } from '../gateway/control.ts';
import type { RedactFrame } from '../gateway/control-server.ts';
import type { AssistantInfo } from '../gateway/assistant-port.ts';
import type { HealthFacts } from '../gateway/operations/health.ts';
import type { HttpSlot } from '../gateway/operations/ports.ts';
import { LocalAssistant } from '../gateway/local-assistant.ts';
import type { OpenAiPorts } from '../gateway/openai/ports.ts';
import { hasServer, hearingServer, speechText, voiceText } from '../providers/speech-servers.ts';
import type { EditorFiles } from '../tools/files/editor-files.ts';
import type { ToolRegistry } from '../tools/registry/registry.ts';
import { searchText } from './memory/embedder.ts';
import { runToolOnce } from '../tools/registry/run-once.ts';
import { assistantCommand } from '../util/assistant-command.ts';
import { AppError } from '../util/errors.ts';
import type { Base } from './base.ts';
import type { AgentRequests } from './requests/requests.ts';
import { uploaded } from './gateway/files.ts';
import { healthOfChannelsOff } from './channels.ts';
import { cleanHealth, serveHttp } from './gateway/http.ts';
import { storageLine } from './status.ts';
import type { EditorMcp } from './tools/editor-servers.ts';
import type { Channels } from './channels.ts';
import type { Stores } from './storage/stores.ts';

export interface ServeParts {
  readonly bus: MessageBus;
  readonly stores: Pick<Stores, 'journal' | 'media' | 'uploads' | 'sessions' | 'audit' | 'editors' | 'search'>;
  readonly channels: Channels;
  readonly questions: Questions;
  readonly editorFiles: EditorFiles;
  readonly editorMcp: EditorMcp;
  readonly hooks: HookRunner;
  readonly registry: ToolRegistry;
  readonly requests: AgentRequests;
  readonly http: HttpSlot;
  readonly openai: OpenAiPorts;
  /** What the person should know now, beside the warnings of the start. */
  readonly troubles: () => readonly string[];
  /** How many turns run. */
  readonly turns: () => number;
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
  const { bus, stores, questions, registry } = parts;
  const { terminal, manager } = parts.channels;
  let http: string | null = null;
  const info = (): AssistantInfo => ({
    version,
    pid: process.pid,
    home: paths.home,
    model: parts.model(),
    channels: { ...cleanHealth(manager.health(), redact), ...healthOfChannelsOff(base.config) },
    warnings: [...base.warnings, ...parts.troubles()],
    ...(base.further.shared === null ? {} : { agents: base.further.list() }),
    storage: storageLine(stores.journal.retention.last(), clock.now()),
    ...(base.stored.facts === undefined ? {} : { store: base.stored.facts() }),
    turns: parts.turns(),
    startedAt,
    voice: voiceText(base.config),
    speech: speechText(base.config),
    search: searchText(base.config, stores.search.meaning),
    http,
  });
  const local = new LocalAssistant({
    bus,
    clock,
    newId,
    terminal,
    approvals: questions,
    editorFiles: parts.editorFiles,
    editorMcp: parts.editorMcp,
    editors: stores.editors,
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
      pageLink: async () => {
        const link = parts.http.newLink?.() ?? null;
        if (link !== null) return { link };
        if (base.host !== null)
          throw new AppError(
            'http-off',
            'The page shows the main assistant alone. Talk to this one in a chat or a terminal.',
          );
        const remedy = base.serving
          ? 'Set gateway.ui to true, and restart it.'
          : `Stop it, then start: ${assistantCommand('gateway')}`;
        throw new AppError('http-off', `This assistant serves no page. ${remedy}`);
      },
      info: async () => ({ ...info(), transcription: hasServer(hearingServer(base.config)) }),
    },
    changed: (what) => parts.http.changed?.(what),
    audit: stores.audit,
    closing: parts.closing,
  });
  const redactFrame: RedactFrame = (line, { showsRuns }) => redact(line, showsRuns ? { knownBy: 'value' } : {});
  stack.use(
    await startControlServer({ path: paths.socket, version, assistant: local, log, clock, redact: redactFrame }),
  );
  if (base.servesHttp) {
    const health = (): Promise<HealthFacts> => local.request('health', {});
    const server = stack.use(await serveHttp(base, { ...parts, assistant: local, health }));
    http = server.address;
    parts.http.newLink = server.newLink;
    parts.http.changed = server.changed;
    parts.http.upload = (id) => uploaded(stores, id);
  }
  return local;
}
