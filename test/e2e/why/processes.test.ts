import { expect, test } from 'vitest';
import { gone, startDyingHome, type DyingHome } from '../../support/dying-home.ts';
import { startSmallDisk, whyNoSmallDisks } from '../../support/small-disk.ts';
import { waitFor } from '../../support/wait.ts';

const patient = { timeoutMs: 120_000 };
const noDisk = whyNoSmallDisks();

/** What /why says of the last message. */
async function why({ say, chat }: Pick<DyingHome, 'say' | 'chat'>): Promise<string> {
  const before = chat().length;
  say('/why');
  const told = await waitFor(
    () =>
      chat()
        .slice(before)
        .find((text) => text.startsWith('About ')),
    {
      ...patient,
      what: 'the story',
    },
  );
  return told.split('\n')[0] ?? '';
}

test('/why says that the process was killed in the middle, and that the next one went on', async () => {
  await using home = await startDyingHome();
  home.say('think hard');
  const dying = home.start('model');
  await waitFor(() => gone(dying), patient);
  home.reply('Thought.');
  home.start('never');
  await waitFor(() => home.chat().includes('Thought.'), patient);
  expect(await why(home)).toBe(
    'About “think hard”: The process ended while I worked on it, and the next one went on with it.',
  );
});

test('/why says that a message was given up, because the process was killed each time', async () => {
  await using home = await startDyingHome();
  home.say('a poisonous message');
  for (let life = 1; life <= 3; life += 1) {
    const child = home.start('model');
    await waitFor(() => gone(child), { ...patient, what: `death ${life}` });
  }
  home.start('never');
  await waitFor(() => home.chat().length === 1, patient);
  expect(await why(home)).toBe(
    'About “a poisonous message”: I gave up on it: the process ended each time that I worked on it.',
  );
});

test.skipIf(noDisk !== null)(`/why says that the disk was full${noDisk ?? ''}`, async () => {
  await using world = await startSmallDisk({ disk: { megabytes: 24 } });
  world.start();
  await waitFor(async () => (await world.health())?.status === 200, patient);
  const say = (text: string): void => void world.telegram.userSays(42, text);
  say('before');
  await waitFor(() => world.chat().includes('Answer to before'), patient);
  await world.fill();
  say('in between');
  await waitFor(async () => (await world.health())?.status === 503, patient);
  const full = performance.now();
  await waitFor(() => performance.now() - full > 2_000, patient);
  await world.free();
  await waitFor(() => world.chat().includes('Answer to in between'), patient);
  await waitFor(() => world.chat().some((text) => text.includes('can be written again, after')), patient);
  expect(await why({ say, chat: world.chat })).toMatch(
    /^About “in between”: It waited \d+ s, because the disk could not be written\.$/u,
  );
});
