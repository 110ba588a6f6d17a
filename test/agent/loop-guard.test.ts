import { describe, expect, test } from 'vitest';
import { endlessLoop, withLoopWarning } from '../../src/core/agent/turn/loop-guard.ts';
import type { EntryDraft } from '../../src/core/session/entry.ts';
import { asks, entries, gives, says } from './turn-entries.ts';

interface Call {
  readonly name?: string;
  readonly arguments?: string;
  readonly output?: string;
}

/** A turn of these calls, one a step; returns what the model reads of each, and after which one the turn ends. */
function run(calls: readonly Call[]): { readonly warned: readonly boolean[]; readonly endsAfter: number | null } {
  const drafts: EntryDraft[] = [asks()];
  const warned: boolean[] = [];
  for (const [i, { name = 'exec', arguments: args = '{"a":1}', output = 'same' }] of calls.entries()) {
    const callId = `T.${i}`;
    drafts.push(says('', { calls: [{ callId, name, arguments: args }] }));
    const result = withLoopWarning(gives(callId, output, name), entries(...drafts));
    if (result.kind !== 'message' || result.role !== 'tool') throw new Error('a result stays a result');
    warned.push(result.output !== output);
    drafts.push(result);
    if (endlessLoop(entries(...drafts)) !== null) return { warned, endsAfter: i + 1 };
  }
  return { warned, endsAfter: null };
}

describe('the loop guard', () => {
  test('warns at the third same call with the same result, and ends the turn at the fifth', () => {
    expect(run(Array.from({ length: 9 }, () => ({})))).toEqual({
      warned: [false, false, true, true, true],
      endsAfter: 5,
    });
  });

  test('compares arguments as JSON, not as text', () => {
    const forms = ['{"a":1,"b":{"c":2,"d":3}}', '{ "b": {"d":3,"c":2}, "a": 1 }', '{"b":{"c":2,"d":3},"a":1}'];
    expect(run(forms.map((text) => ({ arguments: text }))).warned).toEqual([false, false, true]);
    expect(run(['[1,2]', '[2,1]', '[1,2]'].map((text) => ({ arguments: text }))).warned).not.toContain(true);
  });

  test('arguments that are not JSON are compared as they are', () => {
    expect(run(['{a', '{a', '{a'].map((text) => ({ arguments: text }))).warned).toEqual([false, false, true]);
  });

  test('does not mind how long a call took', () => {
    const outputs = [5, 17, 4].map((ms) => ({ output: `[ran ls · exitCode=0 · durationMs=${ms}]\nx` }));
    expect(run(outputs).warned).toEqual([false, false, true]);
  });

  test.each<[string, Call[]]>([
    ['another result each time', [1, 2, 3, 4, 5, 6].map((n) => ({ output: `${n}` }))],
    ['other arguments each time', [1, 2, 3, 4, 5, 6].map((n) => ({ arguments: `{"n":${n}}` }))],
    ['other tools', ['a', 'b', 'c', 'd', 'e', 'f'].map((name) => ({ name }))],
  ])('leaves %s alone', (_title, calls) => {
    expect(run(calls)).toEqual({ warned: calls.map(() => false), endsAfter: null });
  });

  test('sees a loop of two calls', () => {
    const calls = Array.from({ length: 12 }, (_, i) => ({ arguments: `{"n":${i % 2}}` }));
    expect(run(calls).endsAfter).toBe(9);
  });

  test('calls side by side in one message count once', () => {
    const calls = [1, 2, 3, 4, 5].map((n) => ({ callId: `T.${n}` }));
    const turn = entries(asks(), says('', { calls }), ...calls.map(({ callId }) => gives(callId, 'same')));
    expect(endlessLoop(turn)).toBeNull();
    const next = entries(asks(), says('', { calls }));
    expect(withLoopWarning(gives('T.1', 'same'), next)).toEqual(gives('T.1', 'same'));
  });
});
