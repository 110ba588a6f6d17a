import { spawn, type ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { App } from '../../src/core/app.ts';
import { homePaths } from '../../src/core/config/home.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { silentLog } from '../../src/core/util/log.ts';
import { openPool } from '../../src/extensions/mcp/open.ts';
import { serversMark } from '../../src/extensions/mcp/settings.ts';
import { appWith } from '../support/app-with.ts';
import { childIds, isAlive } from '../support/child-processes.ts';
import { tempFolder } from '../support/temp.ts';
import { describeWith } from '../support/test-with.ts';
import { waitFor } from '../support/wait.ts';
import { FIXTURE_SERVER } from './built-fixture.ts';
import { connected, fixture, type McpWorld } from './mcp-world.ts';

function pidIn(path: string): number {
  try {
    return Number(readFileSync(path, 'utf8'));
  } catch {
    return 0;
  }
}

/** The shell command of a server whose grandchild has left its session, its parent and its environment. */
function hiding(path: string, then = `exec '${process.execPath}' '${FIXTURE_SERVER}'`): string[] {
  return ['-c', `(setsid env -i /bin/sh -c 'echo $$ > "$1"; exec sleep 300' sh '${path}' &); ${then}`];
}

describeWith('perl', 'setsid')('a process of a server that left its session and cleared its environment', () => {
  test.each([
    ['is switched off', async (world: McpWorld) => await world.restart({})],
    ['ends by itself', async (world) => void (await world.call('mcp_fix_die'))],
    ['is restarted', async (world) => await world.restart()],
  ])('is ended when the server %s', async (_how, end) => {
    await using folder = await tempFolder();
    const path = join(folder.path, 'pid');
    await using world = await connected({ fix: fixture([], { command: '/bin/sh', args: hiding(path) }) });
    const pid = await waitFor(() => pidIn(path) || undefined);
    expect(isAlive(pid)).toBe(true);
    await end(world);
    await waitFor(() => !isAlive(pid), { what: 'the end of the grandchild' });
  });

  test('is ended, with the server, when the assistant is killed', async () => {
    await using folder = await tempFolder();
    const path = join(folder.path, 'pid');
    const assistant = assistantWith(folder.path, hiding(path, 'exec sleep 300'));
    const pid = await waitFor(() => pidIn(path) || undefined);
    expect(isAlive(pid)).toBe(true);
    assistant.kill('SIGKILL');
    await waitFor(() => !isAlive(pid), { what: 'the end of the grandchild' });
  });

  test('is ended by the next start, if what should have ended the server was killed too', async () => {
    await using folder = await tempFolder();
    const path = join(folder.path, 'pid');
    const assistant = assistantWith(folder.path, ['-c', 'echo $$ > "$0"; exec sleep 300', path]);
    const pid = await waitFor(() => pidIn(path) || undefined);
    const [supervisor = 0] = childIds(assistant.pid);
    process.kill(supervisor, 'SIGSTOP');
    assistant.kill('SIGKILL');
    process.kill(supervisor, 'SIGKILL');
    await waitFor(() => !isAlive(assistant.pid ?? 0) && !isAlive(supervisor));
    expect(isAlive(pid)).toBe(true);
    const starts = { unclean: 1 } as Partial<App['journal']['starts']>;
    await using _pool = await openPool(
      appWith({
        journal: { starts } as App['journal'],
        paths: homePaths(folder.path),
        clock: systemClock,
        log: silentLog,
        settingsOf: () => ({}) as never,
      }),
    );
    expect(isAlive(pid)).toBe(false);
  });
});

/** A process that runs a shell as the server of a home. */
function assistantWith(home: string, args: readonly string[]): ChildProcess {
  const program = { command: ['/bin/sh', ...args], environment: { PATH: process.env['PATH'] }, cwd: home };
  const [stdio, clock] = ['extensions/mcp/stdio.ts', 'core/util/clock.ts'].map((path) => {
    return JSON.stringify(new URL(`../../src/${path}`, import.meta.url).href);
  });
  const code = `import { StdioTransport } from ${stdio};
    import { systemClock } from ${clock};
    const options = { clock: systemClock, mark: ${JSON.stringify(serversMark(home))} };
    await new StdioTransport(${JSON.stringify(program)}, options).start();`;
  return spawn(process.execPath, ['--input-type=module', '-e', code]);
}
