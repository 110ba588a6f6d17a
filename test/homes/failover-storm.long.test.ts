import { expect, test } from 'vitest';
import { failoverStorm } from '../support/failover-storm.ts';
import { inShort, WEATHERED } from '../support/home-storm.ts';
import { postgresPrograms } from '../support/postgres.ts';
import { describeWith } from '../support/test-with.ts';

const seed = Number(process.env['STORM_SEED'] ?? Date.now() % 1_000_000);
const failovers = Number(process.env['STORM_FAILOVERS'] ?? 10);
const programs = postgresPrograms();

describeWith('PostgreSQL')('gateways of a home in a PostgreSQL that fails over again and again', () => {
  test(`${failovers} times, they lose nothing, repeat nothing and answer in order`, async () => {
    const report = await failoverStorm({
      programs: programs ?? '',
      failovers,
      seed,
      leaseSeconds: 15,
      onFailover: (line) => console.log(line),
    });
    const said = `seed ${seed}: ${JSON.stringify(inShort(report))}`;
    console.log(said);
    expect(report, said).toMatchObject({ ...WEATHERED, vanished: [] });
    expect(report.committed).toBeGreaterThan(0);
  });
});
