import { expect } from 'vitest';
import { testUnless } from '../support/test-with.ts';
import { crashRun, UNHARMED } from '../support/crash-run.ts';
import { whyNoDiskLibrary } from '../support/disk-library.ts';

const seed = Number(process.env['CRASH_SEED'] ?? Date.now() % 1_000_000);
const powerTest = testUnless(await whyNoDiskLibrary(), { concurrent: true });

powerTest(
  '2 power losses at random instants lose no message, answer none twice unmarked and repeat no command',
  { timeout: 400_000 },
  async () => {
    const report = await crashRun({ kills: 2, seed, dialect: 'openai', power: true });
    const said = `seed ${seed}: ${JSON.stringify(report)}`;
    console.log(said);
    expect(report, said).toMatchObject(UNHARMED);
  },
);

powerTest(
  'a recovery after a power loss that is killed three times begins anew each time and loses nothing',
  { timeout: 400_000 },
  async () => {
    const report = await crashRun({ kills: 1, seed, dialect: 'anthropic', power: true, during: 3 });
    const said = `seed ${seed}: ${JSON.stringify(report)}`;
    console.log(said);
    expect(report, said).toMatchObject(UNHARMED);
  },
);
