import { expect, test } from 'vitest';
import { discordWeather, platformStorm, slackWeather } from '../support/platform-storm.ts';

test.concurrent.each([
  ['Discord', discordWeather],
  ['Slack', slackWeather],
] as const)(
  '%s that fails, cuts and mutes its line loses no message, gives none a second turn and doubles no answer',
  { timeout: 240_000 },
  async (_, open) => {
    const size = { seed: 7, chats: 4, messages: 8, everyMs: 400, share: 0.4, lineEveryMs: 600 };
    const report = await platformStorm(open, size);
    expect(report.faults).toBeGreaterThan(2);
  },
);
