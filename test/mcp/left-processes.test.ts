import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { tempFolder } from '../support/temp.ts';
import { describeWith } from '../support/test-with.ts';
import { waitFor } from '../support/wait.ts';
import { FIXTURE_SERVER } from './built-fixture.ts';
import { fixture, mcpWorld } from './mcp-world.ts';

/** False as well for a zombie. */
function isAlive(pid: number): boolean {
  try {
    return !/^State:\s+Z/mu.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

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
    ['is switched off', async (world: Awaited<ReturnType<typeof mcpWorld>>) => await world.restart({})],
    ['ends by itself', async (world) => void (await world.call('mcp_fix_die'))],
    ['is restarted', async (world) => await world.restart()],
  ])('is ended when the server %s', async (_how, end) => {
    await using folder = await tempFolder();
    const path = join(folder.path, 'pid');
    await using world = await mcpWorld({ fix: fixture([], { command: '/bin/sh', args: hiding(path) }) });
    await world.clients.test('fix');
    const pid = await waitFor(() => pidIn(path) || undefined);
    expect(isAlive(pid)).toBe(true);
    await end(world);
    await waitFor(() => !isAlive(pid), { what: 'the end of the grandchild' });
  });

  test('is ended, with the server, when the assistant is killed', async () => {
    await using folder = await tempFolder();
    const path = join(folder.path, 'pid');
    const program = JSON.stringify({
      command: ['/bin/sh', ...hiding(path, 'exec sleep 300')],
      environment: { PATH: process.env['PATH'] },
      cwd: folder.path,
    });
    const assistant = spawn(process.execPath, [
      '--input-type=module',
      '-e',
      `import { StdioTransport } from ${JSON.stringify(new URL('../../src/extensions/mcp/stdio.ts', import.meta.url).href)};
      import { systemClock } from ${JSON.stringify(new URL('../../src/core/util/clock.ts', import.meta.url).href)};
      await new StdioTransport(${program}, { clock: systemClock, mark: 'test' }).start();`,
    ]);
    const pid = await waitFor(() => pidIn(path) || undefined);
    expect(isAlive(pid)).toBe(true);
    assistant.kill('SIGKILL');
    await waitFor(() => !isAlive(pid), { what: 'the end of the grandchild' });
  });
});
