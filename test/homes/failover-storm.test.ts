import { expect, test } from 'vitest';
import { failoverStorm } from '../support/failover-storm.ts';
import { inShort, WEATHERED } from '../support/home-storm.ts';
import { postgresPrograms } from '../support/postgres.ts';
import { describeWith } from '../support/test-with.ts';

const seed = Number(process.env['STORM_SEED'] ?? Date.now() % 1_000_000);
const programs = postgresPrograms();

describeWith('PostgreSQL')('gateways of a home in a PostgreSQL that fails over', () => {
  test(
    'lose nothing, repeat no command and answer in order when the primary is killed, and when it is frozen and goes on',
    { timeout: 300_000 },
    async () => {
      const report = await failoverStorm({ programs: programs ?? '', failovers: 2, seed, leaseSeconds: 5 });
      const said = `seed ${seed}: ${JSON.stringify(inShort(report))}`;
      console.log(said);
      const { lateSends, lateEffects, ...rest } = report;
      const { lateSends: _sends, lateEffects: _effects, ...weathered } = WEATHERED;
      expect(rest, said).toMatchObject({ ...weathered, vanished: [] });
      expect(report.committed).toBeGreaterThan(0);
      // What had passed the look at the lease when its process was kept waiting, one of each person; the long run allows none.
      expect(lateSends.length + lateEffects.length, said).toBeLessThanOrEqual(4);
    },
  );
});
