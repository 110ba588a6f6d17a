import { isOn, speechStateOf } from '../program.ts';
import { startControlServer } from '../gateway/control.ts';
import type { RedactFrame } from '../gateway/control-server.ts';
import type { AssistantInfo } from '../gateway/assistant-port.ts';
import { LocalAssistant } from '../gateway/local-assistant.ts';
import { fullName } from './models.ts';
import { searchText } from '../../app/memory/embedder.ts';
import { runToolOnce } from '../tools/outside-turn.ts';
import { assistantCommand } from '../util/assistant-command.ts';
import { AppError } from '../util/errors.ts';
import { switchedOff } from '../util/text.ts';
import type { App } from '../app.ts';
import type { Extension } from '../extension.ts';
import { OperationTable } from '../gateway/operations/call.ts';
import { uploaded } from '../../app/gateway/files.ts';
import { cleanHealth, healthOfChannelsOff } from './channels.ts';
import { serveHttp } from '../../app/gateway/http.ts';
import { troublesNow } from './health.ts';
import { storageLine } from './status.ts';

/**
 * The assistant for terminals, the control socket and programs; in a gateway for HTTP too, at `port` instead of the
 * configured one. The stack ends it all.
 */
export async function serve(app: App, port: number | undefined, stack: AsyncDisposableStack): Promise<LocalAssistant> {
  const { config, paths, clock, log, redact, version, startedAt } = app;
  let http: string | null = null;
  const info = (): AssistantInfo => ({
    version,
    pid: process.pid,
    home: paths.home,
    model: fullName(app.models.standard),
    channels: { ...cleanHealth(app), ...healthOfChannelsOff(config) },
    warnings: [...app.warnings, ...app.troubles(), ...troublesNow(app)],
    ...(app.further.shared === null ? {} : { agents: app.further.list() }),
    storage: storageLine(app.journal.retention.last(), clock.now()),
    ...(app.stored.facts === undefined ? {} : { store: app.stored.facts() }),
    turns: app.turns.running.length,
    startedAt,
    voice: speechStateOf(app).voice,
    speech: speechStateOf(app).speech,
    search: searchText(app, app.search.meaning),
    http,
  });
  const isOff = (one: Extension): boolean => !isOn(one, config);
  const off = app.program.extensions
    .filter(isOff)
    .flatMap(({ name, operations = [] }) => operations.map((one) => [one.name, `${switchedOff(name)}.`] as const));
  const operations = new OperationTable(
    app.plugins.running.flatMap((one) => one.operations ?? []),
    new Map(off),
  );
  const local = new LocalAssistant(app, {
    operations,
    info,
    runTool: async (call) => {
      const report = await runToolOnce(app.tools, call, { workspace: paths.workspace, newId: app.newId });
      return { ...report, reason: report.reason === null ? null : redact(report.reason) };
    },
    requests: {
      ...app.requests,
      pageLink: async () => {
        const link = app.http.newLink?.() ?? null;
        if (link !== null) return { link };
        if (app.host !== null)
          throw new AppError(
            'http-off',
            'The page shows the main assistant alone. Talk to this one in a chat or a terminal.',
          );
        const remedy = app.serving
          ? 'Set gateway.ui to true, and restart it.'
          : `Stop it, then start: ${assistantCommand('gateway')}`;
        throw new AppError('http-off', `This assistant serves no page. ${remedy}`);
      },
      info: async () => ({
        ...info(),
        transcription: speechStateOf(app).hears !== null,
        operations: operations.names,
      }),
    },
  });
  const redactFrame: RedactFrame = (line, { showsRuns }) => redact(line, showsRuns ? { knownBy: 'value' } : {});
  stack.use(
    await startControlServer({ path: paths.socket, version, assistant: local, log, clock, redact: redactFrame }),
  );
  if (app.servesHttp) {
    const server = stack.use(await serveHttp(app, { assistant: local, port }));
    http = server.address;
    app.http.newLink = server.newLink;
    app.http.changed = server.changed;
    app.http.upload = (id) => uploaded(app, id);
  }
  return local;
}
