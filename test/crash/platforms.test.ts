import { expect, test } from 'vitest';
import { discordSide, platformKills, slackSide } from '../support/platform-kills.ts';

const seed = Number(process.env['CRASH_SEED'] ?? Date.now() % 1_000_000);

test.concurrent.each([
  ['Discord', discordSide],
  ['Slack', slackSide],
] as const)(
  '3 kills while people write on %s lose no message and answer none twice',
  { timeout: 400_000 },
  async (_, side) => {
    const report = await platformKills(side, { kills: 3, seed });
    console.log(`seed ${seed}: ${JSON.stringify(report)}`);
    expect(report).toMatchObject({ lost: [], doubled: [], marks: 0 });
  },
);
