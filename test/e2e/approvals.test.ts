import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { call, GROUP } from '../support/three-people.ts';
import { expectWithin, waitFor } from '../support/wait.ts';
import { chatOf, OWNER, startWorld, type World } from '../support/world.ts';

/** Every command asks. */
const ASKING = { tools: { exec: { mode: 'ask', sandbox: 'off' } } };

const touch = (name: string): object => ({ calls: [{ name: 'exec', arguments: { command: `touch ${name}` } }] });

async function question(
  world: World,
  chat = OWNER,
  nth = 0,
): Promise<{ text: string; code: string; messageId: number }> {
  // Answered ones say no longer how to answer them.
  const isQuestion = (text: string): boolean =>
    text.includes('/approve ') || /(?:llowed by [^\n]+|Cancelled)\.$/u.test(text);
  const asked = (): readonly { visibleText: string; messageId: number }[] =>
    world.telegram.sentMessages.filter((sent) => sent.chatId === chat && isQuestion(sent.visibleText));
  await waitFor(() => asked().length > nth, { what: 'a question' });
  // An answer without a code counts once the assistant knows that the question arrived.
  await waitFor(async () => (await world.assistant.call('outboxList', {})).length === 0, { what: 'all is sent' });
  const { visibleText: text, messageId } = asked()[nth] ?? { visibleText: '', messageId: 0 };
  return { text, messageId, code: /\/approve (\w+)/u.exec(text)?.[1] ?? '' };
}

async function reply(world: World, part: string, chat = OWNER): Promise<void> {
  await waitFor(() => chatOf(world, chat).some((text) => text.includes(part)), { what: `a reply with ${part}` });
}

const made = (world: World, name: string): boolean => existsSync(join(world.workspace, name));
const lastBody = (world: World): string => JSON.stringify(world.model.requests.at(-1)?.body);

