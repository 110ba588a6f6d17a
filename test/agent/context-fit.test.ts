import { describe, expect, test } from 'vitest';
import { ContextWindow, type Outline } from '../../src/core/agent/context/fit.ts';
import type { App } from '../../src/core/app.ts';
import { ContextWindows } from '../../src/core/providers/context-window-registry.ts';
import { LearnedFacts } from '../../src/core/providers/learned.ts';
import { Pricing } from '../../src/core/providers/pricing.ts';
import type { EntryDraft, TapeEntry } from '../../src/core/session/entry.ts';
import { Sessions } from '../../src/core/session/sessions.ts';
import type { Session } from '../../src/core/session/session.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { noUsage } from '../../src/core/util/token-usage.ts';
import { countingIds, plainTurn, result, assistant, turnStart, turnEnd, user } from '../session/tapes.ts';
import { problemsOf } from '../session/legality.ts';
import { PROGRAM } from '../support/extensions.ts';
import { appWith } from '../support/app-with.ts';
import { recordingLog } from '../support/recording-log.ts';
import { tempFolder } from '../support/temp.ts';

interface Scene extends AsyncDisposable {
  readonly session: Session;
  readonly learned: LearnedFacts;
  readonly context: ContextWindow;
  readonly log: ReturnType<typeof recordingLog>;
  outline(turn: string): Outline;
  trims(): readonly TapeEntry[];
}

async function scene(options: { readonly window: number; readonly maxOutputTokens?: number }): Promise<Scene> {
  const folder = await tempFolder();
  const log = recordingLog();
  const sessions = new Sessions({
    directory: folder.path,
    quarantine: folder.path,
    clock: systemClock,
    newId: countingIds(),
    log,
  });
  const session = await sessions.open('terminal:main');
  const pricing = new Pricing({ presets: PROGRAM.presets, models: {}, providers: {}, log });
  const learned = new LearnedFacts({ clock: systemClock });
  const windows = new ContextWindows({
    learned,
    pricing,
    most: options.window,
    ask: async () => null,
    clock: systemClock,
    log,
  });
  return {
    session,
    learned,
    log,
    context: new ContextWindow(
      appWith({ config: { agent: { maxOutputTokens: options.maxOutputTokens ?? 100 } } as App['config'], log }),
      windows,
    ),
    outline: (turnId) => ({ session, turnId, model: { provider: 'a', model: 'b' }, system: ['Be kind.'], tools: [] }),
    trims: () => session.window.filter(({ kind }) => kind === 'trim'),
    [Symbol.asyncDispose]: async () => {
      await sessions.close();
      await folder[Symbol.asyncDispose]();
    },
  };
}

const BIG = 'x'.repeat(3600);

function bigTurn(turn: string): readonly EntryDraft[] {
  return [
    turnStart(turn),
    user(turn, `question of ${turn}`),
    assistant(turn, '', [`${turn}.1`]),
    result(turn, `${turn}.1`, BIG),
    assistant(turn, 'answer'),
    turnEnd(turn, 'answer'),
  ];
}

const begin = (turn: string): readonly EntryDraft[] => [turnStart(turn), user(turn, 'and now?')];

