import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  Heartbeat,
  type HeartbeatGates,
  type LookAnswer,
  type LookFacts,
} from '../../src/extensions/heartbeat/heartbeat.ts';
import { Looks } from '../../src/extensions/heartbeat/looks.ts';
import type { App } from '../../src/core/app.ts';
import { openJournal, type Journal } from '../../src/core/journal/journal.ts';
import { createIds } from '../../src/core/util/ids.ts';
import { silentLog } from '../../src/core/util/log.ts';
import { systemRandom } from '../../src/core/util/random.ts';
import { appWith } from '../support/app-with.ts';
import { TABLES } from '../support/extensions.ts';
import { tempFolder } from '../support/temp.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const SKIP: LookAnswer = { action: 'skip', reason: 'nothing is due' };
const RUN: LookAnswer = { action: 'run', tasks: 'check the backup' };
const OPEN = '# Tasks\n- [ ] check the backup\n- [x] an old one\n';

/** Looks under a clock that the test moves; the model is a function. */
class HeartWorld implements AsyncDisposable {
  readonly clock = new VirtualClock(Date.UTC(2027, 2, 10, 7));
  readonly looks: LookFacts[] = [];
  readonly notices: { readonly id: string; readonly text: string }[] = [];
  answer: (facts: LookFacts) => LookAnswer = () => SKIP;
  settings = { everyMinutes: 30, activeHours: null as string | null, model: null as string | null };
  busy = (_sessions: readonly string[]): boolean => false;
  gates: Pick<HeartbeatGates, 'target' | 'budgetLeft' | 'fromStrangers'> = {
    target: () => ({
      channel: 'telegram',
      account: 'bot',
      chatId: '42',
      chatType: 'direct',
      sender: { id: '42', isBot: false },
      sessionKey: 'telegram:42',
    }),
    budgetLeft: async () => true,
    fromStrangers: async () => false,
  };
  heart!: Heartbeat;
  readonly #stack: AsyncDisposableStack;
  readonly #folder: string;
  readonly journal: Journal;

  private constructor(parts: { stack: AsyncDisposableStack; folder: string; journal: Journal }) {
    this.#stack = parts.stack;
    this.#folder = parts.folder;
    this.journal = parts.journal;
  }

  static async open(text?: string): Promise<HeartWorld> {
    await using stack = new AsyncDisposableStack();
    const folder = stack.use(await tempFolder()).path;
    await mkdir(join(folder, 'workspace'));
    const clock = new VirtualClock();
    const newId = createIds(clock, systemRandom);
    const journal = stack.use(
      await openJournal({ path: join(folder, 'state.db'), backupPath: null, clock, newId, tables: TABLES }),
    );
    const world = new HeartWorld({ folder, journal, stack: stack.move() });
    if (text !== undefined) await world.write(text);
    return world;
  }

