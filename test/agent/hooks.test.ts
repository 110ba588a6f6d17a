import { describe, expect, test } from 'vitest';
import { sentenceOf } from '../../src/core/util/finding.ts';
import { HookRunner, type Hooks } from '../../src/core/agent/hooks/hooks.ts';
import { silentLog } from '../../src/core/util/log.ts';
import { inboundDraft, inboundMessage } from '../support/inbound.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

function runner(...all: (readonly [string, Hooks, { guard?: boolean }?])[]): HookRunner {
  const hooks = new HookRunner(silentLog);
  for (const [owner, registered, options] of all) hooks.register(owner, registered, options);
  return hooks;
}

const facts = { turnId: 'T', sessionKey: 's', messages: [inboundMessage()] };
const boom = (): never => {
  throw new Error('boom');
};

describe('hooks', () => {
  test('the first answer wins for session, prompt and model, later-registered hooks first', async () => {
    const hooks = runner(
      ['early', { session: () => 'early', model: () => 'early/model' }],
      ['late', { session: () => 'late', model: () => undefined }],
    );
    expect(hooks.session(inboundDraft())).toBe('late');
    expect(await hooks.first('model', (hook) => hook.model?.(facts))).toBe('early/model');
  });

  test('a session or a state that is none is passed over, and reported', async () => {
    const odd = (): never => JSON.parse('7') as never;
    const hooks = runner(['a', { session: odd, loadState: odd }], ['b', { loadState: () => ({ b: 1 }) }]);
    expect(hooks.session(inboundDraft())).toBeUndefined();
    expect(await hooks.loadState(facts)).toEqual({ b: 1 });
    expect(hooks.findings().map(sentenceOf)).toEqual([
      expect.stringContaining('The hook session of the plugin "a" failed'),
      expect.stringContaining('The hook loadState of the plugin "a" failed'),
    ]);
  });

  test('what admit made of the last 512 messages is kept, so that none is shown twice with the same words', async () => {
    const shown: string[] = [];
    const hooks = runner(['a', { admit: ({ id }) => void shown.push(id) }]);
    const admit = (id: number, text = 'hi'): Promise<unknown> =>
      hooks.admit({ ...inboundMessage(), id: `${id}`, text });
    for (let id = 0; id < 512; id += 1) await admit(id);
    await admit(0);
    expect(shown).toHaveLength(512);
    await admit(1, 'hi, edited');
    await admit(2);
    expect(shown.slice(512)).toEqual(['1']);
    for (let id = 600; id < 1_112; id += 1) await admit(id);
    await admit(2);
    expect(shown.at(-1)).toBe('2');
  });

  test('an answer of prompt or model that the stage cannot take is passed over, and reported', async () => {
    const odd = JSON.parse('7') as string;
    const hooks = runner(['early', { model: () => 'early/model' }], ['late', { model: () => odd }]);
    expect(await hooks.first('model', (hook) => hook.model?.(facts))).toBe('early/model');
    expect(hooks.findings().map(sentenceOf)).toEqual([
      expect.stringContaining('The hook model of the plugin "late" failed'),
    ]);
  });

  test('deciding hooks run in order, each seeing what the one before made of it', async () => {
    const hooks = runner(
      ['a', { render: (_turn, text) => ({ type: 'replace', value: `${text}a` }) }],
      ['b', { render: (_turn, text) => ({ type: 'replace', value: `${text}b` }) }],
    );
    expect(await hooks.decide('render', 'x', (hook, value) => hook.render?.(facts, value))).toEqual({ value: 'xab' });
  });

  test('the first denial ends the stage', async () => {
    const hooks = runner(['a', { admit: () => ({ type: 'deny', reason: 'no' }) }], ['b', { admit: boom }]);
    expect(await hooks.decide('admit', inboundMessage(), (hook, value) => hook.admit?.(value))).toEqual({
      denied: 'no',
      by: 'a',
    });
  });

  test('an ordinary hook that throws is skipped, a guard that throws denies', async () => {
    const ordinary = runner(['a', { beforeTool: boom }]);
    const guard = runner(['g', { beforeTool: boom }, { guard: true }]);
    const call = { name: 'exec', arguments: '{}' };
    expect(await ordinary.decide('beforeTool', call, (hook, value) => hook.beforeTool?.(facts, value))).toEqual({
      value: call,
    });
    expect(await guard.decide('beforeTool', call, (hook, value) => hook.beforeTool?.(facts, value))).toMatchObject({
      denied: expect.stringContaining('guard g failed'),
    });
  });

  test('a hook that never answers is skipped after 30 seconds, a guard denies, and each is told once', async () => {
    const clock = new VirtualClock();
    const hooks = new HookRunner(silentLog, clock);
    const told: string[] = [];
    hooks.onHung((sentence) => told.push(sentence));
    const never = (): Promise<never> => new Promise(() => {});
    hooks.register('slow', { beforeTool: never, prompt: never, turnEnd: never });
    const call = { name: 'exec', arguments: '{}' };
    const decide = (): ReturnType<typeof hooks.decide<typeof call>> =>
      hooks.decide('beforeTool', call, (hook, value) => hook.beforeTool?.(facts, value));
    for (let n = 0; n < 2; n += 1) {
      const decided = decide();
      await clock.advance(30_000);
      expect(await decided).toEqual({ value: call });
    }
    expect(told).toEqual([expect.stringContaining('The plugin "slow" did not answer within 30 seconds')]);
    const prompt = hooks.first('prompt', (hook) => hook.prompt?.(facts, []));
    await clock.advance(30_000);
    expect(await prompt).toBeUndefined();
    hooks.register('wall', { beforeTool: never }, { guard: true });
    const refused = decide();
    await clock.advance(60_000);
    expect(await refused).toMatchObject({ denied: expect.stringContaining('guard wall failed') });
    expect(told).toHaveLength(3);
  });

  test.each(['an object', 'a function'])('%s with a `then` has 30 seconds like any promise', async (kind) => {
    const clock = new VirtualClock();
    const hooks = new HookRunner(silentLog, clock);
    const own = (then: unknown): Promise<never> => {
      const answer = kind === 'an object' ? {} : () => {};
      Reflect.set(answer, 'then', then);
      return answer as unknown as Promise<never>;
    };
    const never = own(() => {});
    const later = own((done: (decision: unknown) => void) => done({ type: 'deny', reason: 'later' }));
    hooks.register('own promises', { beforeTool: () => never }, { guard: true });
    const call = { name: 'exec', arguments: '{}' };
    const decided = hooks.decide('beforeTool', call, (hook, value) => hook.beforeTool?.(facts, value));
    await clock.advance(30_000);
    expect(await decided).toMatchObject({ denied: expect.stringContaining('guard own promises failed') });
    const answers = runner(['a', { beforeTool: () => later }]);
    expect(await answers.decide('beforeTool', call, (hook, value) => hook.beforeTool?.(facts, value))).toEqual({
      denied: 'later',
      by: 'a',
    });
  });

  test('a guard that answers what is no decision denies', async () => {
    const odd = (): never => JSON.parse('{"type":"allow"}') as never;
    const guard = runner(['g', { beforeTool: odd }, { guard: true }]);
    const call = { name: 'exec', arguments: '{}' };
    expect(await guard.decide('beforeTool', call, (hook, value) => hook.beforeTool?.(facts, value))).toMatchObject({
      denied: expect.stringContaining('guard g failed'),
    });
    expect(guard.findings().map(sentenceOf)).toEqual([
      expect.stringContaining('The hook beforeTool of the plugin "g" failed'),
    ]);
  });

  test('state of several hooks is merged, and saved also when one of them throws', async () => {
    const saved: unknown[] = [];
    const hooks = runner(
      ['a', { loadState: () => ({ a: 1 }), saveState: boom }],
      ['b', { loadState: boom }],
      ['c', { loadState: () => ({ c: 3 }), saveState: (_turn, state) => void saved.push(state) }],
    );
    const state = await hooks.loadState(facts);
    await hooks.saveState(facts, state);
    expect([state, saved]).toEqual([{ a: 1, c: 3 }, [{ a: 1, c: 3 }]]);
  });

  test('a hook that was disposed is not called any more', async () => {
    const hooks = new HookRunner(silentLog);
    hooks.register('gone', { session: () => 'gone' })[Symbol.dispose]();
    expect(hooks.session(inboundDraft())).toBeUndefined();
  });
});