describe('the context window', () => {
  test('leaves a session alone that fits', async () => {
    await using world = await scene({ window: 10_000 });
    await world.session.append([...bigTurn('t1'), ...begin('t2')]);
    expect(await world.context.fit(world.outline('t2'))).toBe(100);
    expect(world.trims()).toEqual([]);
  });

  test('goes down to 60% of the budget in one step, which stays until the budget is exceeded again', async () => {
    await using world = await scene({ window: 10_000 });
    const used = async (): Promise<number> => (await world.context.report(world.outline(''))).used;
    const budget = 10_000 - 100 - 200;
    let stepsBetween = 0;
    let last = 0;
    for (let n = 1; n <= 60; n += 1) {
      await world.session.append([...bigTurn(`t${n}`), ...begin(`u${n}`)]);
      const trims = world.trims().length;
      const before = await used();
      await world.context.fit(world.outline(`u${n}`));
      if (world.trims().length === trims && before <= budget) {
        expect(await used()).toBe(before);
        stepsBetween += 1;
      } else {
        expect(before).toBeGreaterThan(budget);
        expect(await used()).toBeLessThanOrEqual(0.6 * budget);
        expect(problemsOf(world.session.history().messages.map(({ message }) => message))).toEqual([]);
        last += 1;
      }
      await world.session.append([assistant(`u${n}`, 'done'), turnEnd(`u${n}`, 'done')]);
    }
    expect(last).toBeGreaterThan(5);
    expect(stepsBetween).toBeGreaterThan(2 * last);
  });

  test('is tightened to half of what was sent after a refusal, and stays below that from then on', async () => {
    await using world = await scene({ window: 100_000 });
    for (let n = 1; n <= 60; n += 1) await world.session.append(bigTurn(`t${n}`));
    await world.session.append(begin('now'));
    const { used } = await world.context.report(world.outline('now'));
    expect(await world.context.tighten(world.outline('now'))).toBe(true);
    const after = await world.context.report(world.outline('now'));
    expect(after.used).toBeLessThanOrEqual(used / 2);
    await world.session.append([assistant('now', 'ok'), turnEnd('now', 'ok')]);
    for (let n = 1; n <= 60; n += 1) {
      await world.session.append([...bigTurn(`v${n}`), ...begin(`w${n}`)]);
      await world.context.fit(world.outline(`w${n}`));
      expect((await world.context.report(world.outline(`w${n}`))).used).toBeLessThan(used);
      await world.session.append([assistant(`w${n}`, 'ok'), turnEnd(`w${n}`, 'ok')]);
    }
  });

  test('has nothing to tighten when there is only a question', async () => {
    await using world = await scene({ window: 100_000 });
    await world.session.append(begin('now'));
    expect(await world.context.tighten(world.outline('now'))).toBe(false);
    expect(world.trims()).toEqual([]);
  });

  test('gives an answer a quarter of a small window at most', async () => {
    await using world = await scene({ window: 4000, maxOutputTokens: 8192 });
    await world.session.append(begin('t1'));
    expect(await world.context.fit(world.outline('t1'))).toBe(1000);
  });

  test('measures by what the provider counted last', async () => {
    await using world = await scene({ window: 10_000 });
    await world.session.append([...bigTurn('t1'), ...begin('t2')]);
    const outline = world.outline('t2');
    const { used } = await world.context.report(outline);
    world.context.observe(outline, outline.model, { ...noUsage, input: 2 * used });
    expect((await world.context.report(outline)).used).toBe(2 * used);
  });

  test('warns once when the server counted far fewer tokens than were sent', async () => {
    await using world = await scene({ window: 100_000 });
    for (let n = 1; n <= 10; n += 1) await world.session.append(bigTurn(`t${n}`));
    const outline = world.outline('none');
    world.context.observe(outline, outline.model, { ...noUsage, input: 4096 });
    world.context.observe(outline, outline.model, { ...noUsage, input: 4096 });
    const warnings = world.log.lines.filter(({ level }) => level === 'warn');
    expect(warnings).toHaveLength(1);
    expect(warnings[0]?.message).toMatch(/silently.*models\."a\/b"\.contextWindow/u);
  });

  test('warns of a template that leaves out the tools where that explains the count, and not where it is known', async () => {
    await using world = await scene({ window: 100_000 });
    await world.session.append(bigTurn('t1'));
    const tool = { name: 'read_file', description: 'x'.repeat(20_000), parameters: {} };
    const outline = { ...world.outline('none'), tools: [tool] };
    const { used, tools } = await world.context.report(outline);
    world.learned.served(outline.model, { id: '1', hasTools: false });
    expect((await world.context.report(outline)).tools).toBeLessThan(2);
    world.context.observe(outline, outline.model, { ...noUsage, input: used - tools });
    expect(world.log.lines.filter(({ level }) => level === 'warn')).toEqual([]);
    world.learned.forget('a/b');
    world.context.observe(outline, outline.model, { ...noUsage, input: used - tools });
    const warnings = world.log.lines.filter(({ level }) => level === 'warn');
    expect(warnings.map(({ message }) => message)).toEqual([
      expect.stringMatching(
        /its chat template may leave out the tools .*, or its server may cut long prompts silently/u,
      ),
    ]);
  });

  test('of 2,000 messages: fitting is under 20 ms with a trim and under 1 ms without', async () => {
    await using world = await scene({ window: 10_000_000 });
    const drafts = Array.from({ length: 500 }, (_, n) => bigTurn(`t${n}`)).flat();
    await world.session.append([...drafts, ...begin('now')]);
    const outline = world.outline('now');
    expect(world.session.history().messages.length).toBeGreaterThanOrEqual(2000);
    await world.context.fit(outline);
    const idle = await fastest(50, () => world.context.fit(outline));
    expect(idle).toBeLessThan(1);

    await using small = await scene({ window: 100_000 });
    await small.session.append([...drafts, ...begin('now')]);
    small.session.history();
    const began = performance.now();
    await small.context.fit(small.outline('now'));
    const whole = performance.now() - began;
    expect(small.trims()).toHaveLength(1);
    // With the append and its fsync; a slow disk or neighbour may take its time.
    expect(whole).toBeLessThan(250);
  });
});

async function fastest(times: number, work: () => Promise<unknown>): Promise<number> {
  let best = Infinity;
  for (let n = 0; n < times; n += 1) {
    const began = performance.now();
    await work();
    best = Math.min(best, performance.now() - began);
  }
  return best;
}

test('a session without turns is reported too', async () => {
  await using world = await scene({ window: 1000 });
  await world.session.append(plainTurn('t1', 'hi', 'hello'));
  const { used, window, share } = await world.context.report(world.outline('t1'));
  expect([window, share]).toEqual([1000, used / 1000]);
});
