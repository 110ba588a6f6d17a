import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { reads, startDiscordWorld } from '../support/discord-world.ts';
import { DIRECT, OWNER as SLACK_OWNER, postsIn, startSlackWorld } from '../support/slack-world.ts';
import { waitFor } from '../support/wait.ts';
import { chatOf, OWNER, startWorld, type World } from '../support/world.ts';

const replies = (world: World, count: number): Promise<unknown> =>
  waitFor(() => chatOf(world).length >= count, { what: `${count} replies` });
const accepted = (world: World): Promise<unknown> =>
  waitFor(() => world.telegram.unconfirmed.length === 0, { what: 'everything is accepted' });
const settings = (reactions: unknown): object => ({ config: { channels: { telegram: { reactions } } } });
const reactCalls = (world: World): number =>
  world.telegram.calls.filter(({ method }) => method === 'setMessageReaction').length;

describe('reactions to a person’s message', () => {
  test('are those of the configuration: one for each state', async () => {
    await using world = await startWorld(settings({ show: true, seen: '👌', working: '✍', done: '🎉' }));
    world.model.reply({ text: 'Done.', delayMs: 2_000 });
    const { messageId } = world.telegram.userSays(OWNER, 'do it');
    await waitFor(() => world.telegram.reactionOn(OWNER, messageId) === '✍', { what: 'it is worked on' });
    await replies(world, 1);
    await waitFor(() => world.telegram.reactionOn(OWNER, messageId) === '🎉', { what: 'it is done' });
  });

  test('are not shown on Telegram unless they are switched on', async () => {
    await using world = await startWorld();
    world.model.reply({ text: 'Done.', delayMs: 1_500 });
    world.telegram.userSays(OWNER, 'do it');
    await replies(world, 1);
    expect(reactCalls(world)).toBe(0);
  });

  test('that Telegram does not know are named in the status, and everything else works', async () => {
    await using world = await startWorld(settings({ show: true, seen: '🛠' }));
    world.model.reply({ text: 'Done.', delayMs: 1_500 });
    world.telegram.userSays(OWNER, 'do it');
    await replies(world, 1);
    const { channels } = await world.assistant.call('info', {});
    expect(channels['telegram']).toMatchObject({
      state: 'running',
      detail: 'Telegram does not let bots react with 🛠: choose others in channels.telegram.reactions.',
    });
    expect(reactCalls(world)).toBe(0);
  });

  test.each([
    ['hangs', 'hang'],
    ['fails', { status: 500 }],
    ['asks to wait', { status: 429, retryAfter: 60 }],
  ] as const)('hold up nothing when the call %s', async (_, fault) => {
    await using world = await startWorld(settings({ show: true }));
    world.telegram.setFaultHandler(({ method }) => (method === 'setMessageReaction' ? fault : undefined));
    world.model.reply({ text: 'First.', delayMs: 1_500 }, 'Second.');
    world.telegram.userSays(OWNER, 'one');
    await waitFor(() => reactCalls(world) === 1, { what: 'a call' });
    await replies(world, 1);
    world.telegram.userSays(OWNER, 'two');
    await replies(world, 2);
    expect(chatOf(world)).toEqual(['First.', 'Second.']);
  });

  test('come with the next attempt, also while many others are looked at, when the first one fails', async () => {
    await using world = await startWorld(settings({ show: true }));
    let faults = 1;
    world.telegram.setFaultHandler(({ method }) =>
      method === 'setMessageReaction' && faults-- > 0 ? 'reset-before' : undefined,
    );
    world.model.reply({ text: 'Done.', delayMs: 6_000 });
    const { messageId } = world.telegram.userSays(OWNER, 'do it');
    await waitFor(() => world.telegram.reactionOn(OWNER, messageId) === '👀', { what: 'a reaction' });
    expect(chatOf(world)).toEqual([]);
  });

  test('do not stay when the turn ended without them: the next start takes them away', async () => {
    await using world = await startWorld(settings({ show: true }));
    world.model.reply({ text: 'Done.', delayMs: 1_500 });
    const { messageId } = world.telegram.userSays(OWNER, 'do it');
    await waitFor(() => world.telegram.reactionOn(OWNER, messageId) === '👀', { what: 'a reaction' });
    world.telegram.setFaultHandler(({ method }) => (method === 'setMessageReaction' ? 'reset-before' : undefined));
    await replies(world, 1);
    await waitFor(() => reactCalls(world) === 2, { what: 'the attempt to take it away' });
    expect(world.telegram.reactionOn(OWNER, messageId)).toBe('👀');
    world.telegram.setFaultHandler(undefined);
    await world.restart();
    await waitFor(() => world.telegram.reactionOn(OWNER, messageId) === '', { what: 'no reaction' });
  });
});

