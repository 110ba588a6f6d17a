import { describe, expect, test, vi } from 'vitest';
import { runToolOnce } from '../../src/core/tools/registry/outside-turn.ts';
import type { ToolDecision } from '../../src/core/tools/tool.ts';
import { askingTool, call, makeRegistry, result, tool } from '../support/simple-tools.ts';
import { testToolContext, type TestCall } from '../support/tool-context.ts';
import { settle } from '../support/virtual-clock.ts';

describe('names', () => {
  test('an unknown tool is answered with the nearest name', async () => {
    const answer = await makeRegistry([tool('read_file'), tool('exec')]).run(call('raed_file'), testToolContext());
    expect(answer).toMatchObject({
      isError: true,
      output: 'There is no tool named raed_file. Did you mean read_file?',
    });
  });

  test('a name like no other is answered with the list of tools', async () => {
    const answer = await makeRegistry([tool('read_file'), tool('exec')]).run(call('teleport'), testToolContext());
    expect(answer.output).toBe('There is no tool named teleport. There are: exec, read_file.');
  });

  test('the nearest name is one that the role may call', async () => {
    const registry = makeRegistry([tool('web_search'), tool('web_fetch', { role: 'owner' })], {
      policy: { allow: ['*'], deny: [], guest: ['web_*'] },
    });
    const answer = await registry.run(call('web_fetc'), testToolContext({ role: 'guest' }));
    expect(answer.output).not.toContain('web_fetch?');
  });

  test('where there are no tools it says so', async () => {
    const answer = await makeRegistry([]).run(call('read'), testToolContext());
    expect(answer.output).toBe('There is no tool named read. There are none here.');
  });

  test('an endless name is cut in title and output', async () => {
    const answer = await makeRegistry([]).run(call('x'.repeat(100_000)), testToolContext());
    expect(answer.title.length + answer.output.length).toBeLessThan(300);
  });

  test.each([
    ['bash', 'exec'],
    ['Bash', 'exec'],
    ['run_command', 'exec'],
    ['Read', 'read_file'],
    ['ls', 'list_dir'],
    ['write', 'write_file'],
    ['edit', 'edit_file'],
    ['WebFetch', 'web_fetch'],
  ])('%s is another name of %s', async (alias, name) => {
    const registry = makeRegistry([tool(name, { effect: 'effect', execute: async () => result(name) })]);
    expect((await registry.run(call(alias), testToolContext())).output).toBe(name);
    expect(registry.effectOf(alias)).toBe('effect');
  });

  test('a tool that is really named like an alias wins', async () => {
    const registry = makeRegistry([tool('exec'), tool('bash', { execute: async () => result('the real one') })]);
    expect((await registry.run(call('bash'), testToolContext())).output).toBe('the real one');
  });

  test.each(['constructor', '__proto__', 'toString', ''])('%j is no tool', async (name) => {
    expect((await makeRegistry([tool('exec')]).run(call(name), testToolContext())).isError).toBe(true);
  });

  test('an unknown name has no effect', () => {
    expect(makeRegistry([]).effectOf('launch')).toBe('none');
  });

  test('a name is taken once, and free again when its tool is disposed', () => {
    const registry = makeRegistry([]);
    const first = registry.register(tool('echo'));
    expect(() => registry.register(tool('echo'))).toThrow('There is a tool named echo already.');
    first[Symbol.dispose]();
    registry.register(tool('echo'));
    expect(registry.list().map((entry) => entry.tool.name)).toEqual(['echo']);
  });
});

