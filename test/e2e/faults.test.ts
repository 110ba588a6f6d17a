import { expect, test } from 'vitest';
import { weather } from '../support/fault-storm.ts';

test('a Bot API that fails, repeats and mixes up loses no message, gives none a second turn and doubles no answer', async () => {
  const { faults } = await weather({
    seed: 7,
    chats: 8,
    messages: 6,
    everyMs: 60,
    share: 0.35,
    sendFaults: [{ status: 429, retryAfter: 0 }, { status: 500 }, 'reset-before', { delayMs: 50 }],
    pollFaults: ['reset-after', { delayMs: 30 }, { status: 429, retryAfter: 0 }],
  });
  expect(faults).toBeGreaterThan(5);
});
