import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { HookRunner, type Hooks } from '../../src/agent/hooks/hooks.ts';
import { readAnswer } from '../../src/agent/questions/answers.ts';
import { Questions } from '../../src/agent/questions/questions.ts';
import { storageHealth } from '../support/healthy-storage.ts';
import { AgentLoop, type LoopPorts } from '../../src/agent/loop.ts';
import { CommandTable } from '../../src/agent/commands/table.ts';
import { newCommand } from '../../src/agent/commands/new.ts';
import { MessageBus } from '../../src/bus/bus.ts';
import { openJournal, type Journal } from '../../src/journal/journal.ts';
import { Slots } from '../../src/util/slots.ts';
import { systemClock } from '../../src/util/clock.ts';
import { createIds } from '../../src/util/ids.ts';
import { silentLog } from '../../src/util/log.ts';
import { systemRandom } from '../../src/util/random.ts';
import { inboundDraft } from '../support/inbound.ts';
import { tempFolder } from '../support/temp.ts';
import { settle } from '../support/virtual-clock.ts';
import { waitFor } from '../support/wait.ts';

interface LoopWorld extends AsyncDisposable {
  readonly loop: AgentLoop;
  readonly bus: MessageBus;
  readonly journal: Journal;
}

/** A loop over a real journal; turns end at its `admit` hook, so nothing behind that is needed. */
async function startLoop(admit: NonNullable<Hooks['admit']>): Promise<LoopWorld> {
  await using stack = new AsyncDisposableStack();
  const folder = stack.use(await tempFolder());
  const newId = createIds(systemClock, systemRandom);
  const path = join(folder.path, 'state.db');
  const journal = stack.use(
    await openJournal({ path, backupPath: null, clock: systemClock, newId, interpret: readAnswer }),
  );
  const bus = new MessageBus({ inbox: journal.inbox, outbox: journal.outbox, newId });
  const hooks = new HookRunner(silentLog);
  hooks.register('test', { admit });
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
    commands: new CommandTable({ commands: [newCommand({ resetSession: async () => {} })] }),
  };
  const loop = new AgentLoop(needed as LoopPorts);
  const running = loop.run();
  const owned = stack.move();
  return {
    loop,
    bus,
    journal,
    [Symbol.asyncDispose]: async () => {
      await loop.stop(100);
      bus.close();
      await running;
      await owned.disposeAsync();
    },
  };
}

describe('the loop', () => {
  test('holds one session and one page in memory while 10,000 messages wait in that session', async () => {
    const gate = Promise.withResolvers<void>();
    await using world = await startLoop(async () => {
      await gate.promise;
      return { type: 'deny', reason: 'no' };
    });
    const pages = vi.spyOn(world.journal.inbox, 'page');
    const batches = vi.spyOn(world.journal.inbox, 'waiting');
    for (let chat = 0; chat < 200; chat += 1) {
      const drafts = Array.from({ length: 50 }, () => inboundDraft({ chatId: String(chat), sessionKey: 'one' }));
      expect(new Set(await world.bus.publishInbound(...drafts))).toEqual(new Set(['accepted']));
    }
    const read = (): number => pages.mock.results.reduce((sum, { value }) => sum + value.length, 0);
    await waitFor(() => read() === 10_000, { what: 'every message was dispatched' });
    expect(world.journal.inbox.counts()).toEqual({ accepted: 10_000 });
    expect(world.loop.load).toEqual({ sessions: 1, aside: 0 });
    const longest = (results: readonly { value: unknown }[]): number =>
      Math.max(...results.map(({ value }) => (Array.isArray(value) ? value.length : Infinity)));
    expect(longest(pages.mock.results)).toBeLessThanOrEqual(128);
    expect(longest(batches.mock.results)).toBeLessThanOrEqual(11);
    await world.bus.publishInbound(inboundDraft({ chatId: 'stop', sessionKey: 'one', text: '/stop' }));
    expect(world.journal.inbox.counts()).toEqual({});
    gate.resolve();
    await waitFor(() => world.loop.load.sessions === 0, { what: 'nothing is held any more' });
  });

  test('forgets sessions that have nothing to do', async () => {
    await using world = await startLoop(() => ({ type: 'deny', reason: 'no' }));
    const drafts = Array.from({ length: 300 }, (_, n) => inboundDraft({ chatId: String(n) }));
    await world.bus.publishInbound(...drafts);
    await waitFor(() => world.journal.outbox.counts()['pending'] === 300, { what: '300 replies' });
    await waitFor(() => world.loop.load.sessions === 0);
    expect(world.loop.load).toEqual({ sessions: 0, aside: 0 });
  });

  test('runs no more than four commands at once, and none of them twice', async () => {
    await using world = await startLoop(() => undefined);
    const { turns } = world.journal;
    const claim = turns.claim.bind(turns);
    const running = { now: 0, most: 0 };
    const claims = vi.spyOn(turns, 'claim').mockImplementation(async (turn) => {
      running.now += 1;
      running.most = Math.max(running.most, running.now);
      await settle();
      running.now -= 1;
      return await claim(turn);
    });
    const drafts = Array.from({ length: 40 }, () => inboundDraft({ text: '/help' }));
    await world.bus.publishInbound(...drafts);
    await waitFor(() => world.journal.outbox.counts()['pending'] === 40, { what: '40 replies' });
    expect([claims.mock.calls.length, running.most]).toEqual([40, 4]);
    await waitFor(() => world.loop.load.aside === 0);
  });
});