describe('a reaction of a person', () => {
  test('survives a restart and is told with the next message', async () => {
    await using world = await startWorld();
    world.model.reply('Buy *milk*.', 'Sorry.');
    world.telegram.userSays(OWNER, 'what now?');
    await replies(world, 1);
    const [answer] = world.telegram.sentMessages;
    await waitFor(async () => (await world.assistant.call('outboxList', {})).length === 0, { what: 'it is sent' });
    world.telegram.userReacts(OWNER, answer?.messageId ?? 0, { after: ['👎'] });
    await accepted(world);
    await world.restart();
    world.telegram.userSays(OWNER, 'why milk?');
    await replies(world, 2);
    expect(world.model.requests).toHaveLength(2);
    expect(world.model.requests.at(-1)?.view.lastUserText).toContain(
      '\nreaction: The person reacted 👎 to your message “Buy *milk*.”\n',
    );
  });

  test('allows nothing: a question waits on, and the model is not told of it as an answer', async () => {
    await using world = await startWorld({ config: { tools: { exec: { mode: 'ask', sandbox: 'off' } } } });
    world.model.reply({ calls: [{ name: 'exec', arguments: { command: 'touch a.txt' } }] }, 'As you wish.');
    world.telegram.userSays(OWNER, 'make a file');
    const question = await waitFor(
      () => world.telegram.sentMessages.find(({ visibleText }) => visibleText.includes('/approve ')),
      { what: 'a question' },
    );
    for (const emoji of ['👍', '👌', '❤']) world.telegram.userReacts(OWNER, question.messageId, { after: [emoji] });
    await accepted(world);
    world.telegram.userSays(OWNER, '/status');
    await waitFor(() => chatOf(world).some((text) => text.includes('odel')), { what: 'the status' });
    expect(existsSync(join(world.workspace, 'a.txt'))).toBe(false);
    expect((await world.assistant.call('approvalsList', {})).waiting).toHaveLength(1);
    const code = /\/approve (?<code>\w+)/u.exec(question.visibleText)?.groups?.['code'] ?? '';
    world.telegram.userPresses(OWNER, question.messageId, `deny:${code}`);
    await waitFor(() => chatOf(world).some((text) => text.includes('As you wish.')), { what: 'the end' });
    expect(existsSync(join(world.workspace, 'a.txt'))).toBe(false);
    expect(JSON.stringify(world.model.requests.map(({ body }) => body))).not.toContain('👍');
  });
});

describe('on a platform that refuses them', () => {
  test('Discord: is said once in the status, and not asked for again in that place; messages are answered', async () => {
    await using world = await startDiscordWorld({ discord: { reactions: { show: true } } });
    const reacting = (): number => world.discord.calls.filter(({ route }) => route.includes('/reactions/')).length;
    world.discord.setFaultHandler((route) => (route.includes('/reactions/') ? { status: 403 } : undefined));
    world.model.reply({ text: 'First.', delayMs: 1_500 }, { text: 'Second.', delayMs: 1_500 });
    world.discord.sends(world.direct, world.owner, 'one');
    await reads(world, world.direct, 'First.');
    world.discord.sends(world.direct, world.owner, 'two');
    await reads(world, world.direct, 'Second.');
    expect(reacting()).toBe(1);
    expect((await world.assistant.call('info', {})).channels['discord']).toMatchObject({
      state: 'running',
      detail: expect.stringContaining('may not add reactions in some channel'),
    });
  });

  test('Slack, without the scope: is said once in the status, and not asked for again; messages are answered', async () => {
    await using world = await startSlackWorld();
    world.slack.setFaultHandler((method) => (method === 'reactions.add' ? { error: 'missing_scope' } : undefined));
    world.model.reply({ text: 'First.', delayMs: 1_500 }, { text: 'Second.', delayMs: 1_500 });
    for (const [n, answer] of ['First.', 'Second.'].entries()) {
      world.slack.sends(SLACK_OWNER, DIRECT, `message ${n}`);
      await waitFor(() => postsIn(world).includes(answer), { what: answer });
    }
    expect(world.slack.calls.filter(({ method }) => method === 'reactions.add')).toHaveLength(1);
    expect((await world.assistant.call('info', {})).channels['slack']).toMatchObject({
      state: 'running',
      detail: expect.stringContaining('add the scope reactions:write'),
    });
  });

  test('Slack: an emoji without a known name is named in the status; names and tones of skin are understood', async () => {
    const reactions = { seen: '🦩', working: ':hammer:', done: '✅' };
    await using world = await startSlackWorld({ slack: { reactions } });
    expect((await world.assistant.call('info', {})).channels['slack']?.detail).toContain(
      'No name in Slack is known for 🦩',
    );
    world.model.reply({ text: 'First.', delayMs: 1_500 }, 'Second.');
    world.slack.sends(SLACK_OWNER, DIRECT, 'one');
    await waitFor(() => postsIn(world).includes('First.'), { what: 'an answer' });
    const named = (): readonly unknown[] =>
      world.slack.calls.filter(({ method }) => method === 'reactions.add').map(({ payload }) => payload['name']);
    await waitFor(() => named().length === 2, { what: 'both states' });
    expect(named()).toEqual(['hammer', 'white_check_mark']);
    const post = world.slack.sentPosts.at(-1);
    const isSent = async (): Promise<boolean> => (await world.assistant.call('outboxList', {})).length === 0;
    await waitFor(isSent, { what: 'an answer that is known to have arrived' });
    world.slack.reacts(SLACK_OWNER, { chatId: DIRECT, ts: post?.ts ?? '' }, '+1::skin-tone-3', false);
    await waitFor(() => world.slack.sockets.unacknowledged.length === 0, { what: 'the reaction taken' });
    world.slack.sends(SLACK_OWNER, DIRECT, 'two');
    await waitFor(() => postsIn(world).includes('Second.'), { what: 'the next answer' });
    expect(world.model.requests.at(-1)?.view.lastUserText).toContain('reacted 👍 to your message “First.”');
  });
});
