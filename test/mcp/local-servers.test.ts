import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { StdioTransport } from '../../src/extensions/mcp/stdio.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { isAlive } from '../support/child-processes.ts';
import { tempFolder } from '../support/temp.ts';
import { expectWithin, waitFor } from '../support/wait.ts';
import { fixture, mcpWorld, SECRET, connected } from './mcp-world.ts';

const lines = async (path: string): Promise<string[]> => (await readFile(path, 'utf8')).trim().split('\n');

/** The ids of the processes that a fixture was, oldest first. */
const starts = async (path: string): Promise<number[]> => (await lines(path)).map(Number).filter((pid) => pid > 0);

describe('a local server', () => {
  test('is started when it is first called, and answers', async () => {
    await using folder = await tempFolder();
    const file = join(folder.path, 'starts');
    await using world = await connected({ fix: fixture(['', file]) });
    await world.restart();
    expect(await starts(file)).toHaveLength(1);
    expect(world.names()).toContain('mcp_fix_echo');
    expect(await world.call('mcp_fix_echo', { text: 'hi' })).toEqual({
      title: 'fix: echo',
      output: 'echo {"text":"hi"}',
      metadata: {},
      untrusted: true,
      effects: [{ tool: 'mcp_fix_echo', kind: 'call', target: null, outcome: 'done' }],
    });
    expect(await starts(file)).toHaveLength(2);
    expect(await world.call('mcp_fix_echo', { text: 5 })).toMatchObject({ output: 'echo {"text":"5"}' });
    expect(await world.call('mcp_fix_echo', { text: {} })).toMatchObject({
      isError: true,
      output: expect.stringContaining('the arguments do not fit the tool: text'),
    });
  });

  test('sees its own environment and the basics, and nothing of ours', async () => {
    await using world = await mcpWorld({ fix: fixture([], { env: { FIX_TOKEN: 'its own' } }) });
    process.env['STRAY_API_KEY'] = 'must not leak';
    try {
      await world.clients.test('fix');
    } finally {
      delete process.env['STRAY_API_KEY'];
    }
    const { output } = await world.call('mcp_fix_environment');
    const seen: object = JSON.parse(output);
    expect(Object.keys(seen).toSorted()).toEqual([
      'ASSISTANT_COMMAND',
      'FIX_TOKEN',
      'HOME',
      'NODE_COMPILE_CACHE',
      'PATH',
      'PWD',
      'SHLVL',
    ]);
  });

  test('that is killed in the middle of a call fails that call, and the next one works', async () => {
    await using world = await connected({ fix: fixture() });
    const died = await world.call('mcp_fix_die');
    expect(died).toMatchObject({ isError: true, untrusted: true });
    expect(died.output).toBe(
      'The MCP server fix was lost while this ran (it ended with signal SIGKILL). It may have taken effect. The next call starts it again.',
    );
    expect(await world.call('mcp_fix_echo')).toMatchObject({ output: 'echo {}' });
    expect(world.clients.troubles()).toEqual([]);
  });

  test('that dies again and again is left alone for a while', async () => {
    await using world = await connected({ fix: fixture() });
    for (let died = 0; died < 2; died += 1) expect(await world.call('mcp_fix_die')).toMatchObject({ isError: true });
    const { output } = await world.call('mcp_fix_echo');
    expect(output).toMatch(
      /^The MCP server fix does not work: it ended with signal SIGKILL\. It is tried again in \d+ s\.$/u,
    );
    expect(world.clients.troubles().map(({ says }) => says)).toEqual([
      'The MCP server fix does not work: it ended with signal SIGKILL.',
    ]);
    expect(await world.clients.test('fix')).toMatchObject({ state: 'running', trouble: null });
  });

  test('has a deadline for a call, and hears that nobody waits any more', async () => {
    await using folder = await tempFolder();
    const file = join(folder.path, 'starts');
    await using world = await connected({
      fix: fixture(['', file], { timeouts: { startSeconds: 20, callSeconds: 1 } }),
    });
    expect(await world.call('mcp_fix_hang')).toMatchObject({
      isError: true,
      output: 'The MCP server fix did not answer within 1 s. It may have taken effect.',
    });
    await waitFor(async () => (await lines(file)).includes('cancelled'));
    expect(await world.call('mcp_fix_echo')).toMatchObject({ output: 'echo {}' });
    expect(await starts(file)).toHaveLength(1);
  });

  test('hears of a stopped turn; one that does not answer any more is ended, and the next call works', async () => {
    await using folder = await tempFolder();
    const file = join(folder.path, 'starts');
    await using world = await connected({ fix: fixture(['', file]) });
    const [first = 0] = await starts(file);
    for (const tool of ['hang', 'freeze']) {
      const stop = new AbortController();
      const running = world.call(`mcp_fix_${tool}`, {}, { signal: stop.signal });
      setTimeout(() => stop.abort(), 150);
      const before = performance.now();
      expect(await running).toMatchObject({ isError: true, output: expect.stringContaining('Cut off') });
      expectWithin(performance.now() - before, 2_000, 'the answer');
    }
    await waitFor(() => !isAlive(first), { what: 'the end of the frozen server' });
    expect(await lines(file)).toContain('cancelled');
    expect(await world.call('mcp_fix_echo')).toMatchObject({ output: 'echo {}' });
  });

  test('that has ended is told nothing more, and the failure says why', async () => {
    await using folder = await tempFolder();
    const program = { command: [process.execPath, '-e', ''], environment: {}, cwd: folder.path };
    const transport = new StdioTransport(program, { clock: systemClock, mark: folder.path });
    await transport.start();
    await waitFor(() => transport.end === 'exit code 0');
    await transport.close();
    const ping = { jsonrpc: '2.0', id: 1, method: 'ping' } as const;
    await expect(transport.send(ping)).rejects.toThrow('the server has ended');
  });

  test('is gone with everything it started when the assistant stops', async () => {
    await using folder = await tempFolder();
    const file = join(folder.path, 'starts');
    await using world = await connected({ fix: fixture(['', file]) });
    const child = Number((await world.call('mcp_fix_child')).output);
    const [pid = 0] = await starts(file);
    expect([isAlive(pid), isAlive(child)]).toEqual([true, true]);
    await world.clients[Symbol.asyncDispose]();
    expect([isAlive(pid), isAlive(child)]).toEqual([false, false]);
  });

  test('tells how far it is, and its own errors come as they are', async () => {
    await using world = await connected({ fix: fixture() });
    const shown: string[] = [];
    await world.call('mcp_fix_progress', {}, { progress: (text) => void shown.push(text) });
    expect(shown).toEqual(['fix: counting (1 of 2)']);
    expect(await world.call('mcp_fix_fail')).toMatchObject({ isError: true, output: 'the disk of the server is full' });
  });

  test('writes its standard error into the log without secrets, and wrong lines do no harm', async () => {
    await using world = await connected({ fix: fixture() });
    expect(await world.call('mcp_fix_shout')).toMatchObject({ output: 'shouted' });
    const line = await waitFor(() => world.log.find(({ message }) => message === 'stderr of an MCP server'));
    expect(line.fields).toEqual({ server: 'fix', line: 'shouting [redacted]' });
    expect(JSON.stringify(world.log)).not.toContain(SECRET);
    expect(await world.call('mcp_fix_echo')).toMatchObject({ output: 'echo {}' });
  });
});
