/** A process of its own that looks for a sandbox: `node sandbox-child.ts HOME COMMAND` prints what it found as JSON. */
import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { createSandbox } from '../../src/core/security/sandbox/sandbox.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { systemRandom } from '../../src/core/util/random.ts';
import { PATHS } from './extensions.ts';

const [home = '', command = ''] = process.argv.slice(2);
const workspace = join(home, 'workspace');
mkdirSync(workspace, { recursive: true });
await using sandbox = createSandbox({
  protectedFolders: PATHS.folders,
  home,
  workspace,
  folder: join(home, 'sandbox'),
  readRoots: [],
  clock: systemClock,
  random: systemRandom,
});
const probe = await sandbox.probe();
let text = '';
if (probe.available) {
  const environment = { PATH: '/usr/bin:/bin' };
  const wrapped = await sandbox.wrap({
    command: ['/bin/sh', '-c', command],
    cwd: workspace,
    role: 'owner',
    environment,
  });
  const ran = spawnSync(wrapped.file, wrapped.args, {
    env: { ...wrapped.env },
    cwd: '/',
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  text = ran.stdout + ran.stderr;
}
process.stdout.write(
  JSON.stringify(probe.available ? { available: true, notes: probe.notes, proc: probe.engine.proc, text } : probe),
);
