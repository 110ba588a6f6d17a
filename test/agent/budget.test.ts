import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { Budget, costOf, type BudgetLimits, type Spender } from '../../src/core/agent/context/budget.ts';
import { MessageBus } from '../../src/core/bus/bus.ts';
import type { InboundMessage } from '../../src/core/bus/messages.ts';
import type { App } from '../../src/core/app.ts';
import { openJournal, type Journal } from '../../src/core/journal/journal.ts';
import { Pricing } from '../../src/core/providers/pricing.ts';
import { createIds } from '../../src/core/util/ids.ts';
import { silentLog } from '../../src/core/util/log.ts';
import { systemRandom } from '../../src/core/util/random.ts';
import { noUsage } from '../../src/core/util/token-usage.ts';
import { stamp, turnStart } from '../session/tapes.ts';
import { PROGRAM } from '../support/extensions.ts';
import { appWith } from '../support/app-with.ts';
import { inboundMessage } from '../support/inbound.ts';
import { tempFolder } from '../support/temp.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

const NONE: BudgetLimits = {
  turnUsd: null,
  chatDayUsd: null,
  dayUsd: null,
  turnTokens: null,
  dayTokens: null,
  selfDayTokens: 1_000_000,
  guestDayTokens: null,
  jobTokens: 1_000_000,
};
const NOON = Date.UTC(2026, 4, 5, 12);
const MODEL = { provider: 'mine', model: 'm' };
/** A dollar for a million tokens, whichever. */
const PRICE = { input: 1, output: 1, cacheRead: 1, cacheWrite: 1 };

interface Scene extends Disposable {
  readonly journal: Journal;
  readonly clock: VirtualClock;
  readonly budget: Budget;
  /** Counts a call of so many tokens. */
  spend(by: Spender, tokens: number): Promise<void>;
  notices(): readonly string[];
}

async function open(
  folder: string,
  limits: Partial<BudgetLimits>,
  options: { unpriced?: boolean } = {},
): Promise<Scene> {
  const clock = new VirtualClock(NOON);
  const newId = createIds(clock, systemRandom);
  const journal = await openJournal({ path: join(folder, 'state.db'), backupPath: null, clock, newId });
  const pricing = new Pricing({
    presets: PROGRAM.presets,
    models: options.unpriced === true ? {} : { 'mine/m': { contextWindow: null, maxOutputTokens: null, price: PRICE } },
    providers: {},
    log: silentLog,
  });
  const app = appWith({
    program: PROGRAM,
    config: { agent: { budget: { ...NONE, ...limits }, timezone: 'UTC' } } as App['config'],
    journal,
    people: { ownersChat: () => undefined } as unknown as App['people'],
    bus: new MessageBus({ inbox: journal.inbox, outbox: journal.outbox, newId }),
    clock,
    log: silentLog,
  });
  const budget = new Budget(app, pricing);
  return {
    journal,
    clock,
    budget,
    spend: async (by, tokens) => {
      budget.record(by, MODEL, { ...noUsage, input: tokens });
      await new Promise((resolve) => setImmediate(resolve));
    },
    notices: () => journal.outbox.page(0, 100).map(({ message }) => message.text),
    [Symbol.dispose]: () => journal[Symbol.dispose](),
  };
}

function turn(turnId: string, overrides: Partial<InboundMessage> = {}): Spender {
  const message = inboundMessage(overrides);
  return { turnId, sessionKey: message.sessionKey, role: message.role, messages: [message], entries: [] };
}

const by = (turnId: string, origin: string): Spender => turn(turnId, { origin });

