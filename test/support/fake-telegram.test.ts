import { Api, GrammyError, HttpError } from 'grammy';
import { expect, test } from 'vitest';
import { startFakeTelegram } from './fake-telegram.ts';
import { waitFor } from './wait.ts';

async function open(options: { readonly token?: string } = {}) {
  const server = await startFakeTelegram(options);
  const api = new Api(server.token, { apiRoot: server.apiRoot });
  return { server, api, [Symbol.asyncDispose]: () => server.close() };
}

const thrownBy = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => undefined,
    (error: unknown) => error,
  );

test('the bot knows itself, and another token is unauthorized', async () => {
  await using bot = await open();
  expect(await bot.api.getMe()).toMatchObject({ id: 123456, is_bot: true, username: 'test_bot' });
  const stranger = new Api('123456:other', { apiRoot: bot.server.apiRoot });
  expect(await thrownBy(stranger.getMe())).toMatchObject({ error_code: 401, description: 'Unauthorized' });
});

test('an update stays until a higher offset confirms it', async () => {
  await using bot = await open();
  const { updateId, messageId } = bot.server.userSays(7, 'hello');
  const [update] = await bot.api.getUpdates();
  expect(update).toMatchObject({
    update_id: updateId,
    message: { message_id: messageId, text: 'hello', from: { id: 7, is_bot: false }, chat: { id: 7, type: 'private' } },
  });
  expect(await bot.api.getUpdates({ offset: updateId })).toHaveLength(1);
  expect(bot.server.unconfirmed).toEqual([updateId]);
  expect(await bot.api.getUpdates({ offset: updateId + 1 })).toEqual([]);
  expect(bot.server.unconfirmed).toEqual([]);
  expect(await bot.api.getUpdates({ offset: 0 })).toEqual([]);
});

test('a limit keeps the rest, a negative offset forgets all but the last', async () => {
  await using bot = await open();
  const ids = ['a', 'b', 'c'].map((text) => bot.server.userSays(7, text).updateId);
  expect(ids).toEqual([...ids].sort((a, b) => a - b));
  expect(await bot.api.getUpdates({ limit: 2 })).toHaveLength(2);
  expect(await bot.api.getUpdates({ offset: -1 })).toMatchObject([{ message: { text: 'c' } }]);
  expect(bot.server.unconfirmed).toEqual([ids[2]]);
});

test('a long poll ends when something comes', async () => {
  await using bot = await open();
  const poll = bot.api.getUpdates({ timeout: 30 });
  await waitFor(() => bot.server.polling, { what: 'the poll' });
  bot.server.userSays(7, 'now');
  expect(await poll).toMatchObject([{ message: { text: 'now' } }]);
  expect(bot.server.polling).toBe(false);
});

test('a long poll ends when its time is over', async () => {
  await using bot = await open();
  expect(await bot.api.getUpdates({ timeout: 1 })).toEqual([]);
});

test('a second poll ends the first with a conflict and goes on itself', async () => {
  await using bot = await open();
  const first = thrownBy(bot.api.getUpdates({ timeout: 30 }));
  await waitFor(() => bot.server.polling, { what: 'the first poll' });
  const second = bot.api.getUpdates({ timeout: 30 });
  expect(await first).toMatchObject({ error_code: 409, description: expect.stringContaining('other getUpdates') });
  bot.server.userSays(7, 'x');
  expect(await second).toHaveLength(1);
});

test('an aborted poll loses nothing', async () => {
  await using bot = await open();
  const controller = new AbortController();
  // grammY types its signal after a polyfill; the native one works.
  const poll = thrownBy(bot.api.getUpdates({ timeout: 30 }, controller.signal as never));
  await waitFor(() => bot.server.polling, { what: 'the poll' });
  controller.abort();
  expect(await poll).toBeInstanceOf(Error);
  await waitFor(() => !bot.server.polling, { what: 'the end of the poll' });
  bot.server.userSays(7, 'still here');
  expect(await bot.api.getUpdates()).toHaveLength(1);
});

