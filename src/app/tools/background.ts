import { join } from 'node:path';
import { FROM } from '../../core/bus/messages.ts';
import { BackgroundProcesses } from '../../core/tools/exec/background.ts';
import type { App } from '../../core/app.ts';

/** The commands in the background, joined with the sessions that they wake and with /stop. */
export function createBackground(app: App): BackgroundProcesses {
  const { paths, clock, random, log, redact, newId, journal, spill, origins, people } = app;
  const processes = new BackgroundProcesses({
    outputs: (sessionKey) => spill.folder(sessionKey),
    records: join(paths.home, 'processes'),
    workspace: paths.workspace,
    reaches: (messageId) => journal.inbox.byId([messageId]).length > 0,
    wake: async ({ id, messageId, role: then, sessionKey, text, untrusted }) => {
      const [asked] = journal.inbox.byId([messageId]);
      if (asked === undefined) return;
      const { channel, account, chatId, chatType, threadId, sender } = asked;
      const role = people.roleNow({ channel, chatType, id: sender.id, chat: chatId }, then);
      if (role === null) {
        const why = 'the person who started it is no longer allowed';
        log.warn(`background: result of a command not reported, because ${why}`, { id });
        return;
      }
      await journal.inbox.acceptOwn({
        id: newId(),
        ...{ channel, account, chatId, chatType, threadId, sender, sessionKey, role },
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
    },
    withdraw: async ({ id, messageId }) => {
      const [asked] = journal.inbox.byId([messageId]);
      if (asked !== undefined) await journal.inbox.withdrawInternal({ ...asked, externalId: externalIdOf(id) });
    },
    redact,
    origins,
    clock,
    random,
    log,
  });
  journal.inbox.countsBackground((sessionKey) => processes.running(sessionKey));
  journal.inbox.onStop(({ stop, isWhole }) => {
    if (isWhole) void processes.stopSession(stop.sessionKey);
  });
  return processes;
}

function externalIdOf(id: string): string {
  return `process:${id}`;
}
