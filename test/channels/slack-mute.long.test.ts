import { expect, test } from 'vitest';
import { ReconnectWorld } from '../support/slack-reconnect-world.ts';
import { waitFor } from '../support/wait.ts';

test('a line over which no ping is answered is replaced within seconds, and nothing is lost', async () => {
  await using world = await ReconnectWorld.open();
  world.sends('one');
  await waitFor(() => world.texts.length === 1);
  world.server.sockets.mute();
  const began = performance.now();
  world.sends('two');
  await waitFor(() => world.server.sockets.opened === 2);
  await waitFor(() => world.texts.includes('two'), { timeoutMs: 60_000 });
  expect(performance.now() - began).toBeLessThan(30_000);
  expect(world.server.sockets.most).toBeLessThanOrEqual(2);
}, 120_000);
