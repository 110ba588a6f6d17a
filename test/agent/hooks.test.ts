import { describe, expect, test } from 'vitest';
import { HookRunner, type Hooks } from '../../src/agent/hooks/hooks.ts';
import { silentLog } from '../../src/util/log.ts';
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

  test('a guard that answers what is no decision denies', async () => {
    const odd = (): never => JSON.parse('{"type":"allow"}') as never;
    const guard = runner(['g', { beforeTool: odd }, { guard: true }]);
    const call = { name: 'exec', arguments: '{}' };
    expect(await guard.decide('beforeTool', call, (hook, value) => hook.beforeTool?.(facts, value))).toMatchObject({
      denied: expect.stringContaining('guard g failed'),
    });
    expect(guard.troubles()).toEqual([expect.stringContaining('The hook beforeTool of the plugin "g" failed')]);
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