describe('who may call what', () => {
  const policy = { allow: ['*'], deny: ['drop_*'], guest: ['web_*', 'root'] };
  const tools = [
    tool('web_search'),
    tool('read_file'),
    tool('root', { role: 'owner' }),
    tool('drop_table', { role: 'guest' }),
    tool('for_all', { role: 'guest' }),
  ];

  test.each([
    ['owner', ['for_all', 'read_file', 'root', 'web_search']],
    ['trusted', ['for_all', 'read_file', 'web_search']],
    ['guest', ['web_search']],
  ] as const)('a %s is offered %j', (role, names) => {
    expect(
      makeRegistry(tools, { policy })
        .specs(role)
        .map(({ name }) => name),
    ).toEqual(names);
  });

  test.each([
    ['guest', 'read_file', 'read_file is not for guests.'],
    ['guest', 'root', 'root is not for guests.'],
    ['guest', 'for_all', 'for_all is not for guests.'],
    ['trusted', 'root', 'root is for the owner only.'],
    ['owner', 'drop_table', "drop_table is switched off in this assistant's configuration (tools.allow, tools.deny)."],
  ] as const)('a %s who calls %s is told why not', async (role, name, sentence) => {
    const answer = await makeRegistry(tools, { policy }).run(call(name), testToolContext({ role }));
    expect(answer).toMatchObject({ isError: true, output: sentence });
  });

  test('what is not allowed is off, and a pattern matches whole names', () => {
    const narrow = makeRegistry([tool('web_search'), tool('my_web_search'), tool('webXsearch')], {
      policy: { allow: ['web_*'], deny: [], guest: [] },
    });
    expect(narrow.specs('owner').map(({ name }) => name)).toEqual(['web_search']);
  });

  test('a dot in a pattern is a dot', () => {
    const registry = makeRegistry([tool('axb')], { policy: { allow: ['a.b'], deny: [], guest: [] } });
    expect(registry.specs('owner')).toEqual([]);
  });

  test('an alias does not get around a denied name', async () => {
    const registry = makeRegistry([tool('exec')], { policy: { allow: ['*'], deny: ['exec'], guest: [] } });
    expect((await registry.run(call('bash'), testToolContext())).output).toContain('switched off');
  });
});

describe('deciding', () => {
  test('a denied call is a result that starts with Refused', async () => {
    const execute = vi.fn(async () => result('never'));
    const registry = makeRegistry([tool('rm', { decide: () => ({ decision: 'deny', reason: 'no.' }), execute })]);
    expect(await registry.run(call('rm'), testToolContext())).toMatchObject({ isError: true, output: 'Refused: no.' });
    expect(execute).not.toHaveBeenCalled();
  });

  test('a decision that breaks denies', async () => {
    const execute = vi.fn(async () => result('never'));
    const decide = (): never => {
      throw new Error('guard\n  broke');
    };
    const answer = await makeRegistry([tool('rm', { decide, execute })]).run(call('rm'), testToolContext());
    expect(answer.output).toBe('Refused: guard broke');
    expect(execute).not.toHaveBeenCalled();
  });

  test('a tool that is withheld from this call is denied', async () => {
    const context = testToolContext({ withheld: (name) => `${name} is not part of this task` });
    expect(await makeRegistry([tool('rm')]).decide(call('rm'), context)).toEqual({
      decision: 'deny',
      reason: 'rm is not part of this task.',
    });
  });

  test('a person is shown the request, and the tool runs with exactly what was shown', async () => {
    const approvedWith: (string | undefined)[] = [];
    const approve = vi.fn<TestCall['approve']>(async () => ({ approved: true }));
    const answer = await makeRegistry([askingTool(approvedWith)]).run(call('send'), testToolContext({ approve }));
    expect(answer.output).toBe('sent');
    expect(approve).toHaveBeenCalledExactlyOnceWith({
      title: 'Send',
      detail: 'send 5 to Ann',
      hash: expect.stringMatching(/^[0-9a-f]{64}$/u),
      reason: 'it leaves the machine',
    });
    expect(approvedWith).toEqual(['send 5 to Ann']);
  });

  test('a no is a result with the reason, and nothing runs', async () => {
    const approvedWith: (string | undefined)[] = [];
    const approve: TestCall['approve'] = async () => ({ approved: false, reason: 'Ann said no' });
    const answer = await makeRegistry([askingTool(approvedWith)]).run(call('send'), testToolContext({ approve }));
    expect(answer).toMatchObject({ isError: true, output: 'Not done: Ann said no. It leaves the machine.' });
    expect(approvedWith).toEqual([]);
  });

  test('a question that cannot be asked is a no', async () => {
    const approvedWith: (string | undefined)[] = [];
    const approve: TestCall['approve'] = async () => Promise.reject(new Error('chat is gone'));
    const answer = await makeRegistry([askingTool(approvedWith)]).run(call('send'), testToolContext({ approve }));
    expect(answer.output).toContain('Not done: chat is gone');
    expect(approvedWith).toEqual([]);
  });

  test('stopping the turn ends the wait for an answer', async () => {
    const approvedWith: (string | undefined)[] = [];
    const controller = new AbortController();
    const context = testToolContext({ signal: controller.signal, approve: () => new Promise(() => {}) });
    const running = makeRegistry([askingTool(approvedWith)]).run(call('send'), context);
    await settle();
    controller.abort();
    expect((await running).output).toContain('Not done: the turn was stopped');
    expect(approvedWith).toEqual([]);
  });

  test('decide runs nothing and asks nobody', async () => {
    const approvedWith: (string | undefined)[] = [];
    const approve = vi.fn<TestCall['approve']>();
    const registry = makeRegistry([askingTool(approvedWith), tool('plain')]);
    const context = testToolContext({ approve });
    expect((await registry.decide(call('send'), context)).decision).toBe('ask');
    expect(await registry.decide(call('plain'), context)).toEqual({ decision: 'allow' });
    expect(await registry.decide(call('plain', '{'), context)).toMatchObject({ decision: 'deny' });
    expect(approvedWith).toEqual([]);
    expect(approve).not.toHaveBeenCalled();
  });
});

