import { execFile, spawn } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { childEnvironment } from '../support/child-environment.ts';
import { tempFolder } from '../support/temp.ts';
import { waitFor } from '../support/wait.ts';

const LAUNCHER = fileURLToPath(new URL('../../src/launcher.cjs', import.meta.url));
const run = promisify(execFile);

test('/restart begins the gateway anew in its own process, and what it said arrives', async () => {
  await using folder = await tempFolder();
  const home = join(folder.path, 'home');
  const env = childEnvironment({ HOME: folder.path, ASSISTANT_HOME: home });
  const gateway = spawn(process.execPath, [LAUNCHER, 'gateway', '--port', '0'], {
    env,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let log = '';
  gateway.stderr.on('data', (chunk) => (log += String(chunk)));
  const starts = (): number => log.split('"msg":"ready"').length - 1;
  try {
    await waitFor(() => starts() === 1, { what: 'the first start' });
    const say = async (text: string): Promise<string> =>
      (await run(process.execPath, [LAUNCHER, 'chat', '-m', text], { env })).stdout;
    expect(await say('/restart')).toContain('Restarting.');
    await waitFor(() => starts() === 2, { what: 'the second start' });
    expect(gateway.exitCode).toBeNull();
    const { stdout } = await run(process.execPath, [LAUNCHER, 'status', '--json'], { env });
    expect(JSON.parse(stdout)).toMatchObject({ running: true, pid: gateway.pid });
  } finally {
    const ended = new Promise((resolve) => gateway.once('exit', resolve));
    gateway.kill('SIGTERM');
    await ended;
  }
});
