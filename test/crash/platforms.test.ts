import { expect, test } from 'vitest';
import { platformKills, slackSide } from '../support/platform-kills.ts';

const seed = Number(process.env['CRASH_SEED'] ?? Date.now() % 1_000_000);

// The long run has Discord too.
test('3 kills while people write on Slack lose no message and answer none twice', { timeout: 400_000 }, async () => {
  const report = await platformKills(slackSide, { kills: 3, seed });
  console.log(`seed ${seed}: ${JSON.stringify(report)}`);
  expect(report).toMatchObject({ lost: [], doubled: [], marks: 0 });
});
