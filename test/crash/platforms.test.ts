import { expect, test } from 'vitest';
import { feishuSide, matrixSide, platformKills, slackSide } from '../support/platform-kills.ts';

const seed = Number(process.env['CRASH_SEED'] ?? Date.now() % 1_000_000);

// The long run has Discord too.
test.each([
  ['Slack', slackSide],
  ['Feishu, a plugin,', feishuSide],
  ['Matrix, a plugin,', matrixSide],
] as const)(
  '3 kills while people write on %s lose no message and answer none twice',
  async (_, side) => {
    const report = await platformKills(side, { kills: 3, seed });
    console.log(`seed ${seed}: ${JSON.stringify(report)}`);
    expect(report).toMatchObject({ lost: [], doubled: [], marks: 0 });
  },
  400_000,
);
