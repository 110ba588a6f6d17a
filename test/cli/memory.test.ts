import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { connectAssistant, startControlServer } from '../../src/core/gateway/control.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { silentLog } from '../../src/core/util/log.ts';
import { failureOf, temporaryFolder } from '../config/temporary-home.ts';
import { memoryWorld } from '../memory/memory-world.ts';
import { CommandLine } from './command-line.ts';

const FACT = {
  fact: 'Lives in Paris\u001b[31m',
  how: 'memory_write',
  session: 'telegram:42',
  turn: '01A',
  since: Date.UTC(2026, 2, 14),
  source: 'told on 2026-03-14 in telegram:42',
  ended: null,
};
const PAST = {
  ...FACT,
  fact: 'Lives in Berlin',
  source: 'written in the file, 2026-03-04',
  ended: {
    at: FACT.since,
    how: 'memory_write',
    session: 'telegram:42',
    turn: '01A',
    replacedBy: 'Lives in Paris',
    text: 'until 2026-03-14, then: Lives in Paris',
  },
};

/** A command line whose assistant remembers in real files. */
async function remembering(): Promise<{ line: CommandLine; world: Awaited<ReturnType<typeof memoryWorld>> }> {
  const world = await memoryWorld();
  onTestFinished(() => world[Symbol.asyncDispose]());
  const line = new CommandLine();
  line.assistant.answers = {
    memoryLog: () => world.store.log(),
    memoryShow: ({ id }) => world.store.show(id),
    memoryRestore: ({ id }) => world.store.restore(id),
    memoryFacts: async ({ past = false }) => [past ? PAST : FACT],
  };
  return { line, world };
}

describe('memory', () => {
  test('shows what is remembered, without control characters', async () => {
    const { line, world } = await remembering();
    expect(await line.run('memory')).toBe(0);
    expect(line.out).toBe('Nothing is remembered yet.\n');
    await world.edit('- likes tea\u001b[31m\n');
    for (const argv of [['memory'], ['memory', 'show']]) {
      line.out = '';
      expect(await line.run(...argv)).toBe(0);
      expect(line.out).toBe('- likes tea[31m\n');
    }
    expect(line.assistant.disposed).toBe(3);
  });

  test('lists facts with where they come from, and what no longer holds with what took its place', async () => {
    const { line } = await remembering();
    expect(await line.run('memory', 'facts')).toBe(0);
    expect(line.out).toBe('Lives in Paris[31m\n    told on 2026-03-14 in telegram:42\n');
    line.out = '';
    expect(await line.run('memory', 'facts', '--past')).toBe(0);
    expect(line.out).toBe(
      'Lives in Berlin\n    written in the file, 2026-03-04; until 2026-03-14, then: Lives in Paris\n',
    );
    line.out = '';
    await line.run('memory', 'facts', '--past', '--json');
    expect(JSON.parse(line.out)).toEqual([PAST]);
  });

  test('lists versions, shows one and brings it back', async () => {
    const { line, world } = await remembering();
    expect(await line.run('memory', 'log')).toBe(0);
    expect(line.out).toBe('There are no earlier versions.\n');
    line.configure({ agent: { timezone: 'Europe/Vienna' } });
    await world.put('- old\n');
    await world.put('- new\n', 'consolidation');
    await world.store.propose('- bad\n', 'consolidation');
    line.out = '';
    await line.run('memory', 'log');
    expect(line.out).toBe(
      [
        '20261121T051000001Z  2026-11-21 06:10        6 bytes  proposed, not used: consolidation\n',
        '20261121T051000000Z  2026-11-21 06:10        6 bytes  replaced by: consolidation\n',
      ].join(''),
    );
    line.out = '';
    await line.run('memory', 'show', '20261121T051000000Z');
    expect(line.out).toBe('- old\n');
    line.out = '';
    expect(await line.run('memory', 'restore', '20261121T051000000Z')).toBe(0);
    expect(line.out).toContain('The memory is restored to version 20261121T051000000Z.');
    expect(await world.text()).toBe('- old\n');
    expect((await world.store.log())[0]).toMatchObject({ reason: 'restore of 20261121T051000000Z' });
  });

  test('says everything as JSON', async () => {
    const { line, world } = await remembering();
    line.configure({ agent: { timezone: 'Europe/Vienna' } });
    await world.put('- old\n');
    await world.put('- new\n', 'test');
    const json = async (...argv: readonly string[]): Promise<unknown> => {
      line.out = '';
      await line.run('memory', ...argv, '--json');
      return JSON.parse(line.out);
    };
    const id = '20261121T051000000Z';
    expect(await json()).toEqual({ version: null, text: '- new\n' });
    expect(await json('log')).toMatchObject([{ id, reason: 'test', size: 6, kind: 'kept' }]);
    expect(await json('show', id)).toMatchObject({ version: { id }, text: '- old\n' });
    expect(await json('restore', id)).toMatchObject({ restored: { id } });
  });

  test.each([
    [
      ['memory', 'restore'],
      2,
      "Missing required argument 'version'. See npm run assistant -- memory restore --help.\n",
    ],
    [
      ['memory', 'restore', 'x'],
      1,
      'There is no version "x" of the memory. To see those that are kept, run: npm run assistant -- memory log',
    ],
    [['memory', 'lgo'], 2, "Unknown command 'lgo' for memory. Did you mean log?"],
  ])('says what is wrong with %j', async (argv, code, sentence) => {
    const { line } = await remembering();
    expect(await line.run(...argv)).toBe(code);
    expect(line.err).toContain(sentence);
  });

  test('is asked of the gateway that runs, through its control socket', async () => {
    const { line, world } = await remembering();
    line.configure({ agent: { timezone: 'Europe/Vienna' } });
    await world.put('- old\n');
    await world.put('- new\n');
    line.running = true;
    expect(await line.run('memory')).toBe(0);
    expect(line.started).toEqual([]);

    const path = join(temporaryFolder(), 'control.sock');
    const server = await startControlServer({ path, version: '1', assistant: line.assistant, log: silentLog });
    onTestFinished(() => server[Symbol.asyncDispose]());
    const remote = await connectAssistant(path, systemClock);
    if (remote === undefined) throw new Error('nobody listens');
    onTestFinished(() => remote[Symbol.asyncDispose]());
    const [version] = await remote.call('memoryLog', {});
    const id = version?.id ?? '';
    expect(version).toEqual((await world.store.log())[0]);
    expect(await remote.call('memoryShow', {})).toEqual({ version: null, text: '- new\n' });
    expect(await remote.call('memoryShow', { id })).toEqual({ version, text: '- old\n' });
    expect(await remote.call('memoryRestore', { id })).toEqual(version);
    expect(await world.text()).toBe('- old\n');
    expect(await failureOf(remote.call('memoryRestore', { id: 'x' }))).toMatchObject({ code: 'memory-version' });
  });
});
