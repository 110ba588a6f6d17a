import { describe, expect, test } from 'vitest';
import type { FakeModel } from '../support/fake-model.ts';
import { waitFor } from '../support/wait.ts';
import { chatOf, OWNER, startWorld, type World } from '../support/world.ts';

const replies = (world: World, count: number, chat = OWNER): Promise<unknown> =>
  waitFor(() => chatOf(world, chat).length >= count, { what: `${count} replies` });

const busy = (world: World): Promise<unknown> => waitFor(() => world.model.inFlight === 1, { what: 'a model call' });

/** How many of the texts the newest request to the model holds. */
function holds(model: FakeModel, ...texts: readonly string[]): readonly boolean[] {
  const body = JSON.stringify(model.requests.at(-1)?.body);
  return texts.map((text) => body.includes(text));
}

const accepted = (world: World): Promise<unknown> =>
  waitFor(() => world.telegram.unconfirmed.length === 0, { what: 'everything is accepted' });

describe('a message that comes while its session is busy', () => {
  test('steer: too late for the running turn, several become one next turn', async () => {
    await using world = await startWorld();
    world.model.reply({ text: 'First.', delayMs: 400 }, 'All three.');
    world.telegram.userSays(OWNER, 'one');
    await busy(world);
    for (const text of ['two', 'three', 'four']) world.telegram.userSays(OWNER, text);
    await replies(world, 2);
    expect(chatOf(world)).toEqual(['First.', 'All three.']);
    expect(world.model.requests).toHaveLength(2);
    expect(holds(world.model, 'two', 'three', 'four')).toEqual([true, true, true]);
  });

  test('steer: at most three join before each model call, in order', async () => {
    await using world = await startWorld();
    const look = { calls: [{ name: 'list_dir', arguments: {} }], delayMs: 400 };
    world.model.reply(look, { ...look, delayMs: 0 }, 'Done.');
    world.telegram.userSays(OWNER, 'go');
    await busy(world);
    for (let n = 1; n <= 5; n += 1) world.telegram.userSays(OWNER, `wish ${n}`);
    await replies(world, 1);
    const wishes = world.model.requests.map(({ body }) => JSON.stringify(body).match(/wish \d/gu) ?? []);
    expect(wishes.map((list) => list.length)).toEqual([0, 3, 5]);
    expect(chatOf(world)).toEqual(['Done.']);
  });

  test('whoever sent a message that joined is told when its turn ends', async () => {
    await using world = await startWorld();
    world.model.reply({ calls: [{ name: 'list_dir', arguments: {} }], delayMs: 300 }, 'Both.');
    const first = world.assistant.run('list the files');
    await busy(world);
    const second = world.assistant.run('and be brief');
    expect((await Promise.all([first, second])).map(({ text }) => text)).toEqual(['Both.', 'Both.']);
  });

  test('as /busy says it for this chat, also in a turn that runs, until /busy default', async () => {
    await using world = await startWorld();
    world.model.reply({ text: 'First.', delayMs: 500 }, 'Second.', 'Third.');
    world.telegram.userSays(OWNER, 'one');
    await busy(world);
    world.telegram.userSays(OWNER, '/busy queue');
    await replies(world, 1);
    for (const text of ['two', 'three']) world.telegram.userSays(OWNER, text);
    await replies(world, 4);
    expect(chatOf(world)).toEqual([
      'From now on a message that comes while I work here waits until that work ends (queue).',
      'First.',
      'Second.',
      'Third.',
    ]);
    world.telegram.userSays(OWNER, '/busy');
    await replies(world, 5);
    expect(chatOf(world)[4]).toContain('By your choice, a message that comes while I work here waits until');
    world.telegram.userSays(OWNER, '/busy sometimes');
    await replies(world, 6);
    expect(chatOf(world)[5]).toContain('Nothing was changed.');
    world.telegram.userSays(OWNER, '/busy default');
    await replies(world, 7);
    expect(chatOf(world)[6]).toBe(
      'From now on a message that comes while I work here joins that work (steer), as by default.',
    );
    world.model.reply({ text: 'Fourth.', delayMs: 400 }, 'All.');
    world.telegram.userSays(OWNER, 'four');
    await busy(world);
    for (const text of ['five', 'six']) world.telegram.userSays(OWNER, text);
    await replies(world, 9);
    expect(chatOf(world).slice(7)).toEqual(['Fourth.', 'All.']);
  });

  test('a choice for one chat leaves the others, and outlives a restart', async () => {
    await using world = await startWorld();
    world.telegram.userSays(OWNER, '/busy interrupt');
    await replies(world, 1);
    await world.restart();
    world.model.reply({ text: 'Never said.', delayMs: 5_000 }, 'Second.');
    world.telegram.userSays(OWNER, 'one');
    await busy(world);
    world.telegram.userSays(OWNER, 'two');
    await waitFor(() => chatOf(world).includes('Second.'), { what: 'the second answer' });
    expect(chatOf(world)).not.toContain('Never said.');
    world.model.reply({ text: 'Api.', delayMs: 300 }, 'Later.');
    const first = world.assistant.run('one');
    await busy(world);
    const second = world.assistant.run('two');
    expect((await Promise.all([first, second])).map(({ text }) => text)).toEqual(['Api.', 'Later.']);
  });

  test('queue: each gets its own turn, in order', async () => {
    await using world = await startWorld({ config: { agent: { whenBusy: 'queue' } } });
    world.model.reply({ text: 'First.', delayMs: 300 }, 'Second.', 'Third.');
    for (const text of ['one', 'two', 'three']) world.telegram.userSays(OWNER, text);
    await replies(world, 3);
    expect(chatOf(world)).toEqual(['First.', 'Second.', 'Third.']);
    expect(world.model.requests).toHaveLength(3);
  });

  test('interrupt: it ends the running turn and is answered instead', async () => {
    await using world = await startWorld({ config: { agent: { whenBusy: 'interrupt' } } });
    world.model.reply({ text: 'never seen '.repeat(50), eventDelayMs: 100 }, 'About cats.');
    world.telegram.userSays(OWNER, 'tell me about dogs');
    await busy(world);
    world.telegram.userSays(OWNER, 'no, about cats');
    await replies(world, 1);
    expect(chatOf(world)).toEqual(['About cats.']);
    const ends = (await world.tape(`telegram:${OWNER}`)).filter((entry) => entry.kind === 'turn-end');
    expect(ends.map(({ outcome }) => outcome)).toEqual(['stopped', 'answered']);
    await world.restart();
    world.model.reply('Still here.');
    world.telegram.userSays(OWNER, 'hello');
    await replies(world, 2);
    expect(chatOf(world)).toEqual(['About cats.', 'Still here.']);
  });

  test('/new ends the running turn, drops the queue before it and starts afresh', async () => {
    await using world = await startWorld({ config: { agent: { whenBusy: 'queue' } } });
    world.model.reply({ text: 'old '.repeat(100), eventDelayMs: 100 }, 'New.');
    world.telegram.userSays(OWNER, 'an old story');
    await busy(world);
    for (const text of ['waiting one', 'waiting two', '/new', 'hello']) world.telegram.userSays(OWNER, text);
    await replies(world, 2);
    expect(chatOf(world)).toEqual([
      'I started a new conversation (2 waiting messages dropped). What shall we do?',
      'New.',
    ]);
    expect(holds(world.model, 'old story', 'waiting', 'hello')).toEqual([false, false, true]);
  });
});

