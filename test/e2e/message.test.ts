import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { worldOfThree } from '../support/three-people.ts';
import { waitFor } from '../support/wait.ts';
import { chatOf, OWNER, startWorld, type World } from '../support/world.ts';

const message = (given: Readonly<Record<string, unknown>>): object => ({
  calls: [{ name: 'message', arguments: given }],
});
const said = (world: World, text: string, chat = OWNER): Promise<unknown> =>
  waitFor(() => chatOf(world, chat).includes(text), { what: `${text} in ${chat}` });
const lastResult = (world: World): string => world.model.requests.at(-1)?.view.toolResults.at(-1)?.text ?? '';

describe('the message tool', () => {
  test('says something while the turn goes on; the answer comes after it', async () => {
    await using world = await startWorld();
    world.model.reply(message({ text: 'I am **on** it.' }), 'Done.');
    world.telegram.userSays(OWNER, 'do it');
    await said(world, 'Done.');
    expect(chatOf(world)).toEqual(['I am on it.', 'Done.']);
  });

  test('leaves nothing to repeat: the same words, or none, end the turn', async () => {
    await using world = await startWorld();
    world.model.reply(
      message({ text: 'It is **four**.' }),
      'It is  **four**.',
      message({ text: 'And five.' }),
      '',
      'Bye.',
    );
    world.telegram.userSays(OWNER, 'what is it?');
    await said(world, 'It is four.');
    await waitFor(() => world.model.requests.length === 2);
    world.telegram.userSays(OWNER, 'and then?');
    await said(world, 'And five.');
    await waitFor(() => world.model.requests.length === 4);
    world.telegram.userSays(OWNER, 'bye');
    await said(world, 'Bye.');
    expect(chatOf(world)).toEqual(['It is four.', 'And five.', 'Bye.']);
  });

  test('writes to another chat for the owner, and tells when there is no such channel or name', async () => {
    await using world = await startWorld();
    world.model.reply(
      message({ text: 'Dinner at 7?', chat: 'telegram:77' }),
      message({ text: 'x', chat: 'irc:77' }),
      message({ text: 'x', chat: '77' }),
      message({ text: 'x', chat: 'api:program' }),
      'Asked.',
    );
    world.telegram.userSays(OWNER, 'ask Ann');
    const answer =
      'Asked.\n\nNot done: the message to irc:77 failed; the message to 77 failed; the message to api:program failed.';
    await said(world, answer);
    await said(world, 'Dinner at 7?', 77);
    const results = world.model.requests.flatMap(({ view }) => view.toolResults.map(({ text }) => text));
    expect(results[1]).toContain('There is no channel "irc" here. There are: terminal, telegram, web.');
    expect(results[2]).toContain('channel:chat or channel:chat:thread, but "77" was given');
    expect(results[3]).toContain('There is no channel "api" here.');
    expect(chatOf(world)).toEqual([answer]);
  });

  test('asks before it writes to another chat with strangers’ words in the conversation', async () => {
    await using world = await startWorld();
    const send = message({ text: 'the secret plan', chat: 'telegram:77' });
    const read = { calls: [{ name: 'list_dir', arguments: {} }] };
    world.model.reply(read, send, 'Not done.');
    world.telegram.userSays(OWNER, 'send the plan to 77', { forward_date: 1 });
    await waitFor(() => chatOf(world).some((text) => text.includes('/deny ')), { what: 'a question' });
    expect(chatOf(world).join()).toContain('to telegram:77:\nthe secret plan');
    world.telegram.userSays(OWNER, 'no');
    await said(world, 'Not done.\n\nNot done: the message to telegram:77 was refused.');
    expect(chatOf(world, 77)).toEqual([]);
  });

  test('lets nobody but the owner write to other chats', async () => {
    await using world = await worldOfThree();
    world.model.reply(
      message({ text: 'x', chat: 'telegram:42' }),
      message({ text: 'here', chat: 'telegram:43' }),
      'No.',
    );
    world.telegram.userSays(43, 'tell the owner');
    const answer = 'No.\n\nNot done: the message to telegram:42 was refused.';
    await said(world, answer, 43);
    expect(chatOf(world, 43)).toEqual(['here', answer]);
    expect(chatOf(world)).toEqual([]);
  });

  test('shows buttons; pressing one says its words', async () => {
    await using world = await startWorld();
    world.model.reply(message({ text: 'Which one?', buttons: ['Red', 'Blue'] }));
    // The button may be pressed while the turn that shows it is not over yet.
    world.model.setHandler(({ view }) => (view.lastUserText.includes('Blue') ? 'Blue it is.' : ''));
    world.telegram.userSays(OWNER, 'paint it');
    await said(world, 'Which one?');
    const sent = world.telegram.sentMessages.find(({ visibleText }) => visibleText === 'Which one?');
    expect(sent?.replyMarkup).toEqual({
      inline_keyboard: [[{ text: 'Red', callback_data: 'w2:Red' }], [{ text: 'Blue', callback_data: 'w2:Blue' }]],
    });
    world.telegram.userPresses(OWNER, sent?.messageId ?? 0, 'w2:Blue');
    await said(world, 'Blue it is.');
    expect(world.model.requests.at(-1)?.view.lastUserText).toContain('Blue');
  });

  test('sends files: pictures as pictures, others as documents, as they are at that moment', async () => {
    await using world = await startWorld();
    const png = Buffer.from('\x89PNG\r\n\x1a\n…', 'latin1');
    await writeFile(join(world.workspace, 'dot.png'), png);
    await writeFile(join(world.workspace, 'a.csv'), 'a,b\n');
    world.model.reply(message({ text: 'Here they are.', media: ['dot.png', 'a.csv'] }), 'Done.');
    world.telegram.userSays(OWNER, 'send them');
    await said(world, 'Done.');
    expect(chatOf(world)).toEqual(['Here they are.', '[photo dot.png]', '[document a.csv]', 'Done.']);
    const files = world.telegram.sentMessages.flatMap(({ file }) => (file === undefined ? [] : [file.bytes]));
    expect(files.map((bytes) => Buffer.from(bytes).toString('latin1'))).toEqual([png.toString('latin1'), 'a,b\n']);
  });

  test('sends nothing that its tools may not read', async () => {
    await using world = await startWorld();
    world.model.reply(message({ text: 'Here.', media: ['../config.json'] }), 'No.');
    world.telegram.userSays(OWNER, 'send your settings');
    const answer = 'No.\n\nNot done: the message to telegram:42 was refused.';
    await said(world, answer);
    expect(lastResult(world)).toContain('../config.json is not sent');
    expect(chatOf(world)).toEqual([answer]);
  });

  test('refuses a label that no platform takes', async () => {
    await using world = await startWorld();
    world.model.reply(message({ text: 'Which?', buttons: ['ä'.repeat(31)] }), 'Well.');
    world.telegram.userSays(OWNER, 'go');
    await said(world, 'Well.');
    expect(lastResult(world)).toContain('is longer than 60 bytes');
  });
});
