import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { waitFor } from '../support/wait.ts';
import { fixture, mcpWorld, script, server, connected } from './mcp-world.ts';

describe('what a server asks', () => {
  test('the roots are the workspace, and the model is not lent', async () => {
    await using world = await connected({ fix: fixture() });
    const { output } = await world.call('mcp_fix_roots');
    expect(JSON.parse(output)).toEqual({ roots: [{ uri: `file://${world.folder}`, name: 'workspace' }] });
    expect(await world.call('mcp_fix_sample')).toMatchObject({ output: expect.stringContaining('Method not found') });
  });

  test('a form with defaults is answered with them once a person agreed, else it is declined', async () => {
    await using world = await connected({ fix: fixture() });
    const asked: string[] = [];
    const answer = async (approved: boolean, args = {}): Promise<string> => {
      const { output } = await world.call('mcp_fix_ask', args, {
        approve: async ({ detail }) => {
          asked.push(detail);
          return approved ? { approved } : { approved, reason: 'no' };
        },
      });
      return output;
    };
    expect(await answer(true)).toBe('accept {"count":3}');
    expect(await answer(false)).toBe('decline null');
    expect(asked).toEqual(
      Array.from({ length: 2 }, () => 'It asks: How many?\nThe answer would be: {\n  "count": 3\n}'),
    );
    expect(await answer(true, { bare: true })).toBe('decline null');
    expect(asked).toHaveLength(2);
  });

  test('the time for a call stands still while a person is asked, and does not begin again after it', async () => {
    await using world = await connected({ fix: fixture([], { timeouts: { startSeconds: 20, callSeconds: 1 } }) });
    const ask = async (pauseMs: number, thinkMs: number): Promise<string> => {
      const approve = async () => {
        await sleep(thinkMs);
        return { approved: true } as const;
      };
      return (await world.call('mcp_fix_ask', { pauseMs }, { approve })).output;
    };
    expect(await ask(0, 1_200)).toBe('accept {"count":3}');
    expect(await ask(700, 0)).toContain('did not answer within 1 s');
  });
});

describe('a server that does not work', () => {
  const waiting = (seconds: number): object => ({ timeouts: { startSeconds: seconds, callSeconds: 1 } });

  test.each([
    [
      'is not there',
      server({ command: 'no-such-program-at-all' }),
      /could not be started: there is no program "no-such-program-at-all" in its PATH/u,
    ],
    [
      'has no folder to start in',
      server({ command: process.execPath, cwd: 'no-such-folder' }),
      /could not be started: there is no folder ".*\/no-such-folder" to start it in/u,
    ],
    [
      'ends at once',
      script('console.error("no database"); process.exit(3)'),
      /it ended with exit code 3 before it could be used, and its last words were: no database/u,
    ],
    ['never answers', script('setInterval(() => {}, 1000)', waiting(1)), /it was not ready within 1 s/u],
    [
      'writes garbage',
      script('setInterval(() => console.log("garbage ".repeat(50)), 20)', waiting(4)),
      /it was not ready within 4 s \(.*\d+ of its lines on standard output were no messages/u,
    ],
    [
      'does not speak the protocol',
      script(
        `process.stdin.once('data', () => console.log('{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":5}}'));
        setInterval(() => {}, 1000);`,
      ),
      /does not work: what it sent does not fit the protocol: protocolVersion: [^[{]*\.$/u,
    ],
    [
      'never ends a line',
      script('const all = "x".repeat(1e6); setInterval(() => process.stdout.write(all), 1)'),
      /it ended with a line of more than 10485760 bytes/u,
    ],
  ])('that %s says why, and holds nobody up', async (_how, broken, why) => {
    await using world = await mcpWorld({ broken, fix: fixture() });
    world.clients.connectNew();
    await waitFor(() => world.names().includes('mcp_fix_echo'), { what: 'the tools of the good server' });
    expect(await world.call('mcp_fix_echo')).toMatchObject({ output: 'echo {}' });
    const trouble = await waitFor(() => world.clients.troubles()[0]?.says);
    expect(trouble).toMatch(why);
    expect(trouble).toMatch(/^The MCP server broken does not work: [^\n]{1,520}\.$/u);
  });
});
