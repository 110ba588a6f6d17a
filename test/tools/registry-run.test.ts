import { describe, expect, test, vi } from 'vitest';
import { renderResult } from '../../src/core/tools/registry/result.ts';
import type { Tool, ToolResult } from '../../src/core/tools/tool.ts';
import { askingTool, call, makeRegistry, result, TOKEN, tool, type Execute } from '../support/simple-tools.ts';
import { testToolContext } from '../support/tool-context.ts';
import { settle, VirtualClock } from '../support/virtual-clock.ts';

describe('ends that a tool does not choose', () => {
  const deaf = (effect: Tool['effect']): Tool =>
    tool('deaf', { effect, timeoutMs: 5_000, execute: () => new Promise(() => {}) });

  test('a tool that ignores its signal is given up at its limit', async () => {
    const clock = new VirtualClock();
    const running = makeRegistry([deaf('effect')], { clock }).run(call('deaf'), testToolContext());
    await clock.advance(5_000);
    expect(await running).toMatchObject({
      isError: true,
      output: 'The call was stopped after 5 s, the longest that this tool may take. It may have taken effect.',
    });
    expect(clock.waiting).toBe(0);
  });

  test('a tool that only reads is given up without a doubt', async () => {
    const clock = new VirtualClock();
    const running = makeRegistry([deaf('none')], { clock }).run(call('deaf'), testToolContext());
    await clock.advance(5_000);
    expect((await running).output).toBe('The call was stopped after 5 s, the longest that this tool may take.');
  });

  test('without a limit of its own a tool has two minutes', async () => {
    const clock = new VirtualClock();
    let over = false;
    const registry = makeRegistry([tool('slow', { execute: () => new Promise(() => {}) })], { clock });
    const running = registry.run(call('slow'), testToolContext()).finally(() => (over = true));
    await clock.advance(119_999);
    expect(over).toBe(false);
    await clock.advance(1);
    expect((await running).output).toContain('The call was stopped after 120 s,');
  });

  test('a tool that listens sees its signal fire at the limit', async () => {
    const clock = new VirtualClock();
    const seen: unknown[] = [];
    const execute: Execute = (_params, { signal }) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => {
          seen.push(signal.reason);
          reject(signal.reason);
        });
      });
    const running = makeRegistry([tool('wait', { execute, timeoutMs: 10 })], { clock }).run(
      call('wait'),
      testToolContext(),
    );
    await clock.advance(10);
    expect((await running).output).toContain('The call was stopped after 0 s');
    expect(seen).toHaveLength(1);
  });

  test('a quick tool leaves no timer behind', async () => {
    const clock = new VirtualClock();
    await makeRegistry([tool('quick')], { clock }).run(call('quick'), testToolContext());
    expect(clock.waiting).toBe(0);
  });

  test.each([
    ['effect', 'Cut off: the turn was stopped. It may have taken effect.'],
    ['idempotent', 'Cut off: the turn was stopped. It may have taken effect.'],
    ['none', 'Cut off: the turn was stopped.'],
  ] as const)('stopping the turn cuts off a deaf tool of class %s', async (effect, sentence) => {
    const controller = new AbortController();
    const clock = new VirtualClock();
    const running = makeRegistry([deaf(effect)], { clock }).run(
      call('deaf'),
      testToolContext({ signal: controller.signal }),
    );
    await settle();
    controller.abort();
    await clock.advance(1_500);
    expect(await running).toMatchObject({ isError: true, output: sentence });
  });

  test('a call in a stopped turn does not start', async () => {
    const execute = vi.fn(async () => result('never'));
    const answer = await makeRegistry([tool('echo', { execute })]).run(
      call('echo'),
      testToolContext({ signal: AbortSignal.abort() }),
    );
    expect(answer.output).toBe('Not started: the turn was stopped.');
    expect(execute).not.toHaveBeenCalled();
  });

  test.each(['effect', 'idempotent'] as const)(
    'a turn stopped while a call of class %s waits for its slot starts nothing',
    async (effect) => {
      const execute = vi.fn(async () => result('never'));
      const beforeEffect = vi.fn(async () => {});
      const controller = new AbortController();
      const answer = await makeRegistry([tool('echo', { effect, execute })]).run(
        call('echo'),
        testToolContext({ signal: controller.signal }),
        {
          beforeEffect,
          slot: async (task) => {
            controller.abort();
            return task();
          },
        },
      );
      expect(answer.output).toBe('Cut off: the turn was stopped. It had not started.');
      expect(execute).not.toHaveBeenCalled();
      expect(beforeEffect).not.toHaveBeenCalled();
    },
  );

  test('a thrown error is one line without a stack', async () => {
    const execute = async (): Promise<ToolResult> => {
      throw new Error('it broke\n    at file.ts:1\r\n    at other.ts:2');
    };
    const answer = await makeRegistry([tool('echo', { execute })]).run(call('echo'), testToolContext());
    expect(answer).toMatchObject({ isError: true, output: 'it broke at file.ts:1 at other.ts:2' });
  });

  test('what is thrown at once, not as a promise, and what is no error end as results too', async () => {
    const registry = makeRegistry([
      tool('at_once', {
        execute: () => {
          throw new TypeError('too early');
        },
      }),
      tool('oddly', { execute: async () => Promise.reject(new Error('')) }),
    ]);
    expect((await registry.run(call('at_once'), testToolContext())).output).toBe('too early');
    expect((await registry.run(call('oddly'), testToolContext())).output).toBe('Error');
  });
});

