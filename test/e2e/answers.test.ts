import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test } from 'vitest';
import { call, GROUP } from '../support/three-people.ts';
import { waitFor } from '../support/wait.ts';
import { chatOf, OWNER, startWorld, type World } from '../support/world.ts';

const FRIEND = 43;
const ASKING = {
  channels: { telegram: { allowFrom: ['42', '43'], owners: ['42'], groups: { debounceMs: 0 } } },
  tools: { exec: { mode: 'ask', sandbox: 'off' } },
};

const touch = (name: string): object => ({ calls: [{ name: 'exec', arguments: { command: `touch ${name}` } }] });
const write = (path: string): object => ({ calls: [{ name: 'write_file', arguments: { path, content: 'x=1' } }] });
const asks = (choices: readonly string[]): object => ({
  calls: [{ name: 'ask_user', arguments: { question: 'What now?', choices } }],
});
const made = (world: World, name: string): boolean => existsSync(join(world.workspace, name));
const lastResult = (world: World): string => world.model.requests.at(-1)?.view.toolResults.at(-1)?.text ?? '';
const said = (world: World, part: string, chat = OWNER): Promise<string> =>
  waitFor(() => chatOf(world, chat).find((text) => text.includes(part)), { what: `${part} in ${chat}` });

/** The code of the question that shows this, once the assistant knows that it was delivered. */
async function codeOf(world: World, shown: string, chat = OWNER): Promise<string> {
  const text = await waitFor(
    () => chatOf(world, chat).find((one) => one.includes(shown) && one.includes('/approve ')),
    { what: `a question with ${shown}` },
  );
  await waitFor(async () => (await world.assistant.call('outboxList', {})).length === 0, { what: 'all is sent' });
  return /\/approve (\w+)/u.exec(text)?.[1] ?? '';
}

describe('an answer without a code', () => {
  test('allows neither of two questions: the reply lists their codes and first words', async () => {
    await using world = await startWorld({ config: ASKING });
    world.model.reply(touch('mine.txt'));
    world.telegram.userSays(OWNER, 'make a file');
    const mine = await codeOf(world, 'touch mine.txt');
    world.model.reply(write('.envrc'));
    world.telegram.userSays(FRIEND, 'set it up');
    const theirs = await codeOf(world, '+ x=1');
    world.telegram.userSays(OWNER, '/approve');
    const list = await said(world, '2 questions are waiting here');
    expect(list).toContain(`/approve ${mine} for Run a command: touch mine.txt`);
    expect(list).toMatch(new RegExp(`/approve ${theirs} for [^\n]*\\.envrc`, 'u'));
    world.model.reply('Made.');
    world.telegram.userSays(OWNER, `/approve ${mine}`);
    await said(world, 'Made.');
    expect([made(world, 'mine.txt'), made(world, '.envrc')]).toEqual([true, false]);
  });

  test('is none for what somebody else asks in the owner’s chat: they cannot choose the moment', async () => {
    await using world = await startWorld({ config: ASKING });
    world.model.reply('Hello.', write('.envrc'));
    world.telegram.userSays(OWNER, 'hi');
    await said(world, 'Hello.');
    world.telegram.userSays(FRIEND, 'set it up');
    const code = await codeOf(world, '+ x=1');
    expect(await said(world, '+ x=1')).not.toContain('Anything else you write');
    world.telegram.userSays(OWNER, '/approve');
    await said(world, 'about something that you asked for there. Name the code');
    // Nor is what the owner goes on saying a no.
    world.model.reply('Sunny.');
    world.telegram.userSays(OWNER, 'how is the weather?');
    await said(world, 'Sunny.');
    expect(made(world, '.envrc')).toBe(false);
    world.model.reply('Set up.');
    world.telegram.userSays(OWNER, `/approve ${code}`);
    await said(world, 'Set up.', FRIEND);
    expect(made(world, '.envrc')).toBe(true);
  });

  test('is none in a group, where others may choose the moment', async () => {
    await using world = await startWorld({ config: ASKING });
    world.model.reply(touch('a.txt'));
    call(world, 'make a file', 'owner');
    const code = await codeOf(world, 'touch a.txt', GROUP);
    world.telegram.userSays(GROUP, '/approve@test_bot', {
      from: { id: OWNER },
      entities: [{ type: 'bot_command', offset: 0, length: 17 }],
    });
    await said(world, 'about something that you asked for there. Name the code', GROUP);
    expect(made(world, 'a.txt')).toBe(false);
    world.model.reply('Done.');
    world.telegram.userSays(GROUP, `/approve@test_bot ${code}`, {
      from: { id: OWNER },
      entities: [{ type: 'bot_command', offset: 0, length: 17 }],
    });
    await said(world, 'Done.', GROUP);
    expect(made(world, 'a.txt')).toBe(true);
  });

  test('that was written before the question was shown is none, although it arrives after it', async () => {
    await using world = await startWorld({ config: ASKING });
    const written = Promise.withResolvers<void>();
    world.model.setHandler(async () => {
      await written.promise;
      return touch('a.txt');
    });
    world.telegram.userSays(OWNER, 'make a file');
    await waitFor(() => world.model.requests.length === 1, { what: 'the model' });
    let isCutOff = true;
    world.telegram.setFaultHandler(({ method }) => {
      return isCutOff && method === 'getUpdates' ? { status: 502, taken: false } : undefined;
    });
    // The poll that is open would still take it; this one ends it.
    world.telegram.userSays(FRIEND, '/help');
    await said(world, '/help', FRIEND);
    world.telegram.userSays(OWNER, '/approve');
    written.resolve();
    const code = await codeOf(world, 'touch a.txt');
    isCutOff = false;
    await said(world, 'You wrote this before the question here was shown, so name its code');
    expect(made(world, 'a.txt')).toBe(false);
    world.model.reply('Done.');
    world.telegram.userSays(OWNER, `/approve ${code}`);
    await said(world, 'Done.');
    expect(made(world, 'a.txt')).toBe(true);
  });

  test('allows the only question once it was shown', async () => {
    await using world = await startWorld({ config: ASKING });
    world.model.reply(touch('a.txt'), 'Done.');
    world.telegram.userSays(OWNER, 'make a file');
    await codeOf(world, 'touch a.txt');
    world.telegram.userSays(OWNER, '/approve');
    await said(world, 'Done.');
    expect(made(world, 'a.txt')).toBe(true);
  });
});

