import { once } from 'node:events';
import { createServer } from 'node:net';
import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import type { SendError } from '../../src/core/channels/channel.ts';
import { renderTelegram } from '../../src/extensions/telegram/markup.ts';
import { DeliveryWorld } from '../support/delivery-world.ts';
import type { TelegramFault } from '../support/telegram-faults.ts';
import { PERSON, TelegramWorld } from '../support/telegram-world.ts';
import { waitFor } from '../support/wait.ts';

describe('sending', () => {
  test('a part goes out as HTML without previews, and its id comes back', async () => {
    await using world = await TelegramWorld.open();
    const [html = ''] = renderTelegram('**bold** & `code`');
    const { platformId } = await world.send(html);
    const [sent] = world.server.sentMessages;
    expect(sent).toMatchObject({ messageId: Number(platformId), parseMode: 'HTML', visibleText: 'bold & code' });
    expect(sent?.payload['link_preview_options']).toEqual({ is_disabled: true });
  });

  test('a reply is one where the message still is, and goes out without where it is not', async () => {
    await using world = await TelegramWorld.open();
    const { messageId } = world.server.userSays(7, 'question');
    await world.send('answer', { replyTo: String(messageId) });
    await world.send('answer', { replyTo: '4242' });
    expect(world.server.sentMessages.map(({ replyTo }) => replyTo)[0]).toBe(messageId);
    expect(world.server.sentMessages).toHaveLength(2);
  });

  test('a thread is a topic of the group', async () => {
    await using world = await TelegramWorld.open();
    await world.send('hi', { chatId: '-100', threadId: '5' });
    expect(world.server.sentMessages[0]).toMatchObject({ chatId: -100, threadId: 5 });
  });

  test('markup that Telegram refuses goes out as plain text in the same attempt', async () => {
    await using world = await TelegramWorld.open();
    await world.send('<b>1 &lt; 2</u> &amp; more');
    expect(world.server.sentMessages).toHaveLength(1);
    expect(world.server.sentMessages[0]).toMatchObject({ visibleText: '1 < 2 & more', parseMode: undefined });
  });

  test('every part of a long answer is taken by the server', async () => {
    await using world = await TelegramWorld.open();
    const parts = renderTelegram('A *long* **answer** with `code`.\n'.repeat(1_000));
    for (const part of parts) await world.send(`↻ ${part}`);
    expect(world.server.sentMessages.every(({ parseMode }) => parseMode === 'HTML')).toBe(true);
    expect(world.server.sentMessages).toHaveLength(parts.length);
  });

  test('a file that cannot be read is refused for good: nothing was sent, and another attempt would not help', async () => {
    await using world = await TelegramWorld.open();
    const gone = {
      kind: 'document',
      mediaType: 'text/plain',
      path: '/nowhere/report.txt',
      name: 'report.txt',
      size: 1,
    } as const;
    const sent = world.send('Here.', { media: [gone] });
    await expect(sent).rejects.toMatchObject({
      failure: 'permanent',
      message: expect.stringMatching(/the file report\.txt cannot be read/u),
    });
    expect(world.server.sentMessages).toEqual([]);
  });

  test('typing is a chat action of the chat and topic', async () => {
    await using world = await TelegramWorld.open();
    await world.manager.channel('telegram')?.typing?.({ chatId: '7', threadId: '5' }, new AbortController().signal);
    expect(world.server.calls.find(({ method }) => method === 'sendChatAction')?.payload).toEqual({
      chat_id: '7',
      action: 'typing',
      message_thread_id: 5,
    });
  });

  test('each new message has a connection of its own, so that a stale one cannot swallow it', async () => {
    await using world = await TelegramWorld.open();
    await waitFor(() => world.server.polling);
    for (let count = 0; count < 5; count += 1) {
      await world.send(`message ${count}`);
      world.server.cutAll();
    }
    expect(world.server.sentMessages).toHaveLength(5);
  });
});

