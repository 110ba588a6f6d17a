import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CHATS } from '../support/crash-process.ts';
import { homeStorm, WEATHERED } from '../support/home-storm.ts';
import { postgresPrograms, startPostgres, type Server } from '../support/postgres.ts';

const seed = Number(process.env['STORM_SEED'] ?? Date.now() % 1_000_000);
const programs = postgresPrograms();

describe.skipIf(programs === undefined)('two gateways of one home', () => {
  let server: Server;
  beforeAll(async () => {
    server = await startPostgres(programs ?? '');
  });
  afterAll(async () => server?.[Symbol.asyncDispose]());

  test(
    'killed, frozen and cut from PostgreSQL twice each, they lose no message, repeat no command, and answer in order',
    { timeout: 400_000 },
    async () => {
      const report = await homeStorm({ url: await server.database(), faults: 6, seed, leaseSeconds: 2, awayMs: 3_000 });
      const said = `seed ${seed}: ${JSON.stringify(report)}`;
      console.log(said);
      const { lateSends, lateEffects, ...rest } = report;
      const { lateSends: _sends, lateEffects: _effects, ...weathered } = WEATHERED;
      expect(rest, said).toMatchObject({ ...weathered, faults: { killed: 2, frozen: 2, cut: 2 } });
      // What had passed the look at the lease when its process froze, in each chat; the long run allows none.
      expect(lateSends.length + lateEffects.length, said).toBeLessThanOrEqual(CHATS.length);
      expect(report.servedMs[1]).toBeLessThanOrEqual(10_000);
    },
  );
});
