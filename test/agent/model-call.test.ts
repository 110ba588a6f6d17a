import { expect, test } from 'vitest';
import { askModel } from '../../src/core/agent/turn/model-call.ts';
import type { ModelEvent, ModelRequest } from '../../src/core/providers/provider.ts';

const REQUEST: ModelRequest = {
  model: 'm',
  system: [],
  messages: [],
  tools: [],
  toolChoice: 'auto',
  maxOutputTokens: 100,
};
const RESTART: ModelEvent = { type: 'restart', reason: 'network', waitMs: 0, message: 'p broke off' };

/** What is shown, in order, of an answer that comes in these pieces; null begins it anew. */
async function shown(...pieces: readonly (string | null)[]): Promise<readonly string[]> {
  const seen: string[] = [];
  await askModel({
    provider: {
      name: 'p',
      async *chat(): AsyncGenerator<ModelEvent> {
        for (const piece of pieces) yield piece === null ? RESTART : { type: 'text-delta', text: piece };
        await Promise.resolve();
        yield { type: 'end', stopReason: 'stop', response: { content: [], model: 'm', usage: null } };
      },
    },
    request: REQUEST,
    signal: new AbortController().signal,
    live: (event) => {
      if (event.type === 'text' || event.type === 'status') seen.push(event.text);
    },
    redact: (text) => text,
  });
  return seen;
}

test('text is shown as it grows', async () => {
  expect(await shown('a', 'b')).toEqual(['a', 'ab']);
});

test('an answer that begins anew with the same words goes on where it broke off', async () => {
  expect(await shown('one ', 'two ', null, 'one ', 'two ', 'three')).toEqual([
    'one ',
    'one two ',
    'p broke off',
    'one two three',
  ]);
});

test('an answer that begins anew with other words replaces what was shown', async () => {
  expect(await shown('one', null, 'two')).toEqual(['one', 'p broke off', 'two']);
});