describe('once, outside a turn', () => {
  const options = { workspace: '/nowhere', newId: () => 'id' };

  test('a tool runs for the owner', async () => {
    const registry = makeRegistry([tool('echo', { role: 'owner' })]);
    expect(await runToolOnce(registry, { ...call('echo'), dryRun: false }, options)).toEqual({
      decision: 'allow',
      reason: null,
      result: { title: 'ran', output: 'done', metadata: {}, isError: false },
    });
  });

  test('what would have to be asked does not run', async () => {
    const approvedWith: (string | undefined)[] = [];
    const report = await runToolOnce(
      makeRegistry([askingTool(approvedWith)]),
      { ...call('send'), dryRun: false },
      options,
    );
    expect(report).toEqual({ decision: 'ask', reason: 'it leaves the machine', result: null });
    expect(approvedWith).toEqual([]);
  });

  test('what would have to be asked only when it runs does not run', async () => {
    const execute = vi.fn(async () => result('never'));
    const ask = { title: 'Send', detail: 'it', reason: 'now it leaves' };
    let decided = 0;
    const decide = (): ToolDecision =>
      (decided += 1) === 1 ? { decision: 'allow' } : { decision: 'ask', reason: ask.reason, request: ask };
    const registry = makeRegistry([tool('send', { decide, execute })]);
    const report = await runToolOnce(registry, { ...call('send'), dryRun: false }, options);
    expect(report.result).toMatchObject({
      isError: true,
      output: 'Not done: no one can be asked here. Now it leaves.',
    });
    expect(execute).not.toHaveBeenCalled();
  });

  test('a dry run only decides', async () => {
    const execute = vi.fn(async () => result('never'));
    const report = await runToolOnce(
      makeRegistry([tool('echo', { execute })]),
      { ...call('echo'), dryRun: true },
      options,
    );
    expect(report).toEqual({ decision: 'allow', reason: null, result: null });
    expect(execute).not.toHaveBeenCalled();
  });
});