describe('slots', () => {
  test('a chat with a long task does not keep another waiting, even with a single slot', async () => {
    await using world = await startWorld({
      config: {
        agent: { maxConcurrentTurns: 1 },
        channels: { telegram: { allowFrom: ['42', '43'], owners: ['42', '43'] } },
      },
    });
    world.model.setHandler(({ view }) =>
      JSON.stringify(view.lastUserText).includes('quick')
        ? 'Quick answer.'
        : view.messageCount < 24
          ? { calls: [{ name: 'list_dir', arguments: { path: `.` } }], delayMs: 60 }
          : 'Long answer.',
    );
    world.telegram.userSays(42, 'a long task');
    await waitFor(() => world.model.requests.length >= 2);
    world.telegram.userSays(43, 'a quick one');
    await replies(world, 1, 43);
    expect(chatOf(world, 42)).toEqual([]);
    expect(world.model.requests.length).toBeLessThan(9);
  });

  test('/stop ends a turn that waits for a slot, and commands have slots of their own', async () => {
    await using world = await startWorld({
      config: {
        agent: { maxConcurrentTurns: 1 },
        channels: { telegram: { allowFrom: ['42', '43'], owners: ['42', '43'] } },
      },
    });
    world.model.reply({ fault: 'hang' });
    world.telegram.userSays(42, 'hang');
    await busy(world);
    world.telegram.userSays(43, 'wait for a slot');
    await accepted(world);
    world.telegram.userSays(43, '/help');
    await replies(world, 1, 43);
    world.telegram.userSays(43, '/stop');
    await replies(world, 2, 43);
    expect(chatOf(world, 43)[1]).toBe('Stopped.');
    world.telegram.userSays(42, '/stop');
    await replies(world, 1, 42);
    world.model.reply('Free again.');
    world.telegram.userSays(43, 'and now?');
    await replies(world, 3, 43);
    expect(chatOf(world, 43)[2]).toBe('Free again.');
  });
});
