import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { shellCall, startShell, type Exit } from '../../src/core/tools/exec/shell.ts';
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
  const env = { PATH: process.env['PATH'] ?? '/usr/bin:/bin' };
  const program = shellCall(`echo 1 > ${file}`, env);
  const shell = startShell({ program, cwd: folder.path, permit, clock: systemClock });
  const exit = await shell.exit;
  await delay(100);
  shell.close();
  return { exit, wrote: existsSync(file) };
}

test('a command that a frozen process still started is ended before it does anything', async () => {
  expect(await started(false)).toEqual({ exit: { code: 0, signal: null }, wrote: true });
  for (let n = 0; n < 10; n += 1)
    expect(await started(true)).toEqual({ exit: { code: null, signal: 'SIGKILL' }, wrote: false });
});
