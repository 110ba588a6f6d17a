import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test } from 'vitest';
import type { InboundMessage, OutboundMessage } from '../../src/core/bus/messages.ts';
import { openJournal, type Journal } from '../../src/core/journal/journal.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { createIds } from '../../src/core/util/ids.ts';
import { systemRandom } from '../../src/core/util/random.ts';
import { inboundMessage } from '../support/inbound.ts';
import { tempFolder } from '../support/temp.ts';

const newId = createIds(systemClock, systemRandom);

async function open(folder: string): Promise<Journal> {
  return openJournal({ path: join(folder, 'state.db'), backupPath: null, clock: systemClock, newId });
}

async function begin(journal: Journal, id: string, message: InboundMessage, command = false): Promise<void> {
  await journal.inbox.accept([message]);
  await journal.turns.claim({ id, session: message.sessionKey, role: 'owner', messages: [message], command });
}

function saying(id: string, turnId: string, kind: OutboundMessage['kind']): OutboundMessage {
  return { id, turnId, kind, channel: 'telegram', chatId: '1', text: 'hi', media: [], metadata: {} };
}

const says = (journal: Journal): readonly string[] => journal.outbox.page(0, 100).map(({ message }) => message.text);
const states = (journal: Journal): readonly (readonly string[])[] =>
  journal.turns.open().map(({ id, state }) => [id, state]);

describe('/stop', () => {
  test('ends the children of a turn and their children, in whatever session they are', async () => {
    await using folder = await tempFolder();
    using journal = await open(folder.path);
    await begin(journal, 't1', inboundMessage());
    await begin(journal, 't2', inboundMessage({ chatId: 'child' }));
    await begin(journal, 't3', inboundMessage({ chatId: 'grandchild' }));
    await begin(journal, 't4', inboundMessage({ chatId: 'stranger' }));
    const db = new DatabaseSync(join(folder.path, 'state.db'));
    db.exec("UPDATE turns SET parent = 't1' WHERE id = 't2'; UPDATE turns SET parent = 't2' WHERE id = 't3'");
    db.close();
    await journal.inbox.accept([inboundMessage({ text: '/stop' })]);
    expect(states(journal)).toEqual([
      ['t1', 'stopping'],
      ['t2', 'stopping'],
      ['t3', 'stopping'],
      ['t4', 'running'],
    ]);
    expect(says(journal)).toEqual(['Stopped 3 tasks.']);
  });

  test('cancels answers of the session that were not sent, but no notice, and none of another session', async () => {
    await using folder = await tempFolder();
    using journal = await open(folder.path);
    for (const [id, chatId] of [
      ['a', '1'],
      ['b', '2'],
    ] as const) {
      await begin(journal, id, inboundMessage({ chatId }));
      const drafts = (['part', 'answer', 'notice'] as const).map((kind) => ({
        message: { ...saying(`${id}:${kind}`, id, kind), text: `${kind} of ${id}` },
        parts: [],
      }));
      await journal.turns.close(id, 'answered', drafts);
    }
    await journal.inbox.accept([inboundMessage({ text: 'stop' })]);
    expect(says(journal)).toEqual([
      'notice of a',
      'part of b',
      'answer of b',
      'notice of b',
      'Nothing was running; held back 2 replies not sent yet.',
    ]);
  });

  test('leaves a command that runs alone: its outcome is certain', async () => {
    await using folder = await tempFolder();
    using journal = await open(folder.path);
    await begin(journal, 'c', inboundMessage({ text: '/usage' }), true);
    await journal.inbox.accept([inboundMessage({ text: '/stop' })]);
    expect(states(journal)).toEqual([['c', 'running']]);
    expect(says(journal)).toEqual(['Nothing is running here.']);
  });

  test('that somebody forwarded is no request', async () => {
    await using folder = await tempFolder();
    using journal = await open(folder.path);
    await journal.inbox.accept([inboundMessage({ text: '/stop', untrusted: true })]);
    expect(journal.inbox.page(0, 10)).toHaveLength(1);
  });
});

describe('a message that interrupts', () => {
  test('ends what began before it and never its own turn or a later one', async () => {
    await using folder = await tempFolder();
    using journal = await open(folder.path);
    const [older, itself] = [inboundMessage(), inboundMessage()];
    await begin(journal, 't1', older);
    await begin(journal, 't2', itself);
    const ended = await journal.turns.interrupt(itself, { drop: false });
    expect(ended).toEqual({ turnIds: ['t1'], dropped: [] });
    expect(journal.turns.isStopping('t1')).toBe(true);
    expect(states(journal)).toEqual([
      ['t1', 'stopping'],
      ['t2', 'running'],
    ]);
  });

  test('drops the messages that wait before it when it is to, and those alone', async () => {
    await using folder = await tempFolder();
    using journal = await open(folder.path);
    const [before, itself, after, elsewhere] = [
      inboundMessage(),
      inboundMessage({ text: '/new' }),
      inboundMessage(),
      inboundMessage({ chatId: '2' }),
    ];
    await journal.inbox.accept([before, elsewhere, itself, after]);
    const { dropped } = await journal.turns.interrupt(itself, { drop: true });
    expect(dropped.map(({ id }) => id)).toEqual([before.id]);
    expect(journal.inbox.page(0, 10).map(({ message }) => message.id)).toEqual([elsewhere.id, itself.id, after.id]);
  });
});

describe('a turn that is run again', () => {
  test('takes the messages of the old one and closes its command, at once', async () => {
    await using folder = await tempFolder();
    using journal = await open(folder.path);
    const message = inboundMessage();
    await begin(journal, 't1', message);
    await journal.turns.close('t1', 'failed', []);
    await begin(journal, 't2', inboundMessage({ text: '/retry' }), true);
    expect(journal.turns.last(message.sessionKey)).toMatchObject({ id: 't1', outcome: 'failed', messages: [message] });
    await journal.turns.again({ id: 't3', session: message.sessionKey, role: 'owner', of: 't1', command: 't2' });
    expect(journal.turns.open()).toMatchObject([{ id: 't3', isCommand: false, messages: [message] }]);
  });
});

describe('the model of a session', () => {
  test('is kept until it is taken back', async () => {
    await using folder = await tempFolder();
    {
      using journal = await open(folder.path);
      expect(journal.settings.model('s')).toBeNull();
      await journal.settings.setModel('s', 'openai/one');
      await journal.settings.setModel('s', 'openai/two');
    }
    using journal = await open(folder.path);
    expect([journal.settings.model('s'), journal.settings.model('other')]).toEqual(['openai/two', null]);
    await journal.settings.setModel('s', null);
    expect(journal.settings.model('s')).toBeNull();
  });
});