  get path(): string {
    return join(this.#folder, 'workspace', 'HEARTBEAT.md');
  }

  write(text: string): Promise<void> {
    return writeFile(this.path, text);
  }

  async start(): Promise<void> {
    const { clock, journal } = this;
    const app = appWith({
      paths: { workspace: join(this.#folder, 'workspace') } as App['paths'],
      journal: {
        ...journal,
        turns: { isBusy: (sessions: readonly string[]) => this.busy(sessions) } as unknown as Journal['turns'],
      },
      clock,
      log: silentLog,
      newId: createIds(clock, systemRandom),
      settingsOf: (() => this.settings) as unknown as App['settingsOf'],
      zone: () => 'UTC',
    });
    this.heart = new Heartbeat(app, {
      ...this.gates,
      look: async (facts) => {
        this.looks.push(facts);
        return this.answer(facts);
      },
      tellOwner: async (id, text) => {
        if (!this.notices.some((one) => one.id === id)) this.notices.push({ id, text });
      },
    });
    const { heart } = this;
    clock.settled = async () => {
      await heart.look();
      await new Promise((resolve) => setImmediate(resolve));
    };
    await heart.start();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.heart.stop();
    await this.#stack.disposeAsync();
  }
}

async function beating(text?: string, change: (world: HeartWorld) => void = () => {}): Promise<HeartWorld> {
  const world = await HeartWorld.open(text);
  change(world);
  await world.start();
  return world;
}

describe('no model is asked', () => {
  test.each([
    ['without a file', undefined],
    ['of an empty file', ''],
    ['of headings, comments and checked boxes', '# Tasks\n<!-- - [ ] x -->\n- [x] done\n'],
  ])('%s, in 24 hours', async (_what, text) => {
    await using world = await beating(text);
    await world.clock.advance(24 * HOUR);
    expect(world.looks).toEqual([]);
    expect(world.heart.closed).toBe('nothing-open');
  });

  test('outside the hours, and within them it is', async () => {
    await using world = await beating(OPEN, (it) => (it.settings = { ...it.settings, activeHours: '08:00-09:00' }));
    await world.clock.advance(24 * HOUR);
    expect(world.looks.length).toBeGreaterThanOrEqual(1);
    expect(world.looks.length).toBeLessThanOrEqual(2);
    expect(world.looks.every(({ now }) => / 08:\d\d /u.test(now))).toBe(true);
  });

  test('where nobody can be told, and where the budget is spent', async () => {
    await using world = await beating(OPEN, (it) => (it.gates = { ...it.gates, target: () => null }));
    await world.clock.advance(6 * HOUR);
    expect(world.heart.closed).toBe('no-target');
    await using poor = await beating(OPEN, (it) => (it.gates = { ...it.gates, budgetLeft: async () => false }));
    await poor.clock.advance(6 * HOUR);
    expect(poor.heart.closed).toBe('budget');
    expect([...world.looks, ...poor.looks]).toEqual([]);
  });

  test('while a conversation is going on; afterwards it is, within a minute', async () => {
    let busy = true;
    const asked: (readonly string[])[] = [];
    await using world = await beating(OPEN, (it) => {
      it.busy = (sessions) => asked.push(sessions) > 0 && busy;
    });
    await world.clock.advance(3 * HOUR);
    expect(world.looks).toEqual([]);
    expect(asked[0]).toEqual(['heartbeat', 'telegram:42']);
    busy = false;
    await world.clock.advance(MINUTE);
    expect(world.looks).toHaveLength(1);
  });
});

describe('the interval', () => {
  test('lies between two questions, whatever wakes it', async () => {
    await using world = await beating(OPEN);
    for (let minute = 0; minute < 8 * 60; minute += 1) {
      await world.clock.advance(MINUTE);
      for (let n = 0; n < 3; n += 1) await world.heart.look();
    }
    expect(world.looks).toHaveLength(16);
    const gaps = world.looks.slice(1).map(({ at }, n) => at - (world.looks[n]?.at ?? 0));
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(30 * MINUTE);
  });

  test('goes on over restarts, however many', async () => {
    await using world = await beating(OPEN);
    await world.clock.advance(2 * MINUTE);
    expect(world.looks).toHaveLength(1);
    for (let n = 0; n < 20; n += 1) {
      await world.heart.stop();
      await world.start();
      await world.clock.advance(MINUTE);
    }
    expect(world.looks).toHaveLength(1);
    await world.clock.advance(10 * MINUTE);
    expect(world.looks).toHaveLength(2);
  });

  test('counts from the question, not from its answer: a process that died meanwhile does not ask again at once', async () => {
    await using world = await beating(OPEN, (it) => {
      it.answer = () => {
        throw new Error('killed');
      };
    });
    await world.clock.advance(2 * MINUTE);
    await world.heart.stop();
    await world.start();
    await world.clock.advance(20 * MINUTE);
    expect(world.looks).toHaveLength(1);
    expect(new Looks(world.journal).newest(1)).toMatchObject([{ action: 'failed' }]);
  });

  test('is not stretched by a machine that slept, nor by a clock that was put back', async () => {
    await using world = await beating(OPEN);
    await world.clock.advance(2 * MINUTE);
    world.clock.jump(8 * HOUR);
    await world.clock.advance(2 * MINUTE);
    expect(world.looks).toHaveLength(2);
    world.clock.jump(-5 * HOUR);
    await world.clock.advance(32 * MINUTE);
    expect(world.looks).toHaveLength(3);
    await world.heart.stop();
    await world.start();
    await world.clock.advance(31 * MINUTE);
    expect(world.looks).toHaveLength(4);
  });
});

describe('what is due', () => {
  test('becomes one turn of the owner’s in the session of heartbeats, and is told to the next look', async () => {
    await using world = await beating(OPEN, (it) => {
      it.answer = () => RUN;
      it.settings = { ...it.settings, model: 'openai/small' };
    });
    await world.clock.advance(2 * MINUTE);
    const [queued] = world.journal.inbox.page(0, 10);
    expect(queued?.message).toMatchObject({
      sessionKey: 'heartbeat',
      origin: 'heartbeat',
      role: 'owner',
      channel: 'telegram',
      chatId: '42',
      metadata: { model: 'openai/small', taint: { untrusted: false, private: true } },
    });
    expect(queued?.message.text).toContain('\n\ncheck the backup\n\n');
    expect(world.looks[0]).toMatchObject({ tasks: '- [ ] check the backup', before: null });
    await world.clock.advance(31 * MINUTE);
    expect(world.looks[1]?.before).toMatch(/^Wed 2027-03-10 07:01 \(UTC\): check the backup$/u);
  });

  test('is marked where strangers had a part in the file', async () => {
    await using world = await beating(OPEN, (it) => {
      it.answer = () => RUN;
      it.gates = { ...it.gates, fromStrangers: async (text) => text === OPEN };
    });
    await world.clock.advance(2 * MINUTE);
    expect(world.journal.inbox.page(0, 1)[0]?.message.metadata['taint']).toEqual({ untrusted: true, private: true });
  });
});

test('three refusals in a row pause it and are told once; once a day it tries again, and goes on when it may', async () => {
  let refuses = true;
  await using world = await beating(OPEN, (it) => {
    it.answer = () => (refuses ? { action: 'refused', reason: 'the key is wrong' } : SKIP);
  });
  await world.clock.advance(4 * HOUR);
  expect(world.looks).toHaveLength(3);
  expect(world.notices).toMatchObject([{ text: expect.stringContaining('refused 3 times (the key is wrong)') }]);
  for (let n = 0; n < 3; n += 1) {
    await world.heart.stop();
    await world.start();
    await world.clock.advance(HOUR);
  }
  expect(world.looks).toHaveLength(3);
  const restDay = async (): Promise<void> => {
    world.clock.jump(23 * HOUR);
    await world.clock.advance(2 * HOUR);
  };
  for (let days = 1; days <= 3; days += 1) {
    await restDay();
    expect(world.looks).toHaveLength(3 + days);
  }
  expect(world.notices).toHaveLength(1);
  refuses = false;
  await restDay();
  const before = world.looks.length;
  await world.clock.advance(HOUR);
  expect(world.looks.length - before).toBe(2);
  refuses = true;
  await world.clock.advance(3 * HOUR);
  expect(world.notices).toHaveLength(2);
});

test('a failure that is no refusal pauses nothing', async () => {
  await using world = await beating(OPEN, (it) => {
    it.answer = () => ({ action: 'failed', reason: 'no network' });
  });
  await world.clock.advance(5 * HOUR);
  expect(world.looks).toHaveLength(10);
  expect(world.notices).toEqual([]);
});