describe('before an effect', () => {
  test.each([
    ['none', 0],
    ['idempotent', 1],
    ['effect', 1],
  ] as const)('a tool of class %s announces itself %i times', async (effect, times) => {
    const beforeEffect = vi.fn(async () => {});
    await makeRegistry([tool('echo', { effect })]).run(call('echo'), testToolContext(), { beforeEffect });
    expect(beforeEffect).toHaveBeenCalledTimes(times);
  });

  test('the tool starts when the announcement is over, inside the slot', async () => {
    const order: string[] = [];
    const execute = async (): Promise<ToolResult> => {
      order.push('execute');
      return result('done');
    };
    await makeRegistry([tool('echo', { effect: 'effect', execute })]).run(call('echo'), testToolContext(), {
      beforeEffect: async () => {
        await settle();
        order.push('announced');
      },
      slot: async (task) => {
        order.push('slot');
        const done = await task();
        order.push('free');
        return done;
      },
    });
    expect(order).toEqual(['slot', 'announced', 'execute', 'free']);
  });

  test('refused, denied and misspelt calls are not announced', async () => {
    const beforeEffect = vi.fn(async () => {});
    const registry = makeRegistry([
      askingTool([]),
      tool('rm', { effect: 'effect', plans: () => ({ denied: 'no' }) }),
      tool('off', { effect: 'effect', role: 'owner' }),
    ]);
    for (const name of ['send', 'rm', 'off', 'nothing']) {
      await registry.run(call(name), testToolContext({ role: 'trusted' }), { beforeEffect });
    }
    await registry.run(call('rm', '{'), testToolContext(), { beforeEffect });
    expect(beforeEffect).not.toHaveBeenCalled();
  });

  test('a failing announcement rejects the run and nothing starts', async () => {
    const execute = vi.fn(async () => result('never'));
    const running = makeRegistry([tool('echo', { effect: 'effect', execute })]).run(call('echo'), testToolContext(), {
      beforeEffect: async () => Promise.reject(new Error('disk is full')),
    });
    await expect(running).rejects.toThrow('disk is full');
    expect(execute).not.toHaveBeenCalled();
  });

  test('a turn stopped during the announcement starts nothing', async () => {
    const controller = new AbortController();
    const execute = vi.fn(async () => result('never'));
    const answer = await makeRegistry([tool('echo', { effect: 'effect', execute })]).run(
      call('echo'),
      testToolContext({ signal: controller.signal }),
      { beforeEffect: async () => controller.abort() },
    );
    expect(answer.output).toBe('Cut off: the turn was stopped. It had not started.');
    expect(execute).not.toHaveBeenCalled();
  });
});

