import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createAssistant } from '../../src/app.ts';
import { silentLog } from '../../src/core/util/log.ts';
import { waitFor } from '../support/wait.ts';
import { chatOf, OWNER, startWorld } from '../support/world.ts';

test('a turn that a start takes up ends with that start when it fails, and goes on with the next', async () => {
  await using world = await startWorld();
  world.model.setHandler(() => ({ fault: 'hang' }));
  world.telegram.userSays(OWNER, 'hello');
  await waitFor(() => world.model.inFlight === 1);
  await world.assistant.close();
  await waitFor(() => world.model.inFlight === 0);

  await using other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  const { port } = other.address() as AddressInfo;
  const environment = { PATH: process.env['PATH'], HOME: world.home };
  await expect(
    createAssistant({ home: world.home, serve: 'gateway', port, environment, log: silentLog }),
  ).rejects.toThrow(String(port));
  await delay(300);
  expect(world.model.requests.length).toBeLessThanOrEqual(2);
  await waitFor(() => world.model.inFlight === 0, { timeoutMs: 5_000, what: 'nobody asks the model any more' });

  world.model.setHandler(() => 'Hello.');
  await world.restart();
  await waitFor(() => chatOf(world).includes('Hello.'));
});
