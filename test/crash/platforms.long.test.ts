import { expect, test } from 'vitest';
import { discordSide, feishuSide, matrixSide, platformKills, slackSide } from '../support/platform-kills.ts';

const seed = Number(process.env['CRASH_SEED'] ?? Date.now() % 1_000_000);

test.each([
  ['Discord', discordSide],
  ['Slack', slackSide],
  ['Feishu, a plugin,', feishuSide],
  ['Matrix, a plugin,', matrixSide],
] as const)(
  '100 kills while people write on %s lose no message and answer none twice',
  { timeout: 60 * 60_000 },
  async (_, side) => {
    const report = await platformKills(side, { kills: 100, seed });
    console.log(`seed ${seed}: ${JSON.stringify(report)}`);
    expect(report).toMatchObject({ lost: [], doubled: [], marks: 0 });
  },
);
