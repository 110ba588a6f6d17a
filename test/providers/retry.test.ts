import { describe, expect, test } from 'vitest';
import type { ModelErrorKind, ModelEvent, Provider } from '../../src/core/providers/provider.ts';
import { withRetry } from '../../src/core/providers/wrappers/retry.ts';
import { recordingLog } from '../support/recording-log.ts';
import { settle, VirtualClock } from '../support/virtual-clock.ts';
import { endOf, errorOf, hear, HELLO } from './dialects.ts';
import { failing, failure, scripted, shownText } from './scripted-provider.ts';

const random = (fraction: number) => ({ bytes: (length: number) => new Uint8Array(length), fraction: () => fraction });

/** Runs a call to its end under virtual time; `waited` are the pauses that were announced. */
async function run(provider: Provider, fraction = 0) {
  const clock = new VirtualClock();
  const heard = await hear(withRetry(provider, { clock, random: random(fraction) }), HELLO, {
    onEvent: (event) => {
      if (event.type === 'restart') void clock.advance(event.waitMs);
    },
  });
  const waited = heard.events.flatMap((event) => (event.type === 'restart' ? [event.waitMs] : []));
  return { heard, waited };
}

describe('a call that fails for a passing reason', () => {
  test.each<ModelErrorKind>(['rate-limit', 'overloaded', 'timeout', 'network'])('is repeated (%s)', async (kind) => {
    const provider = scripted('p', [failing(kind), 'fine']);
    const { heard } = await run(provider);
    expect(endOf(heard).response.content).toEqual([{ type: 'text', text: 'fine' }]);
    expect(provider.requests).toHaveLength(2);
  });

  test('is repeated every 3 s while the server loads its model, for five minutes', async () => {
    const loading = failing('overloaded', { status: 503, about: 'loading' });
    const soon = scripted('p', [...Array.from({ length: 30 }, () => loading), 'fine']);
    const { heard, waited } = await run(soon);
    expect(heard.last.type).toBe('end');
    expect(waited.filter((ms) => ms === 3_000)).toHaveLength(30);
    const never = await run(scripted('p', [loading]));
    expect(never.waited.filter((ms) => ms === 3_000)).toHaveLength(100);
    expect(errorOf(never.heard)).toMatchObject({ about: 'loading' });
  });

  test('waits 1, 2, 4 and 8 s, then gives the last error as it came', async () => {
    const { heard, waited } = await run(scripted('p', [failing('overloaded', { status: 529 })]));
    expect(waited).toEqual([1000, 2000, 4000, 8000]);
    expect(errorOf(heard)).toEqual(failure('overloaded', { status: 529 }));
  });

  test('waits up to a quarter longer, a second at most', async () => {
    const { waited } = await run(scripted('p', [failing('overloaded')]), 0.999_999);
    expect(waited).toEqual([1250, 2500, 5000, 9000]);
  });

  test.each([
    [0, 1000],
    [7000, 7000],
    [60_000, 60_000],
  ])('waits as long as the server asks: %d ms', async (retryAfterMs, expected) => {
    const { waited, heard } = await run(scripted('p', [failing('rate-limit', { retryAfterMs }), 'fine']));
    expect(waited).toEqual([expected]);
    expect(heard.last.type).toBe('end');
  });

  test('is given up when the server asks for more than a minute', async () => {
    const provider = scripted('p', [failing('rate-limit', { retryAfterMs: 60_001 }), 'not reached']);
    const { heard } = await run(provider);
    expect(errorOf(heard).retryAfterMs).toBe(60_001);
    expect(provider.requests).toHaveLength(1);
  });

  test('is repeated once when the answer made no sense', async () => {
    const provider = scripted('p', [failing('malformed')]);
    expect(errorOf((await run(provider)).heard).kind).toBe('malformed');
    expect(provider.requests).toHaveLength(2);
  });

  test('is not repeated when a local model was too slow, but when its server broke off', async () => {
    const slow = scripted('p', [failing('timeout')], { local: true });
    expect(errorOf((await run(slow)).heard).kind).toBe('timeout');
    expect(slow.requests).toHaveLength(1);
    const broken = scripted('p', [failing('network'), 'fine'], { local: true });
    expect((await run(broken)).heard.last.type).toBe('end');
  });

  test('is told in the log', async () => {
    const log = recordingLog();
    const clock = new VirtualClock();
    const call = hear(withRetry(scripted('p', [failing('network'), 'ok']), { clock, random: random(0), log }), HELLO);
    await clock.advance(1000);
    await call;
    expect(log.lines).toMatchObject([{ level: 'info', fields: { provider: 'p', kind: 'network', waitMs: 1000 } }]);
  });
});