describe('what comes out', () => {
  const saying = (output: string, overrides: Partial<ToolResult> = {}): Tool =>
    tool('say', { execute: async () => result(output, overrides) });

  test('long output keeps its head and tail and says what is missing', async () => {
    const output = `${'a'.repeat(20_000)}${'b'.repeat(20_000)}`;
    const answer = await makeRegistry([saying(output)]).run(call('say'), testToolContext());
    expect(answer.output.startsWith('a'.repeat(1_200))).toBe(true);
    expect(answer.output.endsWith('b'.repeat(600))).toBe(true);
    expect(answer.output).toContain('38200 of 40000 characters are left out');
  });

  test('output of exactly the limit is left alone', async () => {
    const answer = await makeRegistry([saying('a'.repeat(1_000))], { maxOutput: 1_000 }).run(
      call('say'),
      testToolContext(),
    );
    expect(answer.output).toBe('a'.repeat(1_000));
  });

  test.each([1_000, 1_500, 2_500, 16_000])('output is never longer than a limit of %i', async (maxOutput) => {
    for (const length of [maxOutput + 1, maxOutput + 500, 1_000_000]) {
      const answer = await makeRegistry([saying('x'.repeat(length))], { maxOutput }).run(
        call('say'),
        testToolContext(),
      );
      expect(answer.output.length).toBeLessThanOrEqual(maxOutput);
      expect(answer.output).not.toMatch(/\[… -/u);
    }
  });

  test('a cut does not split a character', async () => {
    const answer = await makeRegistry([saying('😀'.repeat(10_001))]).run(call('say'), testToolContext());
    expect(answer.output.isWellFormed()).toBe(true);
  });

  test('secrets are taken out of title, output, facts and the words for people', async () => {
    const answer = await makeRegistry([
      saying(`key ${TOKEN}`, {
        title: `used ${TOKEN}`,
        failure: `no ${TOKEN}`,
        metadata: { url: `https://x/${TOKEN}`, size: 3, ok: true },
      }),
    ]).run(call('say'), testToolContext());
    expect(answer).toMatchObject({
      title: 'used [redacted]',
      output: 'key [redacted]',
      failure: 'no [redacted]',
      metadata: { url: 'https://x/[redacted]', size: 3, ok: true },
    });
  });

  test('secrets are taken out before output is cut', async () => {
    const output = `${'a'.repeat(1_190)}${TOKEN}${'b'.repeat(20_000)}`;
    const answer = await makeRegistry([saying(output)]).run(call('say'), testToolContext());
    expect(answer.output).not.toContain(TOKEN.slice(0, 8));
  });

  test('secrets are taken out of errors and of refused arguments', async () => {
    const execute = async (): Promise<ToolResult> => Promise.reject(new Error(`bad key ${TOKEN}`));
    const registry = makeRegistry([tool('say', { execute })]);
    const answers = [
      await registry.run(call('say'), testToolContext()),
      await registry.run(call('say', JSON.stringify({ text: [TOKEN, {}] })), testToolContext()),
      await registry.run(call(TOKEN), testToolContext()),
    ];
    expect(JSON.stringify(answers)).not.toContain(TOKEN);
  });

  test('marks and media of a result are kept', async () => {
    const media = [{ kind: 'image', mediaType: 'image/png', path: '/tmp/a.png' }] as const;
    const answer = await makeRegistry([saying('x', { untrusted: true, private: true, media })]).run(
      call('say'),
      testToolContext(),
    );
    expect(answer).toMatchObject({ untrusted: true, private: true, media });
  });

  test('the model reads one header line with the facts, then the output', () => {
    const metadata = { path: 'a\nb', truncated: false, exitCode: 0, gone: null };
    expect(renderResult(result('text', { metadata }))).toBe('[ran · path=a b · exitCode=0]\ntext');
    expect(renderResult(result('', { isError: true }))).toBe('[ran · error]');
  });
});
