import { expect, test } from 'vitest';
import { crashRun } from '../support/crash-run.ts';
import { diskEnvironment } from '../support/disk-library.ts';

const seed = Number(process.env['CRASH_SEED'] ?? Date.now() % 1_000_000);
const powerTest = (await diskEnvironment({})) === undefined ? test.skip : test.concurrent;

const whole = { lost: [], doubled: [], wrongMarks: [], repeatedEffects: [], missingEffects: [], unannounced: [] };

powerTest(
  '5 power losses at random instants lose no message, answer none twice unmarked and repeat no command',
  { timeout: 120_000 },
  async () => {
    const report = await crashRun({ kills: Number(process.env['CRASH_KILLS'] ?? 5), seed, dialect: 'openai', power: true });
    console.log(`seed ${seed}: ${JSON.stringify(report)}`);
    expect(report).toMatchObject(whole);
  },
);

powerTest(
  'a recovery after a power loss that is killed three times begins anew each time and loses nothing',
  { timeout: 120_000 },
  async () => {
    const report = await crashRun({ kills: Number(process.env['CRASH_KILLS'] ?? 3), seed, dialect: 'anthropic', power: true, during: 3 });
    console.log(`seed ${seed}: ${JSON.stringify(report)}`);
    expect(report).toMatchObject(whole);
  },
);
