import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test } from 'vitest';
import { recordingLog } from '../support/recording-log.ts';
import { reads, startDiscordWorld } from '../support/discord-world.ts';
import { postsIn, OWNER as SLACK_OWNER, DIRECT, startSlackWorld } from '../support/slack-world.ts';
import { GROUP } from '../support/three-people.ts';
import { waitFor } from '../support/wait.ts';
import { chatOf, OWNER, startWorld, type World } from '../support/world.ts';

/** Has the journal refuse each message with one of these words, as a broken rule of its tables would. */
function refuseInJournal(world: World, word: string): Disposable {
  const db = new DatabaseSync(join(world.home, 'state.db'), { timeout: 5_000 });
  db.exec(
    `CREATE TRIGGER refuse BEFORE INSERT ON inbound WHEN NEW.payload LIKE '%${word}%'
     BEGIN SELECT RAISE(ABORT, 'the rule of the test'); END`,
  );
  return {
    [Symbol.dispose]: () => {
      db.exec('DROP TRIGGER IF EXISTS refuse');
      db.close();
    },
  };
}

const setAside = async (world: World): Promise<readonly string[]> =>
  Promise.all(
    (await readdir(join(world.home, 'quarantine')).catch(() => [])).map((name) =>
      readFile(join(world.home, 'quarantine', name), 'utf8'),
    ),
  );

describe('one message that can never be written', () => {
  test('is kept in the quarantine, the owner is told once, and those that came with it are answered', async () => {
    const log = recordingLog();
    await using world = await startWorld({ log });
    world.model.reply('Hello.');
    world.telegram.userSays(OWNER, 'hello');
    await waitFor(() => chatOf(world).includes('Hello.'), { what: 'the first answer' });
    using _ = refuseInJournal(world, 'poisonous');
    for (let n = 0; n < 5; n += 1) world.model.reply(`Answer ${n}.`);
    world.telegram.userSays(OWNER, 'one');
    world.telegram.userSays(OWNER, `a poisonous word and ${world.telegram.token}`);
    world.telegram.userSays(OWNER, 'two');
    await waitFor(() => world.telegram.unconfirmed.length === 0, { timeoutMs: 60_000, what: 'the offset' });
    const heard = (): string => JSON.stringify(world.model.requests.map(({ view }) => view.lastUserText));
    await waitFor(() => heard().includes('one') && heard().includes('two'), { what: 'what the model heard' });
    const notices = (): readonly string[] => chatOf(world).filter((text) => text.includes('could not be processed'));
    await waitFor(() => notices().length === 1, { what: 'the notice' });
    expect(notices()[0]).toContain(join(world.home, 'quarantine'));
    expect(heard()).not.toContain('poisonous');
    const kept = await setAside(world);
    expect(kept).toHaveLength(1);
    expect(kept[0]).toContain('a poisonous word');
    expect(kept[0]).not.toContain(world.telegram.token);
    expect(log.lines.filter(({ message }) => message === 'telegram: one update was set aside')).toHaveLength(1);
  });

  test('does not stop a channel of Discord', async () => {
    await using world = await startDiscordWorld();
    world.model.reply('Hello.', 'Still here.');
    world.discord.sends(world.direct, world.owner, 'hello');
    await reads(world, world.direct, 'Hello.');
    using _ = refuseInJournal(world, 'poisonous');
    world.discord.sends(world.direct, world.owner, 'a poisonous word');
    world.discord.sends(world.direct, world.owner, 'and now?');
    await reads(world, world.direct, 'Still here.', { timeoutMs: 40_000 });
    await reads(world, world.direct, /could not be processed/u);
    expect(await setAside(world)).toHaveLength(1);
  });

  test('does not stop a channel of Slack, and is acknowledged when it is kept', async () => {
    await using world = await startSlackWorld();
    world.model.reply('Hello.', 'Still here.');
    world.slack.sends(SLACK_OWNER, DIRECT, 'hello');
    await waitFor(() => postsIn(world).includes('Hello.'), { what: 'the first answer' });
    using _ = refuseInJournal(world, 'poisonous');
    world.slack.sends(SLACK_OWNER, DIRECT, 'a poisonous word');
    world.slack.sends(SLACK_OWNER, DIRECT, 'and now?');
    await waitFor(() => postsIn(world).includes('Still here.'), { timeoutMs: 40_000, what: 'the second answer' });
    await waitFor(() => world.slack.sockets.unacknowledged.length === 0, { what: 'the acknowledgements' });
    await waitFor(() => postsIn(world).some((text) => text.includes('could not be processed')), { what: 'the notice' });
    expect(await setAside(world)).toHaveLength(1);
  });
});

test('one update that cannot be read is kept, told of, and does not stop what comes with it', async () => {
  await using world = await startWorld();
  world.model.reply('Hello.', 'Fine.');
  world.telegram.userSays(OWNER, 'hello');
  await waitFor(() => chatOf(world).includes('Hello.'), { what: 'the first answer' });
  world.telegram.pushUpdate({ message: { message_id: 'not a number', text: 'lost?' } });
  world.telegram.userSays(OWNER, 'fine?');
  await waitFor(() => chatOf(world).includes('Fine.'), { what: 'the answer' });
  await waitFor(() => chatOf(world).some((text) => text.includes('could not be processed')), { what: 'the notice' });
  expect((await setAside(world))[0]).toContain('lost?');
});

describe('a commit that fails once', () => {
  test('costs a group nothing of what was said before', async () => {
    const log = recordingLog();
    const telegram = { allowFrom: ['42', '43'], owners: ['42'], groups: { debounceMs: 0, followUpSeconds: 0 } };
    await using world = await startWorld({ log, config: { channels: { telegram } } });
    const mention = { entities: [{ type: 'mention', offset: 0, length: 9 }] };
    world.model.reply('The 10:15.');
    world.telegram.userSays(GROUP, 'my train is the 10:15', { from: { id: 43, first_name: 'Bob' } });
    await waitFor(() => world.telegram.unconfirmed.length === 0);
    const broken = refuseInJournal(world, 'which one');
    world.telegram.userSays(GROUP, '@test_bot which one?', { from: { id: OWNER, first_name: 'Ann' }, ...mention });
    const failed = (): boolean =>
      log.lines.some(({ fields }) => JSON.stringify(fields).includes('the rule of the test'));
    await waitFor(failed, { what: 'the first failure' });
    broken[Symbol.dispose]();
    await waitFor(() => chatOf(world, GROUP).includes('The 10:15.'), { what: 'the answer' });
    expect(world.model.requests.at(-1)?.view.lastUserText).toContain('Bob: my train is the 10:15');
  });
});
