import { join } from 'node:path';
import { execEnvironment } from '../../core/api-commands.ts';
import { PAGE_MARGIN } from '../../core/api-tools.ts';
import { FROM, type App, type Contributions } from '../../core/api.ts';
import { BackgroundProcesses, type ProcessNews } from './background.ts';
import { createExecTool } from './exec.ts';
import { markChanged } from './landing.ts';
import { dropOldAllowances } from './old-allowances.ts';
import { processTool } from './process-tool.ts';

/** Opens the tools, and connects background commands to their sessions and to /stop. */
export async function openExec(app: App): Promise<Contributions> {
  const { config, paths, env, journal, spill, sandbox, files, redact, clock, random, log } = app;
  const { tools, agent } = config;
  const { mode } = tools.exec;
  const processes = new BackgroundProcesses({
    redact,
    clock,
    random,
    log,
    outputs: (sessionKey) => spill.folder(sessionKey),
    records: join(paths.home, 'processes'),
    workspace: paths.workspace,
    reaches: (messageId) => journal.inbox.byId([messageId]).length > 0,
    wake: (news) => wake(app, news),
    markChanged: async (folder, from) => {
      if (files.marks !== undefined) await markChanged(files.marks, folder, { from, to: clock.now() });
    },
    withdraw: async ({ id, messageId }) => {
      const [asked] = journal.inbox.byId([messageId]);
      if (asked !== undefined) await journal.inbox.withdrawInternal({ ...asked, externalId: externalIdOf(id) });
    },
  });
  journal.inbox.countsBackground((sessionKey) => processes.running(sessionKey));
  journal.inbox.onStop(({ stop, isWhole }) => {
    if (isWhole) void processes.stopSession(stop.sessionKey);
  });
  await processes.recover({ hasDied: journal.starts.unclean > 0 });
  const exec = createExecTool({
    ...tools.exec,
    workspace: paths.workspace,
    // A command outside of the sandbox that names the home around this one is asked about too.
    home: paths.host ?? paths.home,
    sandbox: mode === 'full' || mode === 'off' ? null : sandbox,
    readRoots: tools.readRoots,
    environment: execEnvironment(env, tools.exec.allowEnv),
    allowHosts: tools.web.allowHosts,
    isRemembered: (hash) => journal.allowances.has(hash),
    marks: files.marks,
    landing: app.landing,
    background: processes,
    clock,
  });
  return {
    tools: [exec, processTool({ processes, pageChars: agent.toolResultChars - PAGE_MARGIN, clock })],
    start: async () => {
      processes.tellLost();
      await dropOldAllowances(app);
    },
    close: () => processes[Symbol.asyncDispose](),
  };
}

/** Begins a turn of the session that started a command, unless its person may not be told any more. */
async function wake({ journal, people, log, newId, clock }: App, news: ProcessNews): Promise<void> {
  const { id, messageId, sessionKey, text, untrusted } = news;
  const [asked] = journal.inbox.byId([messageId]);
  if (asked === undefined) return;
  const { channel, account, chatId, chatType, threadId, sender } = asked;
  const place = { channel, account, chatId, chatType, threadId, sender };
  const role = people.roleNow({ ...place, id: sender.id, chat: chatId }, news.role);
  if (role === null) {
    const why = 'the person who started it is no longer allowed';
    log.warn(`background: result of a command not reported, because ${why}`, { id });
    return;
  }
  await journal.inbox.acceptOwn({
    id: newId(),
    ...place,
    sessionKey,
    role,
    text,
    media: [],
    mentioned: true,
    context: [],
    receivedAt: clock.now(),
    externalId: externalIdOf(id),
    origin: 'system',
    untrusted,
    metadata: { process: id, [FROM]: 'a command in the background' },
  });
}

function externalIdOf(id: string): string {
  return `process:${id}`;
}
