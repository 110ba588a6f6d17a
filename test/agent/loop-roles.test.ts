import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { Questions } from '../../src/agent/questions/questions.ts';
import { CommandTable } from '../../src/agent/commands/table.ts';
import { HookRunner, type Hooks } from '../../src/agent/hooks/hooks.ts';
import { storageHealth } from '../support/healthy-storage.ts';
import { AgentLoop, type LoopPorts } from '../../src/agent/loop.ts';
import { MessageBus } from '../../src/bus/bus.ts';
import type { InboundDraft, Role } from '../../src/bus/messages.ts';
import { openJournal } from '../../src/journal/journal.ts';
import { Slots } from '../../src/util/slots.ts';
import { systemClock } from '../../src/util/clock.ts';
import { createIds } from '../../src/util/ids.ts';
import { silentLog } from '../../src/util/log.ts';
import { systemRandom } from '../../src/util/random.ts';
import { inboundDraft } from '../support/inbound.ts';
import { tempFolder } from '../support/temp.ts';
import { waitFor } from '../support/wait.ts';

/** The role of the turn that these messages begin together. */
async function roleOf(
  drafts: readonly InboundDraft[],
  admit: NonNullable<Hooks['admit']>,
  replied?: (text: string) => unknown,
): Promise<Role | undefined> {
  await using folder = await tempFolder();
  const newId = createIds(systemClock, systemRandom);
  const path = join(folder.path, 'state.db');
  using journal = await openJournal({ path, backupPath: null, clock: systemClock, newId });
  const hooks = new HookRunner(silentLog);
  hooks.register('test', { admit });
  const bus = new MessageBus({ inbox: journal.inbox, outbox: journal.outbox, newId });
  const { turns } = journal;
  const claim = turns.claim.bind(turns);
  const roles: Role[] = [];
  vi.spyOn(turns, 'claim').mockImplementation(async (turn) => {
    roles.push(turn.role);
    const claimed = await claim(turn);
    // As if another had taken it: what is behind is not needed for the role.
    return replied === undefined ? [] : claimed;
  });
  const needed: Partial<LoopPorts> = {
    bus,
    journal,
    hooks,
    newId,
    storage: storageHealth(systemClock),
    clock: systemClock,
    log: silentLog,
    whenBusy: 'steer',
    bursts: { debounceMs: 0, groupDebounceMs: () => 0 },
    slots: new Slots(4),
    audit: async () => {},
    questions: new Questions({
      ledger: journal.questions,
      allowances: journal.allowances,
      clock: systemClock,
      random: systemRandom,
      mask: (text) => text,
      redact: (text) => text,
      messages: () => 1,
      attach: async () => null,
      closed: () => {},
      reaches: () => true,
    }),
    render: () => [],
    redact: (text) => text,
    commands: new CommandTable({ commands: [] }),
  };
  const loop = new AgentLoop(needed as LoopPorts);
  const running = loop.run();
  await bus.publishInbound(...drafts);
  await waitFor(() => roles.length > 0);
  if (replied !== undefined) {
    await waitFor(() => journal.outbox.page(0, 1).length > 0, { timeoutMs: 3_000, what: 'a reply' });
    for (const { message } of journal.outbox.page(0, 10)) replied(message.text);
  }
  await loop.stop(100);
  bus.close();
  await running;
  return roles[0];
}

const asTheyAre: NonNullable<Hooks['admit']> = () => undefined;

test('a turn has the role of whoever began it', async () => {
  expect(await roleOf([inboundDraft({ role: 'owner' })], asTheyAre)).toBe('owner');
  expect(await roleOf([inboundDraft({ role: 'guest' })], asTheyAre)).toBe('guest');
});

test('words of the owner that come with those of a guest do not raise the turn', async () => {
  const drafts = [inboundDraft({ role: 'guest' }), inboundDraft({ role: 'owner' })];
  expect(await roleOf(drafts, asTheyAre)).toBe('guest');
});

test('a plugin that takes rights away from a message takes them from its turn', async () => {
  const lowered: NonNullable<Hooks['admit']> = (message) => ({
    type: 'replace',
    value: { ...message, role: 'guest' },
  });
  expect(await roleOf([inboundDraft({ role: 'owner' })], lowered)).toBe('guest');
});

test('a plugin does not give a turn more rights than its message had', async () => {
  const raised: NonNullable<Hooks['admit']> = (message) => ({ type: 'replace', value: { ...message, role: 'owner' } });
  expect(await roleOf([inboundDraft({ role: 'guest' })], raised)).toBe('guest');
});

test('a message that a plugin refuses gets no turn: the reply is the reason', async () => {
  const replies: string[] = [];
  const refused: NonNullable<Hooks['admit']> = () => ({ type: 'deny', reason: 'not on a Sunday' });
  await roleOf([inboundDraft({})], refused, (text) => replies.push(text));
  expect(replies).toEqual(['not on a Sunday']);
});