describe('a budget of one turn', () => {
  test.each([
    ['turnTokens', 1000, '1,000 tokens'],
    ['turnUsd', 0.001, '$0.0010'],
  ] as const)(
    '%s ends that turn with a sentence that names amount and key, and no other turn',
    async (key, limit, amount) => {
      await using folder = await tempFolder();
      using scene = await open(folder.path, { [key]: limit });
      await scene.spend(turn('t1'), 999);
      expect(await scene.budget.refusal(turn('t1'))).toBeNull();
      await scene.spend(turn('t1'), 1);
      expect(await scene.budget.refusal(turn('t1'))).toBe(
        `I stopped because the budget of one turn is used up: ${amount} of ${amount}. Raise \`agent.budget.${key}\` in the configuration.`,
      );
      expect(await scene.budget.refusal(turn('t2'))).toBeNull();
      expect(scene.notices()).toEqual([]);
    },
  );

  test('counts what the turn used before a crash', async () => {
    await using folder = await tempFolder();
    const spender = { ...turn('t1'), entries: stamp([turnStart('t1')]) };
    {
      using scene = await open(folder.path, {});
      await scene.spend(spender, 5000);
    }
    using scene = await open(folder.path, { turnTokens: 4000 });
    expect(await scene.budget.refusal(spender)).toMatch(/turnTokens/u);
    expect(costOf(scene.budget.spent(spender))).toBeCloseTo(0.005);
    expect(await scene.budget.refusal({ ...spender, turnId: 't2' })).toBeNull();
  });

  test('jobTokens is for scheduled jobs only', async () => {
    await using folder = await tempFolder();
    using scene = await open(folder.path, { jobTokens: 100 });
    await scene.spend(by('job', 'cron'), 100);
    await scene.spend(by('talk', 'user'), 100);
    expect(await scene.budget.refusal(by('job', 'cron'))).toMatch(/this job.*jobTokens/u);
    expect(await scene.budget.refusal(by('talk', 'user'))).toBeNull();
  });
});

