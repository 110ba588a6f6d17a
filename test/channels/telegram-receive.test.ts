import { describe, expect, test } from 'vitest';
import { PERSON, TelegramWorld } from '../support/telegram-world.ts';
import { waitFor } from '../support/wait.ts';

const offsets = (world: TelegramWorld): readonly number[] =>
  world.server.calls.filter(({ method }) => method === 'getUpdates').map(({ payload }) => Number(payload['offset']));

describe('receiving', () => {
  test('a text becomes an accepted draft and the offset moves past it', async () => {
    await using world = await TelegramWorld.open();
    const { updateId, messageId } = world.server.userSays(PERSON, 'hello');
    await waitFor(() => world.server.unconfirmed.length === 0 && world.accepted.length === 1);
    expect(world.accepted[0]).toMatchObject({
      channel: 'telegram',
      account: '123456',
      chatId: '7',
      role: 'owner',
      text: 'hello',
      externalId: `m:${messageId}`,
    });
    expect(offsets(world).at(-1)).toBe(updateId + 1);
  });

  test('messages sent while nothing ran come as one batch, in order', async () => {
    await using world = await TelegramWorld.open({}, (server) => {
      for (const text of ['one', 'two', 'three']) server.userSays(PERSON, text);
    });
    await waitFor(() => world.accepted.length === 3);
    expect(world.batches).toEqual([['one', 'two', 'three']]);
  });

  test('the offset moves only after the batch was written down', async () => {
    await using world = await TelegramWorld.open();
    const gate = Promise.withResolvers<void>();
    let asked = false;
    world.refuse = () => {
      asked = true;
      return gate.promise;
    };
    world.server.userSays(PERSON, 'hello');
    await waitFor(() => asked);
    expect(world.server.unconfirmed).toHaveLength(1);
    gate.resolve();
    await waitFor(() => world.server.unconfirmed.length === 0);
  });

  test('a batch that cannot be written down is kept, told of, and taken when the disk heals', async () => {
    await using world = await TelegramWorld.open();
    let full = true;
    world.refuse = () =>
      full ? Promise.reject(Object.assign(new Error('no space left'), { code: 'ENOSPC' })) : undefined;
    world.server.userSays(PERSON, 'precious');
    await waitFor(() => world.manager.health()['telegram']?.detail !== undefined);
    expect(world.manager.health()['telegram']).toMatchObject({
      state: 'reconnecting',
      detail: 'Messages wait for the disk: no space left',
    });
    await world.clock.advance(5_000);
    expect(world.server.unconfirmed).toHaveLength(1);
    full = false;
    await world.clock.advance(30_000);
    await waitFor(() => world.server.unconfirmed.length === 0);
    expect(world.texts).toEqual(['precious']);
    expect(world.manager.health()['telegram']?.state).toBe('running');
  });

  test('an update that is handed out again has the key that it had before', async () => {
    await using world = await TelegramWorld.open();
    const { updateId } = world.server.userSays(PERSON, 'hello');
    await waitFor(() => world.accepted.length === 1);
    world.server.duplicateUpdate(updateId);
    world.server.duplicateUpdate(updateId, { asNew: true });
    await waitFor(() => world.accepted.length === 3);
    expect(new Set(world.accepted.map(({ externalId }) => externalId)).size).toBe(1);
  });

  test('an update that nobody understands is skipped and the rest is taken', async () => {
    await using world = await TelegramWorld.open();
    world.server.pushUpdate({ message: { message_id: 'not a number' } });
    world.server.userSays(PERSON, 'fine');
    await waitFor(() => world.server.unconfirmed.length === 0 && world.accepted.length === 1);
    expect(world.logged('telegram: one update was set aside')).toBe(true);
  });

  test('an edit arrives as a message of its own', async () => {
    await using world = await TelegramWorld.open();
    const { messageId } = world.server.userSays(PERSON, 'helo');
    world.server.userEdits(PERSON, messageId, 'hello');
    await waitFor(() => world.accepted.length === 2);
    expect(world.accepted[1]?.externalId).toMatch(new RegExp(`^e:${messageId}:\\d+:\\d+$`, 'u'));
  });
});

