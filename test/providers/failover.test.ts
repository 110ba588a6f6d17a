import { describe, expect, test } from 'vitest';
import {
  KEY_TROUBLES,
  withFailover,
  type Candidate,
  type FailoverOptions,
} from '../../src/core/providers/wrappers/failover.ts';
import type { ModelErrorKind, Provider } from '../../src/core/providers/provider.ts';
import { recordingLog } from '../support/recording-log.ts';
import { VirtualClock } from '../support/virtual-clock.ts';
import { endOf, errorOf, hear, HELLO } from './dialects.ts';
import { failing, failure, scripted, shownText, type Play, type ScriptedProvider } from './scripted-provider.ts';

interface Team {
  readonly provider: Provider;
  readonly clock: VirtualClock;
  readonly a: ScriptedProvider;
  readonly b: ScriptedProvider;
  readonly c: ScriptedProvider;
  readonly ask: () => Promise<string>;
}

/** Three models a/x, b/y, c/z in this order; `ask` says who answered, or how it failed. */
function team(a: readonly Play[], b: readonly Play[], c: readonly Play[], more: Partial<FailoverOptions> = {}): Team {
  const clock = new VirtualClock();
  const members = { a: scripted('a', a), b: scripted('b', b), c: scripted('c', c) };
  const candidate = (provider: Provider, model: string): Candidate => ({
    provider,
    providerName: provider.name,
    model,
  });
  const provider = withFailover([candidate(members.a, 'x'), candidate(members.b, 'y'), candidate(members.c, 'z')], {
    clock,
    ...more,
  });
  const ask = async (): Promise<string> => {
    const { last } = await hear(provider, HELLO);
    if (last.type === 'error') return last.kind;
    const by = last.response.answeredBy;
    return by === undefined ? 'first' : `${by.provider}/${by.model}`;
  };
  return { provider, clock, ...members, ask };
}

describe('who answers', () => {
  test('is the first, which is not worth a word', async () => {
    const { provider, ask, b } = team(['ok'], ['ok'], ['ok']);
    expect(await ask()).toBe('first');
    expect(provider.name).toBe('a');
    expect(b.requests).toHaveLength(0);
  });

  test.each<ModelErrorKind>(['rate-limit', 'overloaded', 'timeout', 'network', 'auth', 'quota', 'malformed'])(
    'is the next after an error of the key, the model or the server (%s)',
    async (kind) => {
      const { ask, b } = team([failing(kind)], ['ok'], ['ok']);
      expect(await ask()).toBe('b/y');
      expect(b.requests[0]?.model).toBe('y');
    },
  );

  test.each<ModelErrorKind>(['bad-request', 'context-overflow', 'unsupported-tool-choice', 'aborted'])(
    'is nobody after an error of the request, and nobody cools down (%s)',
    async (kind) => {
      const { ask, a, b } = team([failing(kind)], ['ok'], ['ok']);
      expect(await ask()).toBe(kind);
      expect(await ask()).toBe(kind);
      expect(a.requests).toHaveLength(2);
      expect(b.requests).toHaveLength(0);
    },
  );

  test('is asked when the first refuses the content, without a cooldown', async () => {
    const { ask, a, b } = team([failing('refusal')], ['ok', 'ok'], ['ok']);
    expect(await ask()).toBe('b/y');
    expect(await ask()).toBe('b/y');
    expect(a.requests).toHaveLength(2);
    expect(b.requests).toHaveLength(2);
  });

  test('is told by the last error when all fail', async () => {
    const { provider } = team([failing('auth')], [failing('quota')], [failing('overloaded', { status: 529 })]);
    expect(errorOf(await hear(provider, HELLO))).toEqual(failure('overloaded', { status: 529 }));
  });

  test('is said in the log and to those who watch', async () => {
    const log = recordingLog();
    const { provider } = team([failing('quota')], ['ok'], ['ok'], { log });
    const { events } = await hear(provider, HELLO);
    expect(events[0]).toMatchObject({ type: 'restart', waitMs: 0, message: 'a has no credit left; trying b/y' });
    expect(log.lines).toMatchObject([{ level: 'warn', fields: { from: 'a/x', to: 'b/y', kind: 'quota' } }]);
  });

  test('begins anew, so that no text is seen twice', async () => {
    const { provider } = team([{ said: 'Half an ans', fails: failure('network') }], ['A whole answer.'], ['ok']);
    expect(shownText((await hear(provider, HELLO)).events)).toBe('A whole answer.');
  });

  test('is nobody after a stop', async () => {
    const { provider, b } = team([{ hangs: true }], ['ok'], ['ok']);
    const stop = new AbortController();
    const heard = hear(provider, HELLO, { signal: stop.signal });
    stop.abort();
    expect(errorOf(await heard).kind).toBe('aborted');
    expect(b.requests).toHaveLength(0);
  });
});