describe('a budget of the day', () => {
  test.each([
    ['dayTokens', 1000],
    ['dayUsd', 0.001],
  ] as const)(
    '%s tells the owner once at 80%%, answers with a sentence at 100%%, and begins anew at midnight',
    async (key, limit) => {
      await using folder = await tempFolder();
      using scene = await open(folder.path, { [key]: limit });
      await scene.spend(turn('t1'), 799);
      expect(await scene.budget.refusal(turn('t2'))).toBeNull();
      expect(scene.notices()).toEqual([]);
      await scene.spend(turn('t2'), 101);
      expect(await scene.budget.refusal(turn('t3'))).toBeNull();
      expect(await scene.budget.refusal(turn('t4'))).toBeNull();
      expect(scene.notices()).toHaveLength(1);
      expect(scene.notices()[0]).toMatch(new RegExp(`^90% of today’s budget is used: .*agent\\.budget\\.${key}`, 'u'));
      await scene.spend(turn('t4'), 100);
      expect(await scene.budget.refusal(turn('t5'))).toMatch(
        new RegExp(`today’s budget is used up: .*${key}.*tomorrow`, 'u'),
      );
      await scene.clock.advance(12 * 3_600_000);
      expect(await scene.budget.refusal(turn('t6'))).toBeNull();
      expect(scene.notices()).toHaveLength(1);
    },
  );

  test('is told once a day also across a restart', async () => {
    await using folder = await tempFolder();
    for (const id of ['t1', 't2']) {
      using scene = await open(folder.path, { dayTokens: 10_000 });
      await scene.spend(turn(id), 4500);
      await scene.budget.refusal(turn(id));
      expect(scene.notices()).toHaveLength(id === 't1' ? 0 : 1);
    }
    using scene = await open(folder.path, { dayTokens: 10_000 });
    await scene.budget.refusal(turn('t3'));
    expect(scene.notices()).toHaveLength(1);
  });

  test('is told to the owner in a direct chat and to nobody else', async () => {
    await using folder = await tempFolder();
    using scene = await open(folder.path, { dayTokens: 1000 });
    await scene.spend(turn('t1'), 900);
    await scene.budget.refusal(turn('t2', { role: 'guest' }));
    await scene.budget.refusal(turn('t3', { chatType: 'group' }));
    expect(scene.notices()).toEqual([]);
    await scene.budget.refusal(turn('t4'));
    expect(scene.notices()).toHaveLength(1);
  });

  test('stops self-started work first', async () => {
    await using folder = await tempFolder();
    using scene = await open(folder.path, { dayTokens: 1000 });
    await scene.spend(turn('t1'), 960);
    expect(await scene.budget.refusal(by('h', 'heartbeat'))).toMatch(/dayTokens/u);
    expect(await scene.budget.refusal(by('c', 'cron'))).toMatch(/dayTokens/u);
    expect(await scene.budget.refusal(by('u', 'user'))).toBeNull();
    expect(await scene.budget.refusal(by('a', 'api'))).toBeNull();
    await scene.spend(turn('t1'), 40);
    expect(await scene.budget.refusal(by('u', 'user'))).toMatch(/dayTokens/u);
  });

  test('selfDayTokens counts cron, heartbeat and subagents together, and stops them alone', async () => {
    await using folder = await tempFolder();
    using scene = await open(folder.path, { selfDayTokens: 300 });
    await scene.spend(by('u', 'user'), 5000);
    await scene.spend(by('c', 'cron'), 100);
    await scene.spend(by('h', 'heartbeat'), 100);
    expect(await scene.budget.refusal(by('s', 'subagent'))).toBeNull();
    await scene.spend(by('s', 'subagent'), 100);
    expect(await scene.budget.refusal(by('s', 'subagent'))).toMatch(/selfDayTokens/u);
    expect(await scene.budget.refusal(by('u', 'user'))).toBeNull();
  });

  test('chatDayUsd holds for one chat', async () => {
    await using folder = await tempFolder();
    using scene = await open(folder.path, { chatDayUsd: 0.001 });
    await scene.spend(turn('t1', { chatId: '1' }), 1000);
    expect(await scene.budget.refusal(turn('t2', { chatId: '1' }))).toMatch(/this chat.*chatDayUsd/u);
    expect(await scene.budget.refusal(turn('t3', { chatId: '2' }))).toBeNull();
  });

  test('a guest is not told amounts and keys', async () => {
    await using folder = await tempFolder();
    using scene = await open(folder.path, { dayTokens: 1000 });
    await scene.spend(turn('t1'), 1000);
    expect(await scene.budget.refusal(turn('t2', { role: 'guest' }))).toBe(
      'I stopped because today’s budget is used up. The owner can raise it.',
    );
  });
});

test('a call of unknown price makes the cost of its turn unknown and counts for no budget in dollars', async () => {
  await using folder = await tempFolder();
  using scene = await open(folder.path, { dayUsd: 0.001 }, { unpriced: true });
  await scene.spend(turn('t1'), 1_000_000);
  expect(await scene.budget.refusal(turn('t1'))).toBeNull();
  expect(costOf(scene.budget.spent(turn('t1')))).toBeNull();
});

test('asking costs no query: 1,000 times over 50,000 calls in the journal in under a second', async () => {
  await using folder = await tempFolder();
  using scene = await open(folder.path, { dayTokens: 10 ** 12, dayUsd: 1000, chatDayUsd: 1000, turnUsd: 1000 });
  const row = { turnId: 'x', source: 'user', ...MODEL, usage: { ...noUsage, input: 1 }, costUsd: 0 };
  const rows = Array.from({ length: 50_000 }, (_, n) => scene.journal.usage.record({ ...row, session: `s${n % 50}` }));
  await Promise.all(rows);
  await scene.budget.refusal(turn('t'));
  const began = performance.now();
  for (let n = 0; n < 1000; n += 1) {
    scene.budget.record(turn('t'), MODEL, { ...noUsage, input: 1 });
    await scene.budget.refusal(turn('t'));
  }
  expect(performance.now() - began).toBeLessThan(1000);
  expect(scene.journal.usage.day(Date.UTC(2026, 4, 5)).total.calls).toBe(51_000);
});