describe('how a send fails', () => {
  test.each<[string, TelegramFault, SendError['failure'], number | undefined]>([
    ['a rate limit', { status: 429, retryAfter: 17 }, 'retryable', 17_000],
    ['a server error as JSON', { status: 500 }, 'retryable', undefined],
    ['a bad request', { status: 400, description: 'Bad Request: chat not found' }, 'permanent', undefined],
    ['a user who blocked the bot', { status: 403 }, 'blocked', undefined],
    ['a method that is not found', { status: 404, description: 'Not Found' }, 'permanent', undefined],
    ['a revoked token', { status: 401, description: 'Unauthorized' }, 'revoked', undefined],
    ['a reset before the server took it', 'reset-before', 'uncertain', undefined],
    ['a reset after the server took it', 'reset-after', 'uncertain', undefined],
    ['an "ok" without a message', { result: {} }, 'uncertain', undefined],
    ['an "ok" with a list of nothing', { result: [null] }, 'uncertain', undefined],
    ['an "ok" with a list of one', { result: [{}] }, 'uncertain', undefined],
    ['a proxy page', { status: 502, body: 'html' }, 'uncertain', undefined],
    ['a proxy page after the server took it', { status: 504, body: 'html', taken: true }, 'uncertain', undefined],
  ])('%s', async (_, fault, failure, retryAfterMs) => {
    await using world = await TelegramWorld.open({}, (server) => server.faultNext('sendMessage', fault));
    expect(await world.failure()).toMatchObject({ failure, retryAfterMs });
  });

  test.each([{}, [], null, { ok: 1 }])(
    'an edit that is answered "ok" with %j instead of the message is uncertain',
    async (result) => {
      await using world = await TelegramWorld.open();
      const { platformId } = await world.send('hello');
      world.server.faultNext('editMessageText', { result });
      const part = {
        messageId: 'm',
        kind: 'answer',
        chatId: String(PERSON),
        text: 'bye',
        media: [],
        nonce: 'n',
      } as const;
      const edited = world.manager.channel('telegram')?.edit?.({ ...part, platformId }, new AbortController().signal);
      await expect(edited).rejects.toMatchObject({ failure: 'uncertain' });
    },
  );

  test('a send that is cut off while the server is silent is uncertain', async () => {
    await using world = await TelegramWorld.open({}, (server) =>
      server.faultNext('sendMessage', { hang: true, taken: true }),
    );
    const cut = new AbortController();
    const failed = world.failure(cut.signal);
    await waitFor(() => world.server.sentMessages.length === 1);
    cut.abort();
    expect((await failed).failure).toBe('uncertain');
  });

  test('a server that does not listen certainly has nothing', async () => {
    await using world = await TelegramWorld.open();
    await world.server.close();
    const error = await world.failure();
    expect(error).toMatchObject({ failure: 'retryable', message: 'The call to Telegram failed: ECONNREFUSED' });
  });

  test('a connection that is never made certainly carried nothing', async () => {
    await using world = await TelegramWorld.open({ apiRoot: 'http://does-not-exist.invalid' });
    expect(world.manager.health()['telegram']).toMatchObject({
      state: 'reconnecting',
      detail: expect.stringMatching(/^The call to Telegram failed: (?:ENOTFOUND|EAI_AGAIN)$/u),
    });
  });

  test('a server that speaks no TLS certainly has nothing', async () => {
    const server = createServer((socket) => void socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    const { openTransport } = await import('../../src/extensions/telegram/transport.ts');
    const { VirtualClock } = await import('../support/virtual-clock.ts');
    using transport = openTransport(new VirtualClock());
    await expect(transport.call(`https://127.0.0.1:${port}/botX/sendMessage`, { body: '{}' })).rejects.toMatchObject({
      sent: false,
    });
    server.close();
  });

  test('a channel that is stopped refuses in a way that can be tried again', async () => {
    await using world = await TelegramWorld.open();
    await world.manager.stop();
    expect(await world.failure()).toMatchObject({ failure: 'retryable' });
  });
});

test('the token is in no error, health sentence or log line, whatever fails', async () => {
  await using world = await TelegramWorld.open({}, (server) => {
    server.faultNext('getMe', 'reset-before');
    server.faultNext('getUpdates', { status: 502, body: 'html' });
    server.faultNext('getUpdates', 'reset-before');
    server.faultNext('getUpdates', { status: 409, description: 'Conflict' });
  });
  await world.clock.advance(1_000);
  await waitFor(
    () => world.manager.health()['telegram']?.state !== 'reconnecting' || world.logged('channels: channel running'),
  );
  const errors: unknown[] = [];
  for (const fault of [
    'reset-before',
    'reset-after',
    { status: 502, body: 'html' },
    { status: 401 },
    { status: 429, retryAfter: 1 },
  ] as const) {
    world.server.faultNext('sendMessage', fault);
    errors.push(await world.failure());
  }
  await world.clock.advance(60_000);
  await world.server.close();
  errors.push(await world.failure());
  const told = inspect([errors, world.log.lines, world.manager.health()], { depth: 20, showHidden: true });
  expect(told).not.toContain('TEST-token');
});

test('a message can be edited: its text is replaced and its buttons go; an edit that changes nothing is no failure', async () => {
  await using world = await TelegramWorld.open();
  const buttons = [[{ id: 'deny:1', label: 'Deny' }]];
  const { platformId } = await world.send('<b>May I?</b>', { buttons });
  const part = { messageId: 'm', kind: 'approval', chatId: '7', media: [], nonce: 'n', platformId } as const;
  const channel = world.manager.channel('telegram');
  const edit = (text: string): Promise<void> | undefined =>
    channel?.edit?.({ ...part, text }, new AbortController().signal);
  expect(world.server.sentMessages[0]?.replyMarkup).toBeDefined();
  await edit('<b>May I?</b> No.');
  await edit('<b>May I?</b> No.');
  expect(world.server.sentMessages).toMatchObject([{ visibleText: 'May I? No.', replyMarkup: undefined }]);
  await expect(
    channel?.edit?.({ ...part, platformId: '999', text: 'x' }, new AbortController().signal),
  ).rejects.toThrow('message to edit not found');
});

describe('delivery over Telegram', () => {
  test('a reset after the server took the message leads to one marked copy; a retry after a 500 is unmarked', async () => {
    await using telegram = await TelegramWorld.open();
    await using world = await DeliveryWorld.open();
    const channel = telegram.manager.channel('telegram');
    if (channel !== undefined) world.outlets.channels.set('test', channel);
    telegram.server.faultNext('sendMessage', 'reset-after');
    world.delivery.start();
    await world.say('**one**', { chatId: '7' });
    await waitFor(() => world.state('m1') === 'uncertain');
    await world.clock.advance(2_000);
    await waitFor(() => world.state('m1') === undefined);
    telegram.server.faultNext('sendMessage', { status: 500 });
    await world.say('two', { chatId: '7' });
    await waitFor(() => (world.journal.outbox.open('m2')?.nextAt ?? 0) > 0);
    await world.clock.advance(1_000);
    await waitFor(() => world.state('m2') === undefined);
    expect(telegram.server.sentMessages.map(({ visibleText }) => visibleText)).toEqual(['one', '↻ one', 'two']);
  });
});
