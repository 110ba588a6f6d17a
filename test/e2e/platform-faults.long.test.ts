import { describe, expect, test } from 'vitest';
import { discordWeather, platformStorm, slackWeather } from '../support/platform-storm.ts';

describe.each([
  ['Discord', discordWeather],
  ['Slack', slackWeather],
] as const)('%s', (name, open) => {
  test.each([1, 2, 3])('storm %i: no loss, no second turn, no double, well again within 120 s', async (seed) => {
    const size = { seed, chats: 20, messages: 30, everyMs: 1_000, share: 0.3, lineEveryMs: 2_500 };
    const report = await platformStorm(open, size);
    process.stdout.write(`${name}, storm ${seed}: ${JSON.stringify(report)}\n`);
    expect(report.recoveredMs).toBeLessThan(120_000);
  });
});
