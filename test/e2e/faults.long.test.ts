import { expect, test } from 'vitest';
import { weather } from '../support/fault-storm.ts';

test.each([1, 2, 3])('storm %i: no loss, no second turn, no double, well again within 120 s', async (seed) => {
  const report = await weather({
    seed,
    chats: 20,
    messages: 30,
    everyMs: 1_000,
    share: 0.3,
    sendFaults: [
      { status: 429, retryAfter: 1 },
      { status: 429, retryAfter: 5 },
      { status: 500 },
      { status: 502, body: 'html' },
      { status: 502, body: 'html', taken: true },
      'reset-before',
      'reset-after',
      'hang',
      { delayMs: 3_000 },
    ],
    pollFaults: [
      { status: 500 },
      { status: 502, body: 'html' },
      { status: 409, description: 'Conflict: terminated by other getUpdates request' },
      { status: 429, retryAfter: 2 },
      'reset-before',
      'reset-after',
      'hang',
      { delayMs: 2_000 },
    ],
  });
  process.stdout.write(`storm ${seed}: ${JSON.stringify(report)}\n`);
  expect(report.recoveredMs).toBeLessThan(120_000);
});