test('only the kinds that the bot asked for are kept, until it asks for others', async () => {
  await using bot = await open();
  await bot.api.getUpdates({ allowed_updates: ['message'] });
  const { messageId } = bot.server.userSays(7, 'x');
  bot.server.userEdits(7, messageId, 'y');
  expect(await bot.api.getUpdates()).toMatchObject([{ message: { text: 'x' } }]);
  await bot.api.getUpdates({ allowed_updates: ['edited_message'] });
  bot.server.userEdits(7, messageId, 'z');
  expect(await bot.api.getUpdates({ offset: -1 })).toMatchObject([
    { edited_message: { message_id: messageId, text: 'z' } },
  ]);
});

test('an update can come twice, also after it was confirmed, also under a new id', async () => {
  await using bot = await open();
  const { updateId, messageId } = bot.server.userSays(7, 'x');
  await bot.api.getUpdates({ offset: updateId + 1 });
  bot.server.duplicateUpdate(updateId);
  expect(await bot.api.getUpdates({ offset: updateId + 1 })).toMatchObject([{ update_id: updateId }]);
  bot.server.duplicateUpdate(updateId, { asNew: true });
  const again = await bot.api.getUpdates({ offset: updateId + 1 });
  expect(again).toMatchObject([{ update_id: updateId + 1, message: { message_id: messageId } }]);
});

test('a group, a sender and any raw update can be told', async () => {
  await using bot = await open();
  bot.server.userSays(-100, 'hi all', { from: { id: 9, username: 'nine' }, message_thread_id: 4 });
  bot.server.pushUpdate({ my_chat_member: { chat: { id: 5, type: 'private' } } });
  expect(await bot.api.getUpdates()).toMatchObject([
    { message: { chat: { id: -100, type: 'supergroup' }, from: { id: 9, username: 'nine' }, message_thread_id: 4 } },
    { my_chat_member: { chat: { id: 5 } } },
  ]);
});

test('a sent message is recorded as sent and as seen', async () => {
  await using bot = await open();
  const asked = bot.server.userSays(7, 'x');
  const sent = await bot.api.sendMessage(7, '<b>1 &lt; 2</b> &#x1F30D;', {
    parse_mode: 'HTML',
    reply_parameters: { message_id: asked.messageId },
  });
  expect(sent).toMatchObject({ text: '1 < 2 🌍', chat: { id: 7 }, from: { id: 123456 } });
  expect(bot.server.sentMessages).toMatchObject([
    { chatId: 7, messageId: sent.message_id, parseMode: 'HTML', visibleText: '1 < 2 🌍', replyTo: asked.messageId },
  ]);
  expect(sent.message_id).toBeGreaterThan(asked.messageId);
});

test('an edit changes the message and keeps what it was', async () => {
  await using bot = await open();
  const { message_id: id } = await bot.api.sendMessage(7, 'one');
  await bot.api.editMessageText(7, id, 'two');
  expect(bot.server.sentMessages).toMatchObject([{ visibleText: 'two', editedFrom: ['one'] }]);
  expect(await thrownBy(bot.api.editMessageText(7, id, 'two'))).toMatchObject({
    error_code: 400,
    description: expect.stringContaining('message is not modified'),
  });
  expect(await thrownBy(bot.api.editMessageText(7, 999, 'x'))).toMatchObject({
    description: expect.stringContaining('message to edit not found'),
  });
});

test.each([
  ['a broken tag', '<b>x', "can't parse entities"],
  ['white space', ' \n ', 'message text is empty'],
  ['markup around nothing', '<b></b>', 'message text is empty'],
  ['4,097 visible units', 'x'.repeat(4097), 'message is too long'],
])('a message of %s is refused and not recorded', async (_, text, reason) => {
  await using bot = await open();
  const error = await thrownBy(bot.api.sendMessage(7, text, { parse_mode: 'HTML' }));
  expect(error).toBeInstanceOf(GrammyError);
  expect(error).toMatchObject({ error_code: 400, description: expect.stringContaining(reason) });
  expect(bot.server.sentMessages).toEqual([]);
});

test('4,096 units count after parsing', async () => {
  await using bot = await open();
  await bot.api.sendMessage(7, `<b>${'&amp;'.repeat(4096)}</b>`, { parse_mode: 'HTML' });
  expect(bot.server.sentMessages[0]?.visibleText).toHaveLength(4096);
});