describe('a call that fails for good', () => {
  test.each<ModelErrorKind>([
    'auth',
    'quota',
    'bad-request',
    'refusal',
    'context-overflow',
    'unsupported-tool-choice',
    'aborted',
  ])('is not repeated (%s)', async (kind) => {
    const provider = scripted('p', [failing(kind, { retryable: true })]);
    expect(errorOf((await run(provider)).heard).kind).toBe(kind);
    expect(provider.requests).toHaveLength(1);
  });

  test('is not repeated when the adapter knows better, as with a certificate', async () => {
    const provider = scripted('p', [failing('network', { retryable: false })]);
    await run(provider);
    expect(provider.requests).toHaveLength(1);
  });
});

describe('what was shown', () => {
  test('is void at the restart, so that no text is seen twice', async () => {
    const provider = scripted('p', [{ said: 'Hello, this is', fails: failure('network') }, 'Hello, this is it.']);
    const { heard } = await run(provider);
    expect(shownText(heard.events)).toBe('Hello, this is it.');
    expect(heard.events.map(({ type }) => type)).toEqual(['text-delta', 'restart', 'text-delta', 'end']);
  });

  test('the restart says in one sentence what happens', async () => {
    const { heard } = await run(scripted('p', [failing('overloaded'), 'ok']));
    expect(heard.events[0]).toEqual({
      type: 'restart',
      reason: 'overloaded',
      waitMs: 1000,
      message: 'p is overloaded; trying again in 1 s',
    });
  });
});

describe('stopping', () => {
  test('an abort while waiting ends the call at once, and nothing waits on', async () => {
    const clock = new VirtualClock();
    const provider = scripted('p', [failing('overloaded')]);
    const stop = new AbortController();
    const heard = hear(withRetry(provider, { clock, random: random(0) }), HELLO, { signal: stop.signal });
    await clock.advance(500);
    expect(clock.waiting).toBe(1);
    stop.abort(new Error('stop'));
    expect(errorOf(await heard)).toMatchObject({ kind: 'aborted', retryable: false });
    expect(clock.waiting).toBe(0);
    expect(provider.requests).toHaveLength(1);
  });

  test('an abort in the middle of an attempt is not repeated', async () => {
    const provider = scripted('p', [{ hangs: true }]);
    const stop = new AbortController();
    const retrying = withRetry(provider, { clock: new VirtualClock(), random: random(0) });
    const heard = hear(retrying, HELLO, { signal: stop.signal });
    await settle();
    stop.abort();
    expect(errorOf(await heard).kind).toBe('aborted');
    expect(provider.requests).toHaveLength(1);
  });

  test('a listener that leaves ends the attempt', async () => {
    let left = false;
    const provider: Provider = {
      name: 'p',
      async *chat(): AsyncGenerator<ModelEvent> {
        try {
          await Promise.resolve();
          yield { type: 'text-delta', text: 'a' };
          yield { type: 'text-delta', text: 'b' };
        } finally {
          left = true;
        }
      },
    };
    const retrying = withRetry(provider, { clock: new VirtualClock(), random: random(0) });
    for await (const event of retrying.chat(HELLO, { signal: new AbortController().signal })) {
      if (event.type === 'text-delta') break;
    }
    expect(left).toBe(true);
  });
});
