import { once } from 'node:events';
import { describe, expect, test, vi } from 'vitest';
import { newCommand } from '../../src/core/agent/commands/new.ts';
import type { Hooks } from '../../src/core/agent/hooks/hooks.ts';
import { inboundDraft } from '../support/inbound.ts';
import { startLoop, type LoopWorld } from '../support/loop-world.ts';
import { settle } from '../support/virtual-clock.ts';
import { waitFor } from '../support/wait.ts';

/** Turns end at their `admit` hook, so nothing behind that is needed. */
const loopWith = (admit: NonNullable<Hooks['admit']>): Promise<LoopWorld> =>
  startLoop({ admit, commands: [newCommand({ resetSession: async () => {} })] });

describe('the loop', () => {
  test('holds one session and one page in memory while 10,000 messages wait in that session', async () => {
    const gate = Promise.withResolvers<void>();
    await using world = await loopWith(async () => {
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

  test('that is abandoned, because its start failed, ends what recovery holds and begins nothing', async () => {
    await using world = await loopWith(() => ({ type: 'deny', reason: 'no' }));
    world.loop.hold('one', (signal) => once(signal, 'abort').then(() => {}));
    await world.bus.publishInbound(inboundDraft({ chatId: '1', sessionKey: 'one' }));
    expect(world.loop.load.sessions).toBe(1);
    world.loop.abandon();
    await waitFor(() => world.loop.load.sessions === 0);
    expect(world.journal.inbox.counts()).toEqual({ accepted: 1 });
  });

  test('forgets sessions that have nothing to do', async () => {
    await using world = await loopWith(() => ({ type: 'deny', reason: 'no' }));
    const drafts = Array.from({ length: 300 }, (_, n) => inboundDraft({ chatId: String(n) }));
    await world.bus.publishInbound(...drafts);
    await waitFor(() => world.journal.outbox.counts()['pending'] === 300, { what: '300 replies' });
    await waitFor(() => world.loop.load.sessions === 0);
    expect(world.loop.load).toEqual({ sessions: 0, aside: 0 });
  });

  test('begins no more than 64 turns at once, and a subagent, for which its parent waits, all the same', async () => {
    const gates: PromiseWithResolvers<void>[] = [];
    await using world = await startLoop({
      admit: () => undefined,
      runner: {
        running: [],
        stop: () => false,
        run: async () => {
          const gate = Promise.withResolvers<void>();
          gates.push(gate);
          await gate.promise;
        },
      },
    });
    await world.bus.publishInbound(...Array.from({ length: 70 }, (_, n) => inboundDraft({ chatId: String(n) })));
    await waitFor(() => gates.length >= 64, { what: '64 turns' });
    await settle();
    expect([gates.length, world.journal.inbox.counts()['accepted']]).toEqual([64, 6]);
    await world.bus.publishInbound(inboundDraft({ origin: 'subagent', chatId: 'task' }));
    await waitFor(() => gates.length === 65, { what: 'the turn of the subagent' });
    for (const gate of gates) gate.resolve();
    await waitFor(() => gates.length === 71, { what: 'the other turns' });
    for (const gate of gates) gate.resolve();
    await waitFor(() => world.loop.load.sessions === 0);
  });

  test('runs no more than four commands at once, and none of them twice', async () => {
    await using world = await loopWith(() => undefined);
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
