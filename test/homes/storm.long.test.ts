import { afterAll, beforeAll, expect, test } from 'vitest';
import { FLEET, homeStorm, type HomeStormPlan, inShort, PAIRS, WEATHERED } from '../support/home-storm.ts';
import { postgresPrograms, startPostgres, type Server } from '../support/postgres.ts';
import { describeWith } from '../support/test-with.ts';

const seed = Number(process.env['STORM_SEED'] ?? Date.now() % 1_000_000);
const chosen = process.env['STORM_FAULTS'];
const programs = postgresPrograms();

describeWith('PostgreSQL')('gateways that are killed, frozen and cut from PostgreSQL again and again', () => {
  let server: Server;
  beforeAll(async () => {
    server = await startPostgres(programs ?? '');
  });
  afterAll(async () => server?.[Symbol.asyncDispose]());

  test.each<[string, number, Omit<HomeStormPlan, 'url' | 'faults' | 'seed'>]>([
    ['three of twelve homes, with leases of 2 s', 300, { ...FLEET, leaseSeconds: 2, awayMs: 5_000 }],
    ['three of twelve homes, with leases of 15 s', 10, { ...FLEET, leaseSeconds: 15, awayMs: 20_000 }],
    ['two of one home each, with leases of 2 s', 60, { ...PAIRS, leaseSeconds: 2, awayMs: 5_000 }],
  ])('%s, lose nothing, repeat nothing and answer in order', { timeout: 5_400_000 }, async (_, most, plan) => {
    const report = await homeStorm({
      ...plan,
      url: await server.database(),
      faults: chosen === undefined ? most : Math.min(most, Number(chosen)),
      seed,
      onFault: (line) => console.log(line),
    });
    const said = `seed ${seed}: ${JSON.stringify(inShort(report))}`;
    console.log(said);
    expect(report, said).toMatchObject(WEATHERED);
    expect(report.claimedMs[1], said).toBeLessThanOrEqual(10_000);
    expect(report.servedMs[1], said).toBeLessThanOrEqual(10_000);
  });
});
