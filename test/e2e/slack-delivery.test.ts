import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { SlackFault } from '../support/fake-slack.ts';
import type { Step } from '../support/model-script.ts';
import { OWNER, postsIn, startSlackWorld, type SlackWorld } from '../support/slack-world.ts';
import { waitFor } from '../support/wait.ts';

let world: SlackWorld;
beforeAll(async () => {
  world = await startSlackWorld({ slack: { groups: { debounceMs: 0 } } });
  await writeFile(join(world.workspace, 'f.txt'), 'x');
  world.model.setHandler(({ view }) =>
    view.toolResults.length > 0 ? 'Sent.' : (answers[view.lastUserText.split('\n').at(-1) ?? ''] ?? 'What?'),
  );
  world.slack.setFaultHandler((method, payload) => {
    const chat = String(payload['channel'] ?? payload['channel_id']);
    const left = faults.get(chat) ?? [];
    const at = left.findIndex(([name]) => name === method);
    return at === -1 ? undefined : left.splice(at, 1)[0]?.[1];
  });
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
});

type Faults = readonly (readonly [string, SlackFault])[];

const ANSWER = 'One sentence after the other. '.repeat(8).trim();
const answers: Readonly<Record<string, Step>> = {
  go: 'The answer.',
  'tell me': { text: ANSWER, chunkSize: 12, eventDelayMs: 80 },
  'send it': { calls: [{ name: 'message', arguments: { text: 'Here.', media: ['f.txt'] } }] },
};
const faults = new Map<string, (readonly [string, SlackFault])[]>();
let count = 0;

const settled = (): Promise<unknown> =>
  waitFor(async () => (await world.assistant.call('outboxList', {})).length === 0, { what: 'an empty outbox' });

/** Says something in a chat or thread of its own, with these faults on the way of the answer; returns what came. */
async function asks(text: string, given: Faults, { inThread = false } = {}): Promise<readonly string[]> {
  count += 1;
  const chat = inThread ? `C0CHAT${count}` : `D0CHAT${count}`;
  const thread = inThread ? world.slack.sends(OWNER, chat, 'a thread', { as: 'nothing' }) : undefined;
  faults.set(chat, [...given]);
  world.slack.sends(OWNER, chat, `<@U0TESTBOT> ${text}`, thread === undefined ? {} : { thread });
  await waitFor(() => faults.get(chat)?.length === 0, { what: 'every fault' });
  await waitFor(() => postsIn(world, chat, thread).length > 0, { what: 'an answer' });
  await settled();
  return postsIn(world, chat, thread);
}

describe.concurrent('an answer on Slack arrives once, without a mark', () => {
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
      ],
    ],
    [
      'when it is late and the connection breaks on the second try too',
      [
        ['chat.postMessage', { status: 429, retryAfter: 1 }],
        ['chat.postMessage', 'reset-after'],
      ],
    ],
  ] as const)('%s', async (_title, given) => {
    expect(await asks('go', given)).toEqual(['The answer.']);
  });

  test('in a thread', async () => {
    expect(await asks('go', [['chat.postMessage', 'reset-after']], { inThread: true })).toEqual(['The answer.']);
  });

  test('as a file', async () => {
    const posts = await asks('send it', [['files.completeUploadExternal', 'reset-after']]);
    expect(posts).toHaveLength(3);
    expect(world.slack.sentPosts.filter(({ files }) => files.length > 0)).toHaveLength(1);
  });

  test('while it is written: the first sight of it is found again and becomes the answer', async () => {
    expect(await asks('tell me', [['chat.postMessage', 'reset-after']])).toEqual([ANSWER]);
  });

  test('or with a mark where the bot may not look', async () => {
    const given: Faults = [
      ['chat.postMessage', 'reset-after'],
      ['conversations.history', { error: 'missing_scope' }],
    ];
    expect(await asks('go', given)).toEqual(['The answer.', expect.stringMatching(/^↻\s+The answer\.$/u)]);
  });
});
