/** A process of its own that looks for a sandbox: `node sandbox-child.ts HOME COMMAND` prints what it found as JSON. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { text as textOf } from 'node:stream/consumers';
import { runEnclosed } from '../../src/core/security/enclosure/enclosure.ts';
import { createSandbox } from '../../src/core/security/enclosure/sandbox.ts';
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
  const enclosure = await sandbox.enclose({ cwd: workspace, role: 'owner' });
  const program = { command: ['/bin/sh', '-c', `exec 2>&1; ${command}`], cwd: workspace, environment };
  const ran = runEnclosed(program, { ...enclosure, clock: systemClock });
  text = await textOf(ran.stdout);
}
process.stdout.write(
  JSON.stringify(
    probe.available ? { available: true, notes: probe.notes, features: probe.engine.features, text } : probe,
  ),
);