describe('a command that needs a yes, in a chat', () => {
  test('is shown whole with buttons, and runs once when one is pressed', async () => {
    await using world = await startWorld({ config: ASKING });
    world.model.reply(touch('a.txt'), 'Done.');
    world.telegram.userSays(OWNER, 'make a file');
    const { text, code, messageId } = await question(world);
    expect(text).toContain('Run a command?');
    expect(text).toContain('touch a.txt');
    expect(made(world, 'a.txt')).toBe(false);
    const sent = world.telegram.calls.findLast(({ payload }) => payload['reply_markup'] !== undefined);
    expect(sent?.payload['reply_markup']).toEqual({
      inline_keyboard: [
        [
          { text: 'Allow once', callback_data: `approve:${code}` },
          { text: 'Deny', callback_data: `deny:${code}` },
        ],
      ],
    });
    world.telegram.userPresses(OWNER, messageId, `approve:${code}`);
    await reply(world, 'Done.');
    expect(made(world, 'a.txt')).toBe(true);
    expect(chatOf(world)).toContain('Allowed, once.');
    await waitFor(() => world.telegram.calls.some(({ method }) => method === 'answerCallbackQuery'));
    const asked = (): World['telegram']['sentMessages'][number] | undefined =>
      world.telegram.sentMessages.find((message) => message.messageId === messageId);
    await waitFor(() => asked()?.replyMarkup === undefined, { what: 'the buttons are gone' });
    expect(asked()?.visibleText).toMatch(/touch a\.txt[^]*Allowed by [^\n]+\.$/u);
    // A second press finds it closed.
    world.telegram.userPresses(OWNER, messageId, `approve:${code}`);
    await reply(world, 'That question is closed already (approved).');
    expect(world.model.requests).toHaveLength(2);
  });

  test('does not run when it is denied, by button or by text with a reason that the model reads', async () => {
    await using world = await startWorld({ config: ASKING });
    world.model.reply(touch('a.txt'), 'As you wish.', touch('b.txt'), 'All right.');
    world.telegram.userSays(OWNER, 'make a file');
    const first = await question(world);
    world.telegram.userPresses(OWNER, first.messageId, `deny:${first.code}`);
    await reply(world, 'As you wish.');
    expect(lastBody(world)).toContain('Not done: the owner said no');
    world.telegram.userSays(OWNER, 'make another');
    const second = await question(world, OWNER, 1);
    world.telegram.userSays(OWNER, `/deny ${second.code} not on a Sunday`);
    await reply(world, 'All right.');
    expect(lastBody(world)).toContain('the owner said: not on a Sunday');
    world.model.reply(touch('c.txt'), 'Fine.');
    world.telegram.userSays(OWNER, 'and one more');
    await question(world, OWNER, 2);
    world.telegram.userSays(OWNER, '/deny rather not now');
    await reply(world, 'Fine.');
    expect(lastBody(world)).toContain('the owner said: rather not now');
    expect(['a.txt', 'b.txt', 'c.txt'].some((name) => made(world, name))).toBe(false);
  });

  test('is allowed by a plain yes, once', async () => {
    await using world = await startWorld({ config: ASKING });
    world.model.reply(touch('a.txt'), 'Done.');
    world.telegram.userSays(OWNER, 'make a file');
    await question(world);
    world.telegram.userSays(OWNER, 'Yes');
    await reply(world, 'Done.');
    expect(made(world, 'a.txt')).toBe(true);
    expect(chatOf(world)).toContain('Allowed, once.');
    expect(world.model.requests).toHaveLength(2);
  });

  test.each(['yes please', 'Yes, go ahead', 'ok', '👍', 'ja'])('is allowed by “%s”, too', async (words) => {
    await using world = await startWorld({ config: ASKING });
    world.model.reply(touch('a.txt'), 'Done.');
    world.telegram.userSays(OWNER, 'make a file');
    await question(world);
    world.telegram.userSays(OWNER, words);
    await reply(world, 'Done.');
    expect(made(world, 'a.txt')).toBe(true);
  });

  test.each(['yes, but only b.txt', 'ok wait', 'yesterday it was another one'])(
    'is not what “%s” says',
    async (words) => {
      await using world = await startWorld({ config: ASKING });
      world.model.reply(touch('a.txt'), 'I will wait.');
      world.telegram.userSays(OWNER, 'make a file');
      await question(world);
      world.telegram.userSays(OWNER, words);
      await reply(world, 'I will wait.');
      expect(made(world, 'a.txt')).toBe(false);
    },
  );

  test('is denied by whatever else the owner writes meanwhile; that is the reason, and no turn of its own', async () => {
    await using world = await startWorld({ config: ASKING });
    world.model.reply(touch('a.txt'), 'I will wait.');
    world.telegram.userSays(OWNER, 'make a file');
    await question(world);
    world.telegram.userSays(OWNER, 'hold on, wrong folder');
    await reply(world, 'I will wait.');
    expect(lastBody(world)).toContain('the owner said: hold on, wrong folder');
    expect(made(world, 'a.txt')).toBe(false);
    expect(world.model.requests).toHaveLength(2);
    expect(chatOf(world)).toContain('Not allowed: I took your message as the answer.');
  });

  test('waits through a restart: the same question, not asked again, and its answer counts', async () => {
    await using world = await startWorld({ config: ASKING });
    world.model.reply(touch('a.txt'), 'Done.');
    world.telegram.userSays(OWNER, 'make a file');
    const { code } = await question(world);
    await world.restart();
    expect(made(world, 'a.txt')).toBe(false);
    world.telegram.userSays(OWNER, `/approve ${code}`);
    await reply(world, 'Done.');
    expect(made(world, 'a.txt')).toBe(true);
    expect(chatOf(world).filter((text) => text.includes('touch a.txt'))).toHaveLength(1);
  });

  test('is answered by owners only: another person’s code and press are refused', async () => {
    await using world = await startWorld({
      config: { ...ASKING, channels: { telegram: { allowFrom: ['42', '43'], owners: ['42'] } } },
    });
    world.model.reply(touch('a.txt'), 'Done.');
    world.telegram.userSays(OWNER, 'make a file');
    const { code } = await question(world);
    world.telegram.userSays(43, `/approve ${code}`);
    await reply(world, '/approve is for the owner only.', 43);
    expect(made(world, 'a.txt')).toBe(false);
    world.telegram.userSays(OWNER, `/approve ${code}`);
    await reply(world, 'Done.');
    expect(made(world, 'a.txt')).toBe(true);
  });

  test('of a group in which an owner wrote is asked there, and only owners may answer', async () => {
    await using world = await startWorld({
      config: { ...ASKING, channels: { telegram: { allowFrom: ['42', '43', '*'], owners: ['42'] } } },
    });
    world.model.reply(touch('a.txt'), 'Done.');
    call(world, 'make a file', 'owner');
    const { code, messageId } = await question(world, GROUP);
    for (const id of [43, 44]) world.telegram.userPresses(GROUP, messageId, `approve:${code}`, { id });
    await waitFor(
      () => chatOf(world, GROUP).filter((text) => text === 'This button is for the owner only.').length === 2,
    );
    expect(made(world, 'a.txt')).toBe(false);
    world.telegram.userPresses(GROUP, messageId, `approve:${code}`, { id: OWNER });
    await reply(world, 'Done.', GROUP);
    expect(made(world, 'a.txt')).toBe(true);
    expect(chatOf(world)).toEqual([]);
  });

  test('of a job is not answered by a plain yes right below it: the reply names the command', async () => {
    await using world = await startWorld({ config: ASKING });
    const job = { action: 'add', when: 'in 1 second', text: 'tidy', kind: 'agent' };
    world.model.reply({ calls: [{ name: 'cron', arguments: job }] }, 'Set.', touch('a.txt'), 'Tidied.');
    world.telegram.userSays(OWNER, 'tidy in a second');
    const { code } = await question(world);
    world.telegram.userSays(OWNER, 'yes');
    await reply(world, `/approve ${code} for Run a command: touch a.txt, or /deny ${code}`);
    expect(made(world, 'a.txt')).toBe(false);
    world.telegram.userSays(OWNER, `/approve ${code}`);
    await reply(world, 'Tidied.');
    expect(made(world, 'a.txt')).toBe(true);
    expect(world.model.requests).toHaveLength(4);
  });

  test('of somebody else is asked in the owner’s own chat, which says who wants it and where', async () => {
    await using world = await startWorld({
      config: { channels: { telegram: { allowFrom: ['42', '43'], owners: ['42'] } } },
    });
    world.model.reply(
      'Hello.',
      { calls: [{ name: 'write_file', arguments: { path: '.envrc', content: 'x=1' } }] },
      'Done.',
    );
    world.telegram.userSays(OWNER, 'hi');
    await reply(world, 'Hello.');
    world.telegram.userSays(43, 'set it up', { from: { first_name: 'Ann `x`' } });
    const { code, text } = await question(world);
    expect(text).toMatch(/for Ann +x +in telegram:43/u);
    expect(text).toContain('+ x=1');
    world.telegram.userSays(OWNER, `/approve ${code}`);
    await reply(world, 'Done.', 43);
    expect(made(world, '.envrc')).toBe(true);
  });

  test('is given up by /stop within two seconds, and an answer after that does nothing', async () => {
    await using world = await startWorld({ config: ASKING });
    world.model.reply(touch('a.txt'));
    world.telegram.userSays(OWNER, 'make a file');
    const { code } = await question(world);
    const began = performance.now();
    world.telegram.userSays(OWNER, '/stop');
    await reply(world, 'Stopped.');
    expectWithin(performance.now() - began, 2_000, 'the answer');
    world.telegram.userSays(OWNER, `/approve ${code}`);
    await reply(world, 'That question is closed already (cancelled).');
    expect(made(world, 'a.txt')).toBe(false);
  });

  test('shows characters that cannot be seen', async () => {
    await using world = await startWorld({ config: ASKING });
    world.model.reply({ calls: [{ name: 'exec', arguments: { command: 'touch a\u200b.txt' } }] }, 'No.');
    world.telegram.userSays(OWNER, 'make a file');
    const first = await question(world);
    expect(first.text).toContain('touch a\\u{200b}.txt');
    world.telegram.userSays(OWNER, `/deny ${first.code}`);
    await reply(world, 'No.');
  });

  test('is given up by /new too, and the question says nothing any more', async () => {
    await using world = await startWorld({ config: ASKING });
    world.model.reply(touch('a.txt'), 'Fresh.');
    world.telegram.userSays(OWNER, 'make a file');
    const { code, messageId } = await question(world);
    world.telegram.userSays(OWNER, '/new');
    await waitFor(() => chatOf(world).length > 1);
    world.telegram.userPresses(OWNER, messageId, `approve:${code}`);
    await reply(world, 'That question is closed already (cancelled).');
    world.telegram.userSays(OWNER, 'hello again');
    await reply(world, 'Fresh.');
    expect(made(world, 'a.txt')).toBe(false);
  });

  test('says so when there is nothing to answer', async () => {
    await using world = await startWorld({ config: ASKING });
    world.telegram.userSays(OWNER, '/approve');
    await reply(world, 'There is no open question here.');
    world.telegram.userSays(OWNER, '/deny abcdefgh');
    await reply(world, 'There is no open question named abcdefgh.');
    expect(world.model.requests).toHaveLength(0);
  });
});
