import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { SlackFault } from '../support/fake-slack.ts';
import { DIRECT, OWNER, postsIn, startSlackWorld, type SlackWorld } from '../support/slack-world.ts';
import { waitFor } from '../support/wait.ts';

let world: SlackWorld;
beforeAll(async () => {
  world = await startSlackWorld({ slack: { groups: { debounceMs: 0 } } });
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
});

let count = 0;
/** A chat that nothing was said in yet. */
const newChat = (): string => {
  count += 1;
  return `D0CHAT${count}`;
};
const settled = (): Promise<unknown> =>
  waitFor(async () => (await world.assistant.request('outboxList', {})).length === 0, { what: 'an empty outbox' });

/** Says something, with these faults on the way of the answer. */
async function asks(text: string, chat: string, faults: readonly (readonly [string, SlackFault])[]): Promise<void> {
  const left = [...faults];
  world.slack.setFaultHandler((method, payload) => {
    const at = left.findIndex(([name]) => name === method && (payload['channel'] ?? chat) === chat);
    return at === -1 ? undefined : left.splice(at, 1)[0]?.[1];
  });
  world.slack.says(OWNER, chat, text);
  await waitFor(() => left.length === 0, { what: 'every fault' });
  await waitFor(() => postsIn(world, chat).length > 0, { what: 'an answer' });
  await settled();
  world.slack.setFaultHandler(undefined);
}

describe('an answer on Slack arrives once, without a mark', () => {
  test.each([
    ['when the connection breaks after it was taken', [['chat.postMessage', 'reset-after']]],
    ['when the connection breaks before it was taken', [['chat.postMessage', 'reset-before']]],
    ['when Slack fails after it took it', [['chat.postMessage', { status: 503, taken: true }]]],
    [
      'when Slack says that something went wrong inside',
      [['chat.postMessage', { error: 'internal_error', taken: true }]],
    ],
    [
      'when nobody can look for a while whether it is there',
      [
        ['chat.postMessage', 'reset-after'],
        ['conversations.history', { status: 429, retryAfter: 1 }],
        ['conversations.history', 'reset-before'],
      ],
    ],
    [
      'when it is late and the connection breaks on the second try too',
      [
        ['chat.postMessage', { status: 429, retryAfter: 1 }],
        ['chat.postMessage', 'reset-after'],
      ],
    ],
  ] as const)('%s', async (_title, faults) => {
    const chat = newChat();
    world.model.reply('The answer.');
    await asks('go', chat, faults);
    expect(postsIn(world, chat)).toEqual(['The answer.']);
  });

  test('in a thread', async () => {
    const thread = world.slack.says(OWNER, 'C0THREAD', 'a thread', { as: 'nothing' });
    world.slack.faultNext('chat.postMessage', 'reset-after');
    world.model.reply('There.');
    world.slack.says(OWNER, 'C0THREAD', '<@U0TESTBOT> here?', { thread });
    await waitFor(() => postsIn(world, 'C0THREAD', thread).length > 0);
    await settled();
    expect(postsIn(world, 'C0THREAD', thread)).toEqual(['There.']);
  });

  test('as a file', async () => {
    const send = { name: 'message', arguments: { files: ['f.txt'] } };
    const write = { name: 'write_file', arguments: { path: 'f.txt', content: 'x' } };
    const chat = newChat();
    world.model.reply({ calls: [write] }, { calls: [send] }, 'Sent.');
    await asks('file?', chat, [['files.completeUploadExternal', 'reset-after']]);
    const files = world.slack.sentPosts.filter((post) => post.chatId === chat && post.files.length > 0);
    expect(files).toHaveLength(1);
  });

  test('while it is written: the first sight of it is found again and becomes the answer', async () => {
    const chat = newChat();
    const answer = 'One sentence after the other. '.repeat(8).trim();
    world.model.reply({ text: answer, chunkSize: 12, eventDelayMs: 80 });
    await asks('tell me', chat, [['chat.postMessage', 'reset-after']]);
    await waitFor(() => postsIn(world, chat).includes(answer));
    expect(postsIn(world, chat)).toEqual([answer]);
  });

  test('or with a mark where the bot may not look', async () => {
    const chat = newChat();
    world.model.reply('Hm.');
    await asks('go', chat, [
      ['chat.postMessage', 'reset-after'],
      ['conversations.history', { error: 'missing_scope' }],
    ]);
    expect(postsIn(world, chat)).toEqual(['Hm.', expect.stringMatching(/^↻\s+Hm\.$/u)]);
  });

  test('and a dead letter when Slack refuses it for good', async () => {
    world.slack.faultNext('chat.postMessage', { error: 'is_archived' });
    world.model.reply('Nobody hears this.');
    world.slack.says(OWNER, DIRECT, 'go');
    const dead = async (): Promise<string> => JSON.stringify(await world.assistant.request('outboxList', {}));
    await waitFor(async () => (await dead()).includes('Slack answered is_archived'));
    expect(postsIn(world)).toEqual([]);
  });
});
