import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { postgresPrograms, startPostgres } from '../support/postgres.ts';
import { describeWith } from '../support/test-with.ts';
import { waitFor } from '../support/wait.ts';
import { OWNER } from '../support/world.ts';
import { startMachines } from './machines-world.ts';

const programs = postgresPrograms();

describeWith('PostgreSQL')('a turn of one home that ends the gateway of many', () => {
  test('is given up alone: the turns of the other homes are answered', { timeout: 180_000 }, async () => {
    await using server = await startPostgres(programs ?? '');
    await using world = await startMachines(`${await server.database()}&leaseSeconds=15`, ['ada', 'bob']);
    const { gateway } = await world.program('machine');
    await gateway.settled();
    let [deaths, isPatient] = [0, true];
    const dies = async (): Promise<void> => {
      await delay(500);
      await gateway.kill();
      deaths += 1;
    };
    world.model.setHandler(({ body }) => {
      if (JSON.stringify(body).includes('said-poison')) void dies();
      return isPatient ? { fault: 'hang' } : { text: 'Granted.', delayMs: 2_000 };
    });
    const asked = (word: string): boolean =>
      world.model.requests.some(({ body }) => JSON.stringify(body).includes(word));
    world.home('bob').telegram.userSays(OWNER, 'said-wish');
    await waitFor(() => asked('said-wish'), { what: 'the wish of Bob' });
    world.home('ada').telegram.userSays(OWNER, 'said-poison');
    await waitFor(() => deaths === 1, { what: 'the first death' });
    for (const next of [2, 3, 4]) {
      isPatient = next === 2;
      await gateway.start();
      await waitFor(() => deaths === next, { timeoutMs: 60_000, what: `death ${next}` });
    }
    await gateway.start();
    const told = (name: string): string => world.home(name).answers().join('\n');
    await waitFor(() => told('ada') !== '' && told('bob') !== '', { timeoutMs: 60_000, what: 'both are told' });
    expect(told('ada')).toContain('I was stopped 4 times while working on “said-poison” and gave up on it.');
    expect(world.home('bob').answers().at(0)).toMatch(/Granted\.$/u);
    expect(deaths).toBe(4);
  });
});