describe('strangers', () => {
  test('they are not heard, may knock, and are told of once an hour with the way to let them in', async () => {
    await using world = await TelegramWorld.open();
    world.server.userSays(666, 'let me in');
    world.server.userSays(666, 'please');
    world.server.userSays(PERSON, 'hello');
    await waitFor(() => world.accepted.length === 1);
    const told = world.log.lines.filter(({ message }) => message.startsWith('access: ignored a message'));
    expect(told).toHaveLength(1);
    expect(told[0]?.fields).toMatchObject({
      senderId: '666',
      hint: 'To let them in, approve the code they were sent (npm run assistant -- pair list), or add "666" to channels.telegram.allowFrom and start again.',
    });
    expect(new Set(world.server.calls.map(({ method }) => method))).toEqual(new Set(['getMe', 'getUpdates']));
    const request = { channel: 'telegram', senderId: '666', chatId: '666', name: 'Person' };
    await waitFor(() => world.pairingRequests.length > 0);
    for (const one of world.pairingRequests) expect(one).toEqual(request);
    await world.clock.advance(3_600_000);
    world.server.userSays(666, 'still here');
    await waitFor(
      () => world.log.lines.filter(({ message }) => message.startsWith('access: ignored a message')).length === 2,
    );
  });

  test('they may not knock in groups, with a button, or as programs', async () => {
    await using world = await TelegramWorld.open();
    const mention = { entities: [{ type: 'mention', offset: 0, length: 9 }] };
    world.server.userSays(-100, '@test_bot let me in', { from: { id: 666 }, ...mention });
    world.server.userSays(667, 'beep', { from: { is_bot: true } });
    const { messageId } = world.server.userSays(668, 'x', { from: world.server.bot });
    world.server.userPresses(669, messageId, 'approve');
    world.server.userSays(PERSON, 'hello');
    await waitFor(() => world.accepted.length === 1);
    await waitFor(() => world.server.unconfirmed.length === 0);
    expect(world.pairingRequests).toEqual([]);
  });

  test('who were let in since are heard from their next message on', async () => {
    await using world = await TelegramWorld.open();
    world.paired.add('666');
    world.server.userSays(666, 'hello');
    await waitFor(() => world.accepted.length === 1);
    expect(world.accepted[0]).toMatchObject({ role: 'trusted', sender: { id: '666' } });
    world.paired.delete('666');
    world.server.userSays(666, 'still there?');
    await waitFor(() => world.pairingRequests.length === 1);
    expect(world.accepted).toHaveLength(1);
  });

  test('a name in allowFrom lets nobody in', async () => {
    await using world = await TelegramWorld.open({ allowFrom: ['@ada'] });
    world.server.userSays(PERSON, 'hello', { from: { username: 'ada' } });
    await waitFor(() => world.server.unconfirmed.length === 0);
    expect(world.accepted).toEqual([]);
    expect(world.pairingRequests).toHaveLength(1);
  });
});

