import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { runEnclosed, type Exit } from '../../src/core/security/enclosure/enclosure.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { tempFolder } from '../support/temp.ts';

/** Starts a command that writes a file, with a permit that is withdrawn while it is started or is not; whether the file is there then. */
async function started(isWithdrawn: boolean): Promise<{ readonly exit: Exit; readonly wrote: boolean }> {
  await using folder = await tempFolder();
  const file = join(folder.path, 'effect');
  const permit = {
    isGranted: true,
    // As when the process is frozen right after it looked, and wakes up when the lease is over.
    check: () => void (permit.isGranted = !isWithdrawn),
  };
  const environment = { PATH: process.env['PATH'] ?? '/usr/bin:/bin' };
  const program = { command: ['/bin/sh', '-c', `echo 1 > ${file}`], cwd: folder.path, environment };
  const options = { engine: null, mounts: [], network: true, permit, clock: systemClock };
  const child = runEnclosed(program, options);
  child.stdout.resume();
  child.stderr.resume();
  const exit = await child.exit;
  await delay(100);
  return { exit, wrote: existsSync(file) };
}

test('a command that a frozen process still started is ended before it does anything', async () => {
  expect(await started(false)).toMatchObject({ exit: { code: 0, signal: null }, wrote: true });
  for (let n = 0; n < 10; n += 1)
    expect(await started(true)).toMatchObject({ exit: { code: null, signal: 'SIGKILL' }, wrote: false });
});
