import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { homeStorm, WEATHERED } from '../support/home-storm.ts';
import { postgresPrograms, startPostgres, type Server } from '../support/postgres.ts';

const seed = Number(process.env['STORM_SEED'] ?? Date.now() % 1_000_000);
const faults = Number(process.env['STORM_FAULTS'] ?? 300);
const programs = postgresPrograms();

describe.skipIf(programs === undefined)('two gateways of one home, again and again', () => {
  let server: Server;
  beforeAll(async () => {
    server = await startPostgres(programs ?? '');
  });
  afterAll(async () => server?.[Symbol.asyncDispose]());

  test(`${faults} times killed, frozen or cut from PostgreSQL, they lose nothing, repeat nothing and answer in order`, async () => {
    const report = await homeStorm({
      url: await server.database(),
      faults,
      seed,
      leaseSeconds: 2,
      awayMs: 5_000,
      onFault: (line) => console.log(line),
    });
    const said = `seed ${seed}: ${JSON.stringify(report)}`;
    console.log(said);
    expect(report, said).toMatchObject(WEATHERED);
    expect(report.servedMs[1]).toBeLessThanOrEqual(10_000);
  });
});
