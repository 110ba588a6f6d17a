import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { expectWithin, waitFor } from '../support/wait.ts';
import { chatOf, OWNER, startWorld, type World } from '../support/world.ts';

const replies = (world: World, count: number): Promise<unknown> =>
  waitFor(() => chatOf(world).length >= count, { what: `${count} replies` });

/** Says /stop and waits for its reply, which must come within two seconds. */
async function stop(world: World): Promise<string> {
  const before = chatOf(world).length;
  const began = performance.now();
  world.telegram.userSays(OWNER, '/stop');
  await replies(world, before + 1);
  expectWithin(performance.now() - began, 2_000, 'the answer to /stop');
  return chatOf(world)[before] ?? '';
}

/** The next message gets its answer, and nothing else was said in between. */
async function expectAlive(world: World): Promise<void> {
  const before = chatOf(world).length;
  world.model.reply('Here again.');
  world.telegram.userSays(OWNER, 'hello?');
  await replies(world, before + 1);
  expect(chatOf(world).slice(before)).toEqual(['Here again.']);
}

/** Command lines of running processes that hold this word. */
function processesWith(word: string): readonly string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/u.test(name))
    .flatMap((pid) => {
      try {
        return [readFileSync(`/proc/${pid}/cmdline`, 'utf8')];
      } catch {
        return [];
      }
    })
    .filter((line) => line.includes(word));
}

describe('/stop', () => {
  test('in the middle of a command ends the whole tree of its processes', async () => {
    await using world = await startWorld({ config: { tools: { exec: { mode: 'full' } } } });
    // A length of sleep that no other process has.
    const length = `30${process.pid}.5`;
    const command = `sleep ${length} & (trap '' TERM; sleep ${length}) & sleep ${length}`;
    world.model.reply({ calls: [{ name: 'exec', arguments: { command } }] });
    world.telegram.userSays(OWNER, 'take your time');
    await waitFor(() => processesWith(length).filter((line) => line.startsWith('sleep')).length === 3);
    expect(await stop(world)).toBe('Stopped.');
    await waitFor(() => processesWith(length).length === 0, { timeoutMs: 3_000, what: 'no process is left' });
    await expectAlive(world);
  });

  test('while a failed model call waits to be tried again', async () => {
    await using world = await startWorld();
    const overloaded = { error: { status: 429, message: 'slow down', headers: { 'retry-after': '40' } } };
    world.model.setHandler(() => overloaded);
    world.telegram.userSays(OWNER, 'try');
    await waitFor(() => world.model.requests.length > 0 && world.model.inFlight === 0);
    const said = await stop(world);
    world.model.setHandler(() => 'Here again.');
    await waitFor(async () => (await world.tape(`telegram:${OWNER}`)).some((entry) => entry.kind === 'turn-end'));
    const calls = world.model.requests.length;
    world.telegram.userSays(OWNER, 'hello?');
    await waitFor(() => chatOf(world).includes('Here again.'));
    expect(world.model.requests).toHaveLength(calls + 1);
    expect(said).toMatch(/^Stopped/u);
  });

  test('in a flood of 1,000 messages: 50 wait, the others are refused with one notice, and all of it ends', async () => {
    await using world = await startWorld();
    world.model.reply({ fault: 'hang' });
    world.telegram.userSays(OWNER, 'the first');
    await waitFor(() => world.model.inFlight === 1);
    for (let n = 1; n < 1_000; n += 1) world.telegram.userSays(OWNER, `message ${n}`);
    expect(await stop(world)).toMatch(/^Too many messages/u);
    await replies(world, 2);
    expect(chatOf(world)).toEqual([expect.stringMatching(/^Too many/u), 'Stopped; dropped 50 waiting messages.']);
    await expectAlive(world);
    expect(world.model.requests).toHaveLength(2);
  });

  test('holds back an answer that could not be sent yet', async () => {
    await using world = await startWorld();
    world.telegram.faultNext('sendMessage', { status: 429, retryAfter: 1 });
    world.model.reply('A late answer.');
    world.telegram.userSays(OWNER, 'hi');
    await waitFor(() =>
      world.telegram.calls.some(({ method, outcome }) => method === 'sendMessage' && outcome === 429),
    );
    world.telegram.userSays(OWNER, '/stop');
    await replies(world, 1);
    expect(chatOf(world)).toEqual(['Nothing was running; held back 1 reply not sent yet.']);
    await expectAlive(world);
  });

  test('ends what a job does for the chat', async () => {
    await using world = await startWorld({ config: { agent: { timezone: 'Europe/Vienna' } } });
    const add = { action: 'add', when: 'in 1 second', text: 'look', kind: 'agent' };
    world.model.reply({ calls: [{ name: 'cron', arguments: add }] }, 'I will.', { fault: 'hang' });
    world.telegram.userSays(OWNER, 'look in a second');
    await waitFor(() => world.model.requests.length === 3, { what: 'the job asks the model' });
    world.telegram.userSays(OWNER, '/stop');
    await waitFor(() => chatOf(world).at(-1) === 'Stopped.', { what: 'the reply to /stop' });
    await waitFor(async () => (await world.assistant.call('cron', { action: 'show', id: 'look' })).runs.length === 1);
    expect((await world.tape('cron:look')).at(-1)).toMatchObject({ kind: 'turn-end', outcome: 'stopped' });
    expect(chatOf(world)).toEqual(['I will.', 'Stopped.']);
  });

  test('said when nothing runs says so; in a sentence it stops nothing', async () => {
    await using world = await startWorld();
    expect(await stop(world)).toBe('Nothing is running here.');
    world.model.reply('I will.');
    world.telegram.userSays(OWNER, 'stop by the shop');
    await replies(world, 2);
    expect(chatOf(world)[1]).toBe('I will.');
  });
});

