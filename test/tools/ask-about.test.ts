import { describe, expect, test, vi } from 'vitest';
import type { Tool } from '../../src/core/tools/tool.ts';
import { call, makeRegistry, result, tool } from '../support/simple-tools.ts';
import { testToolContext, type TestCall } from '../support/tool-context.ts';

interface Played {
  readonly output: string;
  readonly asked: number;
  readonly ran: number;
}

/** A call that has to be asked about, which gets a yes; `meanwhile` happens before the answer. */
async function play(binds: Tool['binds'], meanwhile: () => void = () => {}, isAllowed = true): Promise<Played> {
  const execute = vi.fn<Tool['execute']>(async () => result('done'));
  const approve = vi.fn<TestCall['approve']>(async () => {
    meanwhile();
    return isAllowed ? { approved: true } : { approved: false, reason: 'Ann said no' };
  });
  const decide: Tool['decide'] = () => ({
    decision: 'ask',
    reason: 'it matters',
    request: { title: 'Do it', detail: 'all of it', reason: 'it matters' },
  });
  const registry = makeRegistry([
    tool('act', { effect: 'effect', decide, execute, ...(binds === undefined ? {} : { binds }) }),
  ]);
  const { output } = await registry.run(call('act'), testToolContext({ approve }));
  return { output, asked: approve.mock.calls.length, ran: execute.mock.calls.length };
}

describe('a yes', () => {
  test('lets run what it was given for', async () => {
    expect(await play(async () => ({ script: 'as it was' }))).toEqual({ output: 'done', asked: 1, ran: 1 });
  });

  test('does not let run what became something else while the question waited', async () => {
    let script = 'as it was';
    const played = await play(
      async () => ({ script }),
      () => void (script = 'something else'),
    );
    expect(played).toMatchObject({ asked: 1, ran: 0 });
    expect(played.output).toContain('changed after it was approved');
  });

  test('does not let run what cannot be compared any more', async () => {
    let isThere = true;
    const binds = async (): Promise<Readonly<Record<string, unknown>>> => {
      if (isThere) return {};
      throw new Error('the folder is gone');
    };
    expect(await play(binds, () => void (isThere = false))).toMatchObject({ asked: 1, ran: 0 });
  });

  test('is not asked for where it cannot be told what it would allow', async () => {
    const played = await play(() => Promise.reject(new Error('the folder is gone')));
    expect(played).toMatchObject({ asked: 0, ran: 0 });
    expect(played.output).toBe('Refused: the folder is gone');
  });
});

test('a no is a no', async () => {
  const played = await play(undefined, undefined, false);
  expect(played).toEqual({ output: 'Not done: Ann said no. It matters.', asked: 1, ran: 0 });
});

test('nothing is offered for good while strangers have a say', async () => {
  const always = { program: ['/bin/ls'], folder: '/', hash: 'h' };
  const requests: unknown[] = [];
  const registry = makeRegistry([
    tool('act', {
      effect: 'effect',
      decide: () => ({
        decision: 'ask',
        reason: 'it matters',
        request: { title: 'Do it', detail: 'ls', reason: 'it matters', always },
      }),
      action: () => ({ action: { kind: 'networked-exec' }, title: 'Do it', detail: 'ls' }),
    }),
  ]);
  const approve: TestCall['approve'] = async (request) => {
    requests.push(request.always);
    return { approved: false, reason: 'no' };
  };
  await registry.run(call('act'), testToolContext({ approve }));
  await registry.run(call('act'), testToolContext({ approve, taint: { untrusted: true, private: true } }));
  expect(requests).toEqual([always, undefined]);
});
