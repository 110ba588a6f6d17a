import { afterAll, beforeAll, expect, test } from 'vitest';
import { FLEET, homeStorm, inShort, WEATHERED } from '../support/home-storm.ts';
import { postgresPrograms, startPostgres, type Server } from '../support/postgres.ts';
import { describeWith } from '../support/test-with.ts';

const seed = Number(process.env['STORM_SEED'] ?? Date.now() % 1_000_000);
const faults = Number(process.env['STORM_FAULTS'] ?? 4);
const programs = postgresPrograms();

describeWith('PostgreSQL')('three gateways of twelve homes', () => {
  let server: Server;
  beforeAll(async () => {
    server = await startPostgres(programs ?? '');
  });
  afterAll(async () => server?.[Symbol.asyncDispose]());

  test(
    'killed, frozen and cut from PostgreSQL, they lose no message, repeat no command, and answer in order',
    { timeout: 400_000 },
    async () => {
      const report = await homeStorm({
        ...FLEET,
        url: await server.database(),
        faults,
        seed,
        leaseSeconds: 2,
        awayMs: 4_000,
      });
      const said = `seed ${seed}: ${JSON.stringify(inShort(report))}`;
      console.log(said);
      expect(report, said).toMatchObject(WEATHERED);
      expect(report.claimedMs[1]).toBeLessThanOrEqual(10_000);
    },
  );
});