describe('a unified session', () => {
  const config = {
    session: { unified: true },
    channels: { telegram: { allowFrom: ['42', '43', '44'], owners: ['42', '43'] } },
  };

  test('joins the owner’s direct chats and nobody else’s, and answers where the newest message came from', async () => {
    await using world = await startWorld({ config });
    world.model.reply('Noted.', 'Xylophone.', 'Who are you?');
    world.telegram.userSays(42, 'the word is xylophone');
    await waitFor(() => chatOf(world, 42).length === 1);
    world.telegram.userSays(43, 'which word?');
    await waitFor(() => chatOf(world, 43).length === 1);
    expect(JSON.stringify(world.model.requests[1]?.body)).toContain('the word is xylophone');
    world.telegram.userSays(44, 'hello');
    await waitFor(() => chatOf(world, 44).length === 1);
    expect(JSON.stringify(world.model.requests[2]?.body)).not.toContain('xylophone');
  });

  test('takes a message from the other chat into the running turn, whose answer goes there', async () => {
    await using world = await startWorld({ config });
    world.model.reply({ calls: [{ name: 'list_dir', arguments: {} }], delayMs: 300 }, 'Both.');
    world.telegram.userSays(42, 'list the files');
    await waitFor(() => world.model.inFlight === 1);
    world.telegram.userSays(43, 'and be brief');
    await waitFor(() => chatOf(world, 43).length === 1);
    expect([chatOf(world, 42), chatOf(world, 43)]).toEqual([[], ['Both.']]);
    world.model.reply('From the terminal.');
    expect(await world.assistant.run('and here?')).toMatchObject({ text: 'From the terminal.' });
  });

  test('is stopped from either chat', async () => {
    await using world = await startWorld({ config });
    world.model.reply({ fault: 'hang' });
    world.telegram.userSays(42, 'work');
    await waitFor(() => world.model.inFlight === 1);
    world.telegram.userSays(43, '/stop');
    await waitFor(() => chatOf(world, 43).length === 1);
    expect(chatOf(world, 43)).toEqual(['Stopped.']);
    await waitFor(() => world.model.inFlight === 0);
  });

  test('without the setting a message from another chat has a session of its own', async () => {
    await using world = await startWorld({ config: { ...config, session: { unified: false } } });
    world.model.reply({ calls: [{ name: 'list_dir', arguments: {} }], delayMs: 300 });
    world.model.setHandler(({ view }) => (view.lastUserText.includes('brief') ? 'Brief.' : 'Files.'));
    world.telegram.userSays(42, 'list the files');
    await waitFor(() => world.model.inFlight === 1);
    world.telegram.userSays(43, 'and be brief');
    await waitFor(() => chatOf(world, 42).length === 1 && chatOf(world, 43).length === 1);
    expect([chatOf(world, 42), chatOf(world, 43)]).toEqual([['Files.'], ['Brief.']]);
  });
});
