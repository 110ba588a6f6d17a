import type { App } from '../../src/core/app.ts';
import { expect, test } from 'vitest';
import type { OutboundMessage } from '../../src/core/bus/messages.ts';
import { spokenToo } from '../../src/core/bus/speech.ts';
import type { OutgoingPart } from '../../src/core/channels/channel.ts';
import { SpeechChannel, type Speak } from '../../src/core/channels/speech.ts';
import { spokenText } from '../../src/core/channels/markup/spoken.ts';

const ANSWER: OutboundMessage = {
  id: 'turn:0',
  channel: 'slack',
  chatId: 'C1',
  threadId: '17.01',
  kind: 'answer',
  text: 'Hello.',
  media: [],
  turnId: 'turn',
  metadata: {},
};
const PART: OutgoingPart = {
  messageId: 'turn:0:voice',
  kind: 'part',
  turnId: 'turn',
  chatId: 'slack:C1:17.01',
  text: 'Hello.',
  media: [],
  nonce: 'n',
};
const NEVER = new AbortController().signal;

/** A channel over an outbox that keeps what is queued. */
function channelOf(publish: (message: OutboundMessage) => Promise<void> = async () => {}) {
  const queued = new Map<string, OutboundMessage>();
  const spoken: Parameters<Speak>[] = [];
  const app = {
    bus: {
      publishOutbound: async (message: OutboundMessage) => {
        await publish(message);
        queued.set(message.id, message);
      },
    },
    journal: { outbox: { stateOf: (id: string) => (queued.has(id) ? 'pending' : undefined) } },
    clock: { now: () => 1_000 },
  };
  const channel = new SpeechChannel(app as unknown as App);
  channel.use(async (...asked) => {
    spoken.push(asked);
    return { kind: 'audio', mediaType: 'audio/ogg', path: '/sound', speech: true };
  });
  return { channel, queued, spoken };
}

test('a text becomes a voice message of the chat and thread that it is for', async () => {
  expect(spokenToo(ANSWER)).toMatchObject({ id: PART.messageId, channel: 'text-to-speech', chatId: PART.chatId });
  const { channel, queued, spoken } = channelOf();
  await channel.send(PART, NEVER);
  expect(spoken.map(([text, order]) => [text, order])).toEqual([['Hello.', { turnId: 'turn', chat: PART.chatId }]]);
  expect([...queued.values()]).toMatchObject([
    { channel: 'slack', chatId: 'C1', threadId: '17.01', text: '', media: [{ path: '/sound' }], turnId: 'turn' },
  ]);
});

test('a process that ended after the voice message was queued neither speaks nor queues it again', async () => {
  const { channel, queued, spoken } = channelOf();
  await channel.send(PART, NEVER);
  await channel.send({ ...PART, resend: { since: 0, isKnown: () => false } }, NEVER);
  expect([queued.size, spoken.length]).toEqual([1, 1]);
});

test('what could not be queued is queued by the next attempt, and not spoken again', async () => {
  let isFull = true;
  const { channel, queued, spoken } = channelOf(async () => {
    if (isFull) throw new Error('the disk is full');
  });
  await expect(channel.send(PART, NEVER)).rejects.toThrow('the disk is full');
  isFull = false;
  await channel.send(PART, NEVER);
  expect([queued.size, spoken.length]).toEqual([1, 1]);
});

test('what one person alone may see, and what says nothing, is not spoken', () => {
  expect(spokenToo({ ...ANSWER, metadata: { onlyTo: 'U1' } })).toBeNull();
  expect(spokenToo({ ...ANSWER, text: ' \n' })).toBeNull();
});

test.each([
  ['**Bold** and [a link](https://example.com/a?b=c)', 'Bold and a link'],
  ['See https://www.example.com/path?x=1.', 'See example.com'],
  ['- one\n- two\n\n1. first', 'one\ntwo\n\n1. first'],
  ['Run this:\n\n```sh\nrm x\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nDone.', 'Run this:\n\nSee the text. Done.'],
  ['---', 'See the text.'],
  ['`x` is 3 < 4', 'x is 3 < 4'],
])('%j is said as %j', (markdown, said) => {
  expect(spokenText(markdown)).toBe(said);
});

test.each([
  ['sentences', 'One sentence of many. ', /many\. The rest is in the text\.$/u],
  ['words', 'words without an end ', / \w+ The rest is in the text\.$/u],
  ['no word at all', '😀', /😀 The rest is in the text\.$/u],
])('a long text of %s is cut where it can be', (_, piece, end) => {
  const said = spokenText(piece.repeat(5_000));
  expect(said.length).toBeLessThanOrEqual(4_096);
  expect(said.isWellFormed()).toBe(true);
  expect(said).toMatch(end);
});
