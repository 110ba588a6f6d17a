import { expect, test } from 'vitest';
import { fsyncFloor, slowness, startLoadWorld, type LoadWorld } from '../support/load-world.ts';
import { waitFor } from '../support/wait.ts';

const CHATS = 1_000;
const EACH = 10;
const PATIENCE = { timeoutMs: 600_000 };

/** What stands in each chat, oldest first. */
function textsByChat({ telegram }: LoadWorld): ReadonlyMap<number, readonly string[]> {
  const texts = new Map<number, string[]>();
  for (const { chatId, visibleText } of telegram.sentMessages) {
    texts.set(chatId, [...(texts.get(chatId) ?? []), visibleText]);
  }
  return texts;
}

test('1,000 chats and 10,000 messages at once: all answered, in order, with the event loop free and memory bounded', async () => {
  await using world = await startLoadWorld({ chats: CHATS });
  const [floor, slow] = [await fsyncFloor(), await slowness()];
  await world.measure();
  const began = performance.now();
  for (let n = 0; n < EACH; n += 1) {
    for (const chat of world.chats) world.telegram.userSays(chat, `message ${n}`);
  }
  await waitFor(() => world.telegram.sentMessages.length >= CHATS * EACH, { ...PATIENCE, what: 'all answers' });
  const seconds = (performance.now() - began) / 1_000;
  const figures = await world.measure();
  const report = { ...figures, seconds, turnsPerSecond: (CHATS * EACH) / seconds, fsyncMs: floor, slowness: slow };
  process.stdout.write(`load: ${JSON.stringify(report)}\n`);
  const texts = textsByChat(world);
  const expected = Array.from({ length: EACH }, (_, n) => `Answer to message ${n}`);
  for (const chat of world.chats) expect(texts.get(chat)).toEqual(expected);
  expect(figures.rssMb).toBeLessThan(300);
  expect(figures.p99Ms).toBeLessThan(50 * slow);
});

test('200 chats at 5,000 updates a second for 10 s: each is answered, or refused with the one notice of its chat', async () => {
  await using world = await startLoadWorld({ chats: 200 });
  await world.measure();
  const rounds = 250;
  const began = performance.now();
  for (let n = 0; n < rounds; n += 1) {
    for (const chat of world.chats) world.telegram.userSays(chat, `message ${n}`);
    const due = began + (n + 1) * 40;
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, due - performance.now())));
  }
  const said = performance.now() - began;
  await waitFor(() => world.telegram.unconfirmed.length === 0, { ...PATIENCE, what: 'all updates to be fetched' });
  const fetched = performance.now() - began;
  let last = -1;
  await waitFor(
    async () => {
      const now = world.telegram.sentMessages.length;
      const isQuiet = now === last && world.model.inFlight === 0;
      last = now;
      await new Promise((resolve) => setTimeout(resolve, 2_000));
      return isQuiet;
    },
    { ...PATIENCE, what: 'the last answer' },
  );
  const figures = await world.measure();
  const texts = textsByChat(world);
  const counts = await world.stopAndCount();
  let answered = 0;
  for (const chat of world.chats) {
    const states = counts.get(chat) ?? new Map<string, number>();
    const done = states.get('done') ?? 0;
    const refused = states.get('refused') ?? 0;
    expect(done + refused, `chat ${chat}`).toBe(rounds);
    const answers = (texts.get(chat) ?? []).filter((text) => text.startsWith('Answer to '));
    expect(new Set(answers).size, `chat ${chat}`).toBe(done);
    expect(answers).toHaveLength(done);
    const notices = (texts.get(chat) ?? []).filter((text) => text.startsWith('Too many messages'));
    expect(notices, `chat ${chat}`).toHaveLength(refused === 0 ? 0 : 1);
    answered += done;
  }
  const report = { ...figures, answered, of: rounds * world.chats.length, saidMs: said, fetchedMs: fetched };
  process.stdout.write(`flood: ${JSON.stringify(report)}\n`);
});