describe('a corrected message', () => {
  test('is no answer to an approval', async () => {
    await using world = await startWorld({ config: ASKING });
    world.model.reply(touch('a.txt'));
    const { messageId } = world.telegram.userSays(OWNER, 'make a flie');
    const code = await codeOf(world, 'touch a.txt');
    world.telegram.userEdits(OWNER, messageId, 'make a file');
    world.telegram.userEdits(OWNER, messageId, '/approve');
    // What was sent before this arrived before it.
    world.telegram.userSays(OWNER, '/deny nothing');
    await said(world, 'There is no open question named nothing.');
    expect((await world.assistant.call('approvalsList', {})).waiting).toMatchObject([{ code }]);
    world.model.setHandler(() => 'Done.');
    world.telegram.userSays(OWNER, `/approve ${code}`);
    await said(world, 'Done.');
    expect(made(world, 'a.txt')).toBe(true);
  });

  test('is no answer to what the model asks', async () => {
    await using world = await startWorld({ config: ASKING });
    world.model.reply(asks(['train', 'plane']));
    const { messageId } = world.telegram.userSays(OWNER, 'book a tirp');
    await said(world, 'What now?');
    world.telegram.userEdits(OWNER, messageId, 'book a trip');
    world.model.setHandler(() => 'Booked.');
    world.telegram.userSays(OWNER, 'train');
    await said(world, 'Booked.');
    const results = world.model.requests.flatMap(({ view }) => view.toolResults.map(({ text }) => text));
    expect(results.at(-1)).toMatch(/\ntrain$/u);
  });
});

describe('the word stop', () => {
  test('is the answer where it is one of the choices', async () => {
    await using world = await startWorld({ config: ASKING });
    world.model.reply(asks(['go on', 'Stop']), 'Left as it is.');
    world.telegram.userSays(OWNER, 'tidy up');
    await said(world, 'What now?');
    world.telegram.userSays(OWNER, 'stop');
    await said(world, 'Left as it is.');
    expect(lastResult(world)).toMatch(/\nStop$/u);
  });

  test('stops where it is none of them, and as a command it always does', async () => {
    await using world = await startWorld({ config: ASKING });
    for (const [choices, word] of [
      [['go on', 'wait'], 'stop'],
      [['go on', 'stop'], '/stop'],
    ] as const) {
      const before = chatOf(world).filter((text) => text === 'Stopped.').length;
      world.model.reply(asks(choices));
      world.telegram.userSays(OWNER, 'tidy up');
      await said(world, choices[1]);
      world.telegram.userSays(OWNER, word);
      await waitFor(() => chatOf(world).filter((text) => text === 'Stopped.').length > before, { what: word });
    }
  });
});

test('a home in which a newer program added something is served as before', async () => {
  await using world = await startWorld();
  await world.assistant[Symbol.asyncDispose]();
  const db = new DatabaseSync(join(world.home, 'state.db'));
  db.exec('CREATE TABLE later (n INTEGER) STRICT; PRAGMA user_version = 999');
  db.close();
  await world.restart();
  world.model.reply('Hello.');
  world.telegram.userSays(OWNER, 'hi');
  await said(world, 'Hello.');
});