test('429 says how long to wait, and the next call passes', async () => {
  await using bot = await open();
  bot.server.faultNext('sendMessage', { status: 429, retryAfter: 3 });
  const error = await thrownBy(bot.api.sendMessage(7, 'x'));
  expect(error).toMatchObject({ error_code: 429, parameters: { retry_after: 3 } });
  await bot.api.sendMessage(7, 'x');
  expect(bot.server.sentMessages).toHaveLength(1);
});

test('a 500 is JSON, a 502 may be a page', async () => {
  await using bot = await open();
  bot.server.faultNext('sendMessage', { status: 500 });
  expect(await thrownBy(bot.api.sendMessage(7, 'x'))).toMatchObject({ error_code: 500 });
  bot.server.faultNext('sendMessage', { status: 502, body: 'html', taken: true });
  expect(await thrownBy(bot.api.sendMessage(7, 'x'))).toBeInstanceOf(HttpError);
  expect(bot.server.sentMessages).toHaveLength(1);
});

test.each([
  ['reset-before', 0],
  ['reset-after', 1],
] as const)('after %s the server has %i messages', async (fault, count) => {
  await using bot = await open();
  bot.server.faultNext('sendMessage', fault, 2);
  const error = await thrownBy(bot.api.sendMessage(7, 'x'));
  expect(error).toMatchObject({ error: { code: 'ECONNRESET' } });
  expect(bot.server.sentMessages).toHaveLength(count);
  expect(bot.server.calls.map((call) => call.outcome)).toEqual([fault]);
});

test.each([
  ['hang', 0],
  [{ hang: true, taken: true }, 1],
] as const)('a call that gets %j for an answer leaves %i messages', async (fault, count) => {
  await using bot = await open();
  bot.server.faultNext('sendMessage', fault);
  const controller = new AbortController();
  const send = thrownBy(bot.api.sendMessage(7, 'x', {}, controller.signal as never));
  await waitFor(() => bot.server.calls[0]?.outcome, { what: 'the hanging call' });
  controller.abort();
  expect(await send).toBeInstanceOf(Error);
  expect(bot.server.sentMessages).toHaveLength(count);
});

test('a fault handler sees every call and may be slow or let it pass', async () => {
  await using bot = await open();
  bot.server.setFaultHandler(({ method, index }) => {
    if (method !== 'sendMessage') return undefined;
    return index === 0 ? 'reset-before' : { delayMs: 5 };
  });
  expect(await thrownBy(bot.api.sendMessage(7, 'x'))).toBeInstanceOf(HttpError);
  await bot.api.sendMessage(7, 'x');
  await bot.api.getMe();
  expect(bot.server.calls.map((call) => [call.method, call.outcome])).toEqual([
    ['sendMessage', 'reset-before'],
    ['sendMessage', 200],
    ['getMe', 200],
  ]);
});

test('the small methods answer as the API does', async () => {
  await using bot = await open();
  expect(await bot.api.sendChatAction(7, 'typing')).toBe(true);
  expect(await bot.api.deleteWebhook()).toBe(true);
  expect(await bot.api.setMyCommands([{ command: 'help', description: 'Help' }])).toBe(true);
  expect(await thrownBy(bot.api.setMyCommands([{ command: 'Help!', description: 'x' }]))).toBeInstanceOf(GrammyError);
  expect(await bot.api.getChat(-5)).toMatchObject({ id: -5 });
  expect(await thrownBy(bot.api.getFile('nothing'))).toMatchObject({ error_code: 400 });
});

test('a pressed button waits for one answer', async () => {
  await using bot = await open();
  const { message_id: id } = await bot.api.sendMessage(7, 'Sure?');
  const { queryId } = bot.server.userPresses(7, id, 'yes');
  expect(await bot.api.getUpdates()).toMatchObject([
    { callback_query: { id: queryId, data: 'yes', from: { id: 7 }, message: { message_id: id, text: 'Sure?' } } },
  ]);
  expect(await bot.api.answerCallbackQuery(queryId)).toBe(true);
  expect(await thrownBy(bot.api.answerCallbackQuery(queryId))).toMatchObject({ error_code: 400 });
});

test('a file can be found and fetched', async () => {
  await using bot = await open();
  bot.server.addFile('f1', Buffer.from('bytes'), 'photos/1.jpg');
  const file = await bot.api.getFile('f1');
  const answer = await fetch(`${bot.server.apiRoot}/file/bot${bot.server.token}/${file.file_path}`);
  expect(await answer.text()).toBe('bytes');
});
