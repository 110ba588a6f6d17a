import { describe, expect, test } from 'vitest';
import { onlyReads } from '../../src/core/tools/exec/only-reads.ts';
import { AppError } from '../../src/core/util/errors.ts';
import { call, makeRegistry, result, TOKEN, tool } from '../support/simple-tools.ts';
import { testToolContext } from '../support/tool-context.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

const runs =
  (target: string): NonNullable<ReturnType<typeof tool>['targets']> =>
  () => [{ kind: 'command', target }];

describe('what a call did, as data', () => {
  test('has the exit code of a command and no secret', async () => {
    const execute = async () => result('', { isError: true, metadata: { exitCode: 3 } });
    const registry = makeRegistry([tool('exec', { effect: 'effect', targets: runs(`curl ${TOKEN}`), execute })]);
    expect((await registry.run(call('exec'), testToolContext())).effects).toEqual([
      { tool: 'exec', outcome: 'failed', kind: 'command', target: 'curl [redacted]', exitCode: 3 },
    ]);
  });

  test('says where there is nothing of the name that was given', async () => {
    const thrown = new AppError('path-refused', 'a.md does not exist.', { facts: { code: 'ENOENT' } });
    const edits = tool('edit', {
      effect: 'effect',
      targets: () => [{ kind: 'file', target: 'a.md' }],
      execute: async () => {
        throw thrown;
      },
    });
    const exec = tool('exec', {
      effect: 'effect',
      targets: runs('pip'),
      execute: async () => result('', { isError: true, metadata: { exitCode: 127 } }),
    });
    const registry = makeRegistry([edits, exec]);
    for (const name of ['edit', 'exec']) {
      expect((await registry.run(call(name), testToolContext())).effects).toMatchObject([{ missing: true }]);
    }
  });

  test('is refused where a rule or a person said no, under the name of the tool that an alias means', async () => {
    const registry = makeRegistry([tool('exec', { effect: 'effect', role: 'owner', targets: runs('ls') })]);
    const { effects } = await registry.run(call('bash'), testToolContext({ role: 'trusted' }));
    // A call that its role may not make isn't planned, so nothing else is known of it.
    expect(effects).toEqual([{ tool: 'exec', outcome: 'refused', kind: 'call', target: null }]);
  });

  test('is unknown where the call ran into its limit', async () => {
    const clock = new VirtualClock();
    const deaf = tool('deaf', { effect: 'effect', timeoutMs: 10, execute: () => new Promise(() => {}) });
    const running = makeRegistry([deaf], { clock }).run(call('deaf'), testToolContext());
    await clock.advance(10);
    expect((await running).effects).toEqual([{ tool: 'deaf', outcome: 'unknown', kind: 'call', target: null }]);
  });

  test('names no target where the arguments do not fit, and where the tool cannot tell', async () => {
    const targets = (): never => {
      throw new Error('broken');
    };
    const registry = makeRegistry([tool('act', { effect: 'effect', targets })]);
    const none = { tool: 'act', kind: 'call', target: null };
    expect((await registry.run(call('act', '[1]'), testToolContext())).effects).toEqual([
      { ...none, outcome: 'failed' },
    ]);
    expect((await registry.run(call('act'), testToolContext())).effects).toEqual([{ ...none, outcome: 'done' }]);
  });

  test('is nothing of a tool that only asks a person, whatever its arguments are', async () => {
    const registry = makeRegistry([tool('ask', { effect: 'idempotent', onlyReads: true })]);
    expect(await registry.run(call('ask', '[1]'), testToolContext())).not.toHaveProperty('effects');
  });

  test('has a long target in few characters, and two that differ at their ends stay two', async () => {
    const long = 'x'.repeat(5_000);
    const targetOf = async (target: string): Promise<string> => {
      const registry = makeRegistry([tool('exec', { effect: 'effect', targets: runs(target) })]);
      return (await registry.run(call('exec'), testToolContext())).effects?.[0]?.target ?? '';
    };
    const [one, other] = [await targetOf(`${long}1`), await targetOf(`${long}2`)];
    expect(one.length).toBeLessThan(500);
    expect(one).not.toBe(other);
  });
});

test.each([
  'grep -rn todo notes',
  'cat a | grep b | wc -l',
  'cd notes && ls',
  'test -f a.md || echo none',
  'find . -name "*.ts" 2>/dev/null | head -3',
  'git status 2>&1',
])('the command %s only looks', (command) => {
  expect(onlyReads(command)).toBe(true);
});

test.each([
  '',
  'npm test',
  'rm a',
  'echo hi > a',
  'cat a; rm a',
  'find . -delete',
  'ls $(rm a)',
  'ls `rm a`',
  'git push',
  'rg --pre x y',
])('the command %j counts as a change', (command) => {
  expect(onlyReads(command)).toBe(false);
});