describe('a platform in trouble', () => {
  test.each([
    ['a server error', { status: 500 }],
    ['a proxy page', { status: 502, body: 'html' }],
    ['a broken connection', 'reset-before'],
  ] as const)('polling goes on after %s', async (_, fault) => {
    await using world = await TelegramWorld.open({}, (server) => server.faultNext('getUpdates', fault, 2));
    await waitFor(() => world.logged('telegram: getUpdates failed'));
    expect(world.manager.health()['telegram']?.state).toBe('reconnecting');
    world.server.userSays(PERSON, 'hello');
    await waitFor(async () => {
      await world.clock.advance(1_000);
      return world.accepted.length > 0;
    });
    expect(world.texts).toEqual(['hello']);
  });

  test('a poll that hangs is cut off after 40 s', async () => {
    await using world = await TelegramWorld.open({}, (server) => server.faultNext('getUpdates', 'hang'));
    world.server.userSays(PERSON, 'hello');
    await waitFor(() => offsets(world).length === 1);
    await world.clock.advance(40_000);
    await waitFor(() => world.logged('telegram: getUpdates failed'));
    await world.clock.advance(1_000);
    await waitFor(() => world.accepted.length === 1);
  });

  test('a wait that Telegram asks for is kept', async () => {
    await using world = await TelegramWorld.open({}, (server) =>
      server.faultNext('getUpdates', { status: 429, retryAfter: 20 }),
    );
    await waitFor(() => world.logged('telegram: getUpdates failed'));
    await world.clock.advance(19_000);
    expect(offsets(world)).toHaveLength(1);
    await world.clock.advance(1_000);
    await waitFor(() => offsets(world).length === 2);
  });

  test('a second program on the same bot is told of once, and polling goes on slowly', async () => {
    await using world = await TelegramWorld.open({}, (server) =>
      server.faultNext(
        'getUpdates',
        { status: 409, description: 'Conflict: terminated by other getUpdates request' },
        3,
      ),
    );
    await waitFor(() => world.logged('telegram: getUpdates failed'));
    expect(world.manager.health()['telegram']?.detail).toContain('Another program fetches this bot');
    for (let polls = 2; polls <= 4; polls += 1) {
      await world.clock.advance(29_999);
      expect(offsets(world)).toHaveLength(polls - 1);
      await world.clock.advance(1);
      await waitFor(() => offsets(world).length === polls);
    }
    expect(world.log.lines.filter(({ message }) => message === 'telegram: getUpdates failed')).toHaveLength(1);
  });

  test('a wrong token fails the channel with what to do; it is told once and tried seldom', async () => {
    await using world = await TelegramWorld.open({ token: '123456:WRONG' });
    expect(world.manager.health()['telegram']).toMatchObject({
      state: 'failed',
      detail: expect.stringMatching(
        /^Telegram refused the bot token of channel "telegram": get a valid one from @BotFather/u,
      ),
    });
    await world.clock.advance(599_000);
    expect(world.log.lines.filter(({ level }) => level === 'error')).toHaveLength(1);
    await world.clock.advance(3_600_000);
    expect(world.manager.health()['telegram']?.state).toBe('failed');
    expect(world.log.lines.filter(({ level }) => level === 'error')).toHaveLength(1);
  });

  test('a token that is revoked while polling fails the channel', async () => {
    await using world = await TelegramWorld.open({}, (server) =>
      server.faultNext('getUpdates', { status: 401, description: 'Unauthorized' }),
    );
    await waitFor(() => world.manager.health()['telegram']?.state === 'failed');
    expect(world.manager.outlet('telegram')).toBe('waiting');
    // Platforms say so on a bad day, too.
    await world.clock.advance(600_000);
    await waitFor(() => world.manager.health()['telegram']?.state === 'running');
    expect(world.log.lines.filter(({ level }) => level === 'error')).toHaveLength(1);
  });

  test('a server that cannot be reached is tried again', async () => {
    await using world = await TelegramWorld.open({}, (server) =>
      server.faultNext('getMe', { status: 502, body: 'html' }),
    );
    expect(world.manager.health()['telegram']).toMatchObject({ state: 'reconnecting' });
    await world.clock.advance(1_000);
    await waitFor(() => world.manager.health()['telegram']?.state === 'running');
  });

  test('a server that does not answer is tried again after 30 s', async () => {
    await using world = await TelegramWorld.open({}, (server) => {
      server.faultNext('getMe', { status: 502, body: 'html' });
      server.faultNext('getMe', 'hang');
    });
    const asked = (): number => world.server.calls.filter(({ method }) => method === 'getMe').length;
    await world.clock.advance(1_000);
    await waitFor(() => asked() === 2);
    await world.clock.advance(30_000);
    await waitFor(() => /took longer/u.test(world.manager.health()['telegram']?.detail ?? ''));
    await world.clock.advance(10_000);
    await waitFor(() => world.manager.health()['telegram']?.state === 'running');
    expect(asked()).toBe(3);
  });

  test('stopping ends an open poll at once', async () => {
    await using world = await TelegramWorld.open();
    await waitFor(() => world.server.polling);
    await world.manager.stop();
    await waitFor(() => !world.server.polling);
    expect(world.manager.health()['telegram']?.state).toBe('stopped');
  });
});

describe('another program that polls for the same bot', () => {
  test.each([1, 2])(
    'for minutes is told to the owner once, and health says it (conflict at every %s. poll)',
    async (every) => {
      await using world = await TelegramWorld.open();
      let polls = 0;
      world.server.setFaultHandler(({ method }) => {
        if (method !== 'getUpdates') return undefined;
        polls += 1;
        return polls % every === 0
          ? { status: 409, description: 'Conflict: terminated by other getUpdates request' }
          : undefined;
      });
      world.server.userSays(PERSON, 'wakes the poll');
      await waitFor(() => polls > 0);
      for (let n = 0; n < 40; n += 1) {
        world.server.userSays(PERSON, `message ${n}`);
        await world.clock.advance(15_000);
        await new Promise((resolve) => setTimeout(resolve, 15));
      }
      expect([...world.notices.values()]).toEqual([
        expect.stringMatching(/^Messages on telegram may not reach me\. Another program fetches this bot's messages/u),
      ]);
      expect(world.manager.health()['telegram']).toMatchObject({
        state: 'reconnecting',
        detail: expect.stringContaining('Another program'),
      });
    },
  );
});
