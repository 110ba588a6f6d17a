import { describe, expect, test } from 'vitest';
import { ToolRegistry } from '../../src/core/tools/registry/registry.ts';
import { memoryWriteTool } from '../../src/extensions/memory/write-tool.ts';
import { toJsonSchema } from '../../src/core/tools/json-schema.ts';
import type { ApprovalRequest, ToolResult } from '../../src/core/tools/tool.ts';
import { memoryWorld, type MemoryWorld } from '../memory/memory-world.ts';
import { testToolContext, type TestCall } from '../support/tool-context.ts';

const asked: ApprovalRequest[] = [];

/** Calls the tool in the owner's direct chat, where everything that is asked is allowed. */
function call(
  world: MemoryWorld,
  args: Record<string, unknown>,
  overrides: Partial<TestCall> = {},
): Promise<ToolResult> {
  const registry = new ToolRegistry({
    policy: { allow: ['*'], deny: [], guest: ['*'] },
    clock: world.clock,
    redact: (text) => text,
    maxOutput: 16_000,
  });
  registry.register(memoryWriteTool({ change: (change) => world.store.change(change) }));
  asked.length = 0;
  const approve: TestCall['approve'] = async (request) => {
    asked.push(request);
    return { approved: true };
  };
  const context = testToolContext({ chatType: 'direct', approve, ...overrides });
  return registry.run({ name: 'memory_write', arguments: JSON.stringify(args) }, context);
}

describe('memory_write', () => {
  test('needs nothing but the fact', () => {
    const schema = toJsonSchema(memoryWriteTool({ change: () => Promise.reject(new Error('not called')) }).parameters);
    expect(schema['required']).toEqual(['fact']);
  });

  test('adds, changes and removes a fact, and says which', async () => {
    await using world = await memoryWorld();
    expect(await call(world, { fact: 'is called Ming' })).toMatchObject({
      output: 'Added: is called Ming',
      private: true,
    });
    expect((await call(world, { fact: 'has a boss', section: 'Work' })).output).toBe('Added: has a boss');
    expect(await world.text()).toBe('# Memory\n\n- is called Ming\n\n## Work\n\n- has a boss\n');
    expect((await call(world, { fact: 'is called Mia', replaces: 'Ming' })).output).toBe('It says now: is called Mia');
    expect((await call(world, { fact: '', replaces: 'boss' })).output).toBe('Removed: has a boss');
    expect(await world.text()).toBe('# Memory\n\n- is called Mia\n\n## Work\n\n');
    expect((await world.store.log()).map(({ reason }) => reason)).toEqual([
      'memory_write, removed: has a boss',
      'memory_write, changed: is called Mia',
      'memory_write, added: has a boss',
    ]);
  });

  test('changes nothing for a fact that is there', async () => {
    await using world = await memoryWorld();
    await call(world, { fact: 'likes tea' });
    const again = await call(world, { fact: 'Likes tea.'.slice(0, -1) });
    expect(again).toMatchObject({ title: 'known already', output: 'It is there: likes tea' });
    expect(await world.store.log()).toEqual([]);
  });

  test('lists the lines when the words do not name one', async () => {
    await using world = await memoryWorld();
    await world.edit('- likes tea\n- likes milk\n');
    const several = await call(world, { fact: '', replaces: 'likes' });
    expect(several).toMatchObject({ isError: true, private: true });
    expect(several.output).toBe(
      'Nothing was done: more than one line has these words. Give replaces more words, so that it names one of:\n- likes tea\n- likes milk',
    );
    const none = await call(world, { fact: '', replaces: 'green tea' });
    expect(none.output).toBe('Nothing was done: no line has these words. These come close:\n- likes tea');
    expect((await call(world, { fact: '', replaces: 'coffee' })).output).toBe(
      'Nothing was done: no line has these words.',
    );
    expect(await world.text()).toBe('- likes tea\n- likes milk\n');
  });

  test.each([
    ['nothing', { fact: ' ' }, 'give a fact'],
    ['too much', { fact: 'x'.repeat(1_001) }, 'at most 1000 fit'],
  ])('does not write %s', async (_name, args, sentence) => {
    await using world = await memoryWorld();
    const answer = await call(world, args);
    expect(answer.isError).toBe(true);
    expect(answer.output).toContain(sentence);
  });

  test.each<[string, Partial<TestCall>, string]>([
    ['a trusted person', { role: 'trusted' }, 'for the owner only'],
    ['a guest', { role: 'guest' }, 'not for guests'],
    ['a group', { chatType: 'group' }, 'in a direct chat'],
    ['a scheduled job', { origin: 'cron' }, 'when the owner asks'],
    ['the heartbeat', { origin: 'heartbeat' }, 'when the owner asks'],
    ['a subagent', { origin: 'subagent' }, 'when the owner asks'],
    ['a webhook', { origin: 'hook' }, 'when the owner asks'],
  ])('is refused to %s', async (_name, overrides, sentence) => {
    await using world = await memoryWorld();
    const answer = await call(world, { fact: 'x' }, overrides);
    expect(answer.isError).toBe(true);
    expect(answer.output).toContain(sentence);
    expect(asked).toEqual([]);
    expect(await world.store.read()).toMatchObject({ text: '' });
  });

  test('is done for the owner who asks through the API', async () => {
    await using world = await memoryWorld();
    expect((await call(world, { fact: 'x' }, { origin: 'api' })).isError).not.toBe(true);
    expect(await world.text()).toContain('- x\n');
  });

  test('is refused where nobody knows what kind of chat it is', async () => {
    await using world = await memoryWorld();
    const result = await call(world, { fact: 'x' }, { chatType: null });
    expect(result).toMatchObject({ refused: true });
  });

  test('asks the owner, showing all of it, once strangers’ text is around', async () => {
    await using world = await memoryWorld();
    await world.edit('- likes tea\n');
    const taint = { untrusted: true, private: true };
    const args = { fact: 'likes milk', replaces: 'tea', section: 'Food' };
    const refused = await call(world, args, { taint, approve: async () => ({ approved: false, reason: 'no' }) });
    expect(refused.output).toContain('Not done: no');
    expect(await world.text()).toBe('- likes tea\n');
    await call(world, args, { taint });
    expect(asked).toMatchObject([{ detail: 'Write: likes milk\nIn place of the line with: tea\nUnder: Food' }]);
    expect(await world.text()).toContain('## Food\n\n- likes milk');
  });

  test('a damaged memory is one sentence for the model', async () => {
    await using world = await memoryWorld();
    await world.edit(Buffer.from([0xff]));
    const answer = await call(world, { fact: 'x' });
    expect(answer).toMatchObject({ isError: true });
    expect(answer.output).toContain('not UTF-8 text');
  });
});