describe('cooling down', () => {
  test('passes over what failed, for 30 s, then 1 min, then 5 min', async () => {
    const { ask, clock, a } = team([failing('overloaded')], ['ok'], ['ok']);
    let calls = 0;
    for (const ms of [30_000, 60_000, 300_000, 300_000]) {
      expect(await ask()).toBe('b/y');
      calls += 1;
      expect(a.requests).toHaveLength(calls);
      await clock.advance(ms - 1);
      await ask();
      expect(a.requests).toHaveLength(calls);
      await clock.advance(1);
    }
  });

  test('is forgotten after a success', async () => {
    const { ask, clock, a } = team([failing('network'), 'ok', failing('network'), 'ok'], ['ok'], ['ok']);
    expect(await ask()).toBe('b/y');
    await clock.advance(30_000);
    expect(await ask()).toBe('first');
    expect(await ask()).toBe('b/y');
    await clock.advance(30_000);
    expect(await ask()).toBe('first');
    expect(a.requests).toHaveLength(4);
  });

  test('of all asks the one that is free first, at once', async () => {
    const { ask, clock, a, b, c } = team([failing('auth')], [failing('auth'), 'ok'], [failing('auth')]);
    expect(await ask()).toBe('auth');
    await clock.advance(10_000);
    await ask();
    expect([a, b, c].map(({ requests }) => requests.length)).toEqual([2, 1, 1]);
    // The first cools anew; now the second is free first.
    expect(await ask()).toBe('b/y');
  });

  test('while it cools, a further failure is the same trouble', async () => {
    const { ask, clock, a } = team([failing('auth')], [failing('auth')], [failing('auth')]);
    for (let n = 0; n < 9; n += 1) await ask();
    await clock.advance(30_000);
    const before = a.requests.length;
    await ask();
    expect(a.requests).toHaveLength(before + 1);
  });
});

describe('keys of one model', () => {
  function keys(first: readonly Play[], second: readonly Play[]) {
    const clock = new VirtualClock();
    const one = scripted('p', first);
    const two = scripted('p', second);
    const provider = withFailover(
      [
        { provider: one, providerName: 'p', model: 'm', id: 'p#0/m' },
        { provider: two, providerName: 'p', model: 'm', id: 'p#1/m' },
      ],
      { clock, leaveOn: KEY_TROUBLES },
    );
    return { provider, one, two };
  }

  test.each<ModelErrorKind>(['rate-limit', 'auth', 'quota'])('replace each other at once (%s)', async (kind) => {
    const { provider, two } = keys([failing(kind)], ['ok']);
    const heard = await hear(provider, HELLO);
    expect(endOf(heard).response).not.toHaveProperty('answeredBy');
    expect(heard.events[0]).toMatchObject({ type: 'restart', message: expect.stringContaining('another key') });
    expect(two.requests).toHaveLength(1);
  });

  test('do not replace each other when the server fails, but the next attempt takes another', async () => {
    const { provider, one, two } = keys([failing('overloaded')], ['ok']);
    expect(errorOf(await hear(provider, HELLO)).kind).toBe('overloaded');
    expect(endOf(await hear(provider, HELLO)).stopReason).toBe('stop');
    expect([one, two].map(({ requests }) => requests.length)).toEqual([1, 1]);
  });
});

describe('reasoning', () => {
  const thinking = { ...HELLO, reasoning: 'high' } as const;

  test('stays on as long as one model writes the whole turn', async () => {
    const { provider, a } = team(['ok'], ['ok'], ['ok']);
    await hear(provider, thinking);
    await hear(provider, { ...thinking, turnModels: [{ provider: 'a', model: 'x' }] });
    expect(a.requests.map(({ reasoning }) => reasoning)).toEqual(['high', 'high']);
  });

  test('is off for a model that comes into a turn of another, and for all once two wrote in it', async () => {
    const { provider, clock, a, b } = team([failing('network'), 'ok'], ['ok'], ['ok']);
    await hear(provider, { ...thinking, turnModels: [{ provider: 'a', model: 'x' }] });
    await clock.advance(30_000);
    const both = [
      { provider: 'a', model: 'x' },
      { provider: 'b', model: 'y' },
    ];
    await hear(provider, { ...thinking, turnModels: both });
    expect(a.requests.map(({ reasoning }) => reasoning)).toEqual(['high', 'off']);
    expect(b.requests.map(({ reasoning }) => reasoning)).toEqual(['off']);
  });
});
