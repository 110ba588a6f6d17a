import { expect, test } from 'vitest';
import type { ModelEvent, ModelRequest, Provider } from '../../src/core/providers/provider.ts';
import { withPermit } from '../../src/core/providers/wrappers/permitted.ts';
import { ChangingPermit } from '../support/changing-permit.ts';

const REQUEST: ModelRequest = {
  model: 'm',
  system: [],
  messages: [],
  tools: [],
  toolChoice: 'auto',
  maxOutputTokens: 1,
};

function counting(): { readonly provider: Provider; readonly calls: () => number } {
  let calls = 0;
  const provider: Provider = {
    name: 'counting',
    async *chat() {
      calls += 1;
      yield { type: 'text-delta', text: 'hello' };
    },
  };
  return { provider, calls: () => calls };
}

async function typesOf(events: AsyncIterable<ModelEvent>): Promise<readonly string[]> {
  return (await Array.fromAsync(events)).map((event) => (event.type === 'error' ? event.kind : event.type));
}

test('a model is asked only when it is certain that the home is this gateway’s', async () => {
  const permit = new ChangingPermit();
  permit.withdraw();
  const { provider, calls } = counting();
  const answer = typesOf(withPermit(provider, permit).chat(REQUEST, { signal: new AbortController().signal }));
  await Promise.resolve();
  expect(calls()).toBe(0);
  permit.grant();
  expect(await answer).toEqual(['text-delta']);
});

test('a turn that is stopped meanwhile asks no model', async () => {
  const permit = new ChangingPermit();
  permit.withdraw();
  const { provider, calls } = counting();
  const stop = new AbortController();
  const answer = typesOf(withPermit(provider, permit).chat(REQUEST, { signal: stop.signal }));
  stop.abort(new Error('stopped'));
  expect(await answer).toEqual(['aborted']);
  expect(calls()).toBe(0);
});
