import { expect, test } from 'vitest';
import { crashRun, UNHARMED } from '../support/crash-run.ts';
import { whyNoDiskLibrary } from '../support/disk-library.ts';

const seed = Number(process.env['CRASH_SEED'] ?? Date.now() % 1_000_000);
const noDisk = await whyNoDiskLibrary();
const runs = Array.from(
  { length: 30 },
  (_, n) => ({ seed: seed + n, dialect: n % 2 === 0 ? 'openai' : 'anthropic' }) as const,
);

test.skipIf(noDisk !== undefined).each(runs)(
  '10 power losses at random instants lose nothing and double nothing (seed $seed, $dialect)',
  async (run) => {
    const report = await crashRun({ ...run, kills: 10, power: true });
    const said = `seed ${run.seed}, power: ${JSON.stringify(report)}`;
    console.log(said);
    expect(report, said).toMatchObject(UNHARMED);
  },
);

test.skipIf(noDisk !== undefined).each(runs.slice(0, 15))(
  '3 power losses, each with a recovery that is killed three times, lose nothing and double nothing (seed $seed, $dialect)',
  async (run) => {
    const report = await crashRun({ ...run, kills: 3, power: true, during: 3 });
    const said = `seed ${run.seed}, power and recovery: ${JSON.stringify(report)}`;
    console.log(said);
    expect(report, said).toMatchObject(UNHARMED);
  },
);

test.each(runs.slice(15))(
  '3 kills, each with a recovery that is killed three times, lose nothing and double nothing (seed $seed, $dialect)',
  async (run) => {
    const report = await crashRun({ ...run, kills: 3, during: 3 });
    const said = `seed ${run.seed}, recovery: ${JSON.stringify(report)}`;
    console.log(said);
    expect(report, said).toMatchObject(UNHARMED);
  },
);
