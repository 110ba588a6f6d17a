import { rmSync } from 'node:fs';
import { expect, test } from 'vitest';
import { createAssistant } from '../../src/app.ts';
import { connectAssistant } from '../../src/core/gateway/control.ts';
import { homePaths } from '../../src/core/config/home.ts';
import { readHolder } from '../../src/core/storage/lock.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { silentLog } from '../../src/core/util/log.ts';
import { SkippingClock } from '../support/skipping-clock.ts';
import { waitFor } from '../support/wait.ts';
import { chatOf, OWNER, startWorld } from '../support/world.ts';

/** Longer than the time between two looks. */
const LATER_MS = 6_000;

test('a lock, a holder’s name and a socket that somebody removed are there again, and the gateway goes on', async () => {
  const clock = new SkippingClock();
  await using world = await startWorld({ clock });
  world.model.setHandler(() => 'Yes.');
  const { lock, socket } = homePaths(world.home);
  for (const path of [lock, `${lock}.holder`, socket]) rmSync(path);
  clock.skip(LATER_MS);
  await waitFor(() => readHolder(lock)?.pid === process.pid, { what: 'the lock' });
  await waitFor(async () => {
    await using connected = await connectAssistant(socket, systemClock);
    return connected !== undefined;
  });
  await expect(createAssistant({ home: world.home, log: silentLog })).rejects.toThrow(`process ${process.pid}`);
  world.telegram.userSays(OWNER, 'still there?');
  await waitFor(() => chatOf(world).includes('Yes.'), { what: 'an answer' });
});
