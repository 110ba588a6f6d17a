import { join } from 'node:path';
import { FROM, type InboundMessage } from '../../core/bus/messages.ts';
import { BackgroundProcesses, type Addressee } from '../../core/tools/exec/background.ts';
import type { App } from '../../core/app.ts';

/** The commands in the background, joined with the sessions that they wake and with /stop. */
export function createBackground(app: App): BackgroundProcesses {
  const { paths, clock, random, log, redact, newId, journal, spill, origins, people } = app;
  const processes = new BackgroundProcesses({
    outputs: (sessionKey) => spill.folder(sessionKey),
    records: join(paths.home, 'processes'),
    workspace: paths.workspace,
    addressee: (messageId) => {
      const [message] = journal.inbox.byId([messageId]);
      return message === undefined ? undefined : addresseeOf(message);
    },
    wake: async ({ id, addressee, text, untrusted }) => {
      const { threadId, sender, ...place } = addressee;
      const role = people.roleNow({ ...place, id: sender.id, chat: place.chatId }, place.role);
      if (role === null) {
        log.warn(
          'background: result of a command not reported, because the person who started it is no longer allowed',
          {
            id,
          },
        );
        return;
      }
      await journal.inbox.acceptOwn({
        id: newId(),
        ...place,
        role,
        ...(threadId === undefined ? {} : { threadId }),
        sender: senderOf(sender),
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
    withdraw: async ({ id, addressee }) => {
      await journal.inbox.withdrawInternal({ ...addressee, externalId: externalIdOf(id) });
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

function addresseeOf(message: InboundMessage): Addressee {
  const { channel, account, chatId, threadId, chatType, sender, role, sessionKey } = message;
  return { channel, account, chatId, threadId, chatType, sender: { ...sender }, role, sessionKey };
}

function senderOf({ id, name, username, isBot }: Addressee['sender']): InboundMessage['sender'] {
  return {
    id,
    ...(name === undefined ? {} : { name }),
    ...(username === undefined ? {} : { username }),
    isBot,
  };
}
