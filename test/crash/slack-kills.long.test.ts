import { expect, test } from 'vitest';
import { slackKills } from '../support/slack-kills.ts';

test('a hundred kills over Slack lose nothing and double nothing', async () => {
  const report = await slackKills({ kills: Number(process.env['SLACK_KILLS'] ?? 100), seed: 12 });
  expect(report).toMatchObject({ lost: [], doubled: [], marked: 0 });
}, 900_000);
