import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { OutboundMessage } from '../../src/core/bus/messages.ts';
import { messageTool, withoutVoice } from '../../src/core/tools/message.ts';
import type { ToolDecision } from '../../src/core/tools/registry/decide.ts';
import { pathWorld } from '../support/path-world.ts';
import { ORIGINS } from '../support/extensions.ts';
import { call, makeRegistry } from '../support/simple-tools.ts';
import { testToolContext, type TestCall } from '../support/tool-context.ts';

const HERE = { channel: 'telegram', chatId: '42' };

interface Sent {
  readonly output: string;
  readonly messages: readonly OutboundMessage[];
  /** What somebody was asked about. */
  readonly asked: readonly string[];
  /** What is decided without doing anything. */
  readonly decision: ToolDecision['decision'];
}

async function send(params: object, context: Partial<TestCall> = {}): Promise<Sent> {
  await using world = await pathWorld();
  await writeFile(join(world.workspace, '.env'), 'KEY=1');
  await writeFile(join(world.workspace, 'SHOT.PNG'), 'pixels');
  const messages: OutboundMessage[] = [];
  const asked: string[] = [];
  const tool = messageTool({
    obstacle: (channel) => (['telegram', 'terminal'].includes(channel) ? null : `There is no channel ${channel}.`),
    publish: async (queued) => void messages.push(...queued),
    album: (_channel, files) => files.map((file) => [file]),
    speaks: (channel) => channel === 'telegram',
    clock: { now: () => 0 },
    origins: ORIGINS,
    guard: world.guard(),
    keep: async (bytes) => `kept: ${String(bytes)}`,
  });
  const approve: TestCall['approve'] = async ({ detail }) => {
    asked.push(detail);
    return { approved: false, reason: 'the owner said no' };
  };
  const registry = makeRegistry([tool]);
  const given = [
    call('message', JSON.stringify(params)),
    testToolContext({ chat: HERE, approve, ...context }),
  ] as const;
  const { decision } = await registry.decide(...given);
  const { output } = await registry.run(...given);
  return { output, messages, asked, decision };
}

const BOTH = { untrusted: true, private: true };

test('has at most ten buttons', async () => {
  const buttons = Array.from({ length: 11 }, (_, n) => `B${n}`);
  expect((await send({ text: 'hi', buttons })).messages).toEqual([]);
  expect((await send({ text: 'hi', buttons: buttons.slice(1) })).messages).toHaveLength(1);
});

test('has at most ten files', async () => {
  const media = Array.from({ length: 11 }, () => 'a.txt');
  expect((await send({ text: 'hi', media })).messages).toEqual([]);
  expect((await send({ text: 'hi', media: media.slice(1) })).messages).toHaveLength(11);
});

test('has buttons of at most 60 bytes, or none at all', async () => {
  const label = 'é'.repeat(30);
  expect((await send({ text: 'hi', buttons: [label] })).messages).toMatchObject([{ buttons: [[{ label }]] }]);
  const { messages, output } = await send({ text: 'hi', buttons: [`${label}!`] });
  expect(messages).toEqual([]);
  expect(output).toContain('is longer than 60 bytes');
  expect((await send({ text: 'hi' })).messages[0]).not.toHaveProperty('buttons');
});

test('expires a day after it was sent', async () => {
  const { messages } = await send({ text: 'hi', media: ['a.txt'] });
  expect(messages.map(({ expiresAt }) => expiresAt)).toEqual([86_400_000, 86_400_000]);
});

describe('a message to another chat', () => {
  test('is sent for the owner', async () => {
    const { messages } = await send({ text: 'hi', chat: 'telegram:43' });
    expect(messages).toMatchObject([{ chatId: '43', text: 'hi' }]);
  });

  test.each(['trusted', 'guest'] as const)('is refused to somebody who is %s', async (role) => {
    const { messages, output } = await send({ text: 'hi', chat: 'telegram:43' }, { role });
    expect(messages).toEqual([]);
    expect(output).toMatch(role === 'guest' ? /not for guests/u : /Only the owner/u);
  });

  test('is asked about, whole, where strangers and private things are in the conversation', async () => {
    const { messages, asked } = await send({ text: 'secret\u202E', chat: 'telegram:43' }, { taint: BOTH });
    expect(messages).toEqual([]);
    expect(asked).toEqual(['to telegram:43:\nsecret\\u{202e}']);
  });

  test('is asked about with the chat’s hidden signs made visible', async () => {
    const { asked } = await send({ text: 'hi', chat: 'telegram:4\u202E3' }, { taint: BOTH });
    expect(asked).toEqual(['to telegram:4\\u{202e}3:\nhi']);
  });

  test('goes to the chat that the context line names, odd signs included', async () => {
    const { messages } = await send({ text: 'hi', chat: 'telegram:!abc%3Aserver.org' });
    expect(messages).toMatchObject([{ channel: 'telegram', chatId: '!abc:server.org' }]);
  });

  test('is one also when the chat is written as if it were this one', async () => {
    for (const chat of ['telegram:42:7', 'other:42', 'telegram', 'telegram:42 ', ' telegram:43']) {
      const { asked, messages } = await send({ text: 'hi', chat }, { taint: BOTH });
      if (chat.trim() === 'telegram:42') expect(messages).toHaveLength(1);
      else expect(asked, chat).toHaveLength(1);
    }
  });

  test('is one where nobody knows which chat this is', async () => {
    const { asked } = await send({ text: 'hi', chat: 'telegram:42' }, { taint: BOTH, chat: undefined as never });
    expect(asked).toHaveLength(1);
  });
});

describe('a message to the chat of the turn', () => {
  test.each(['owner', 'trusted'] as const)('is sent for somebody who is %s, without a question', async (role) => {
    for (const params of [{ text: 'hi' }, { text: 'hi', chat: 'telegram:42' }]) {
      const { messages, asked } = await send(params, { role, taint: BOTH });
      expect(messages).toMatchObject([{ channel: 'telegram', chatId: '42', text: 'hi' }]);
      expect(asked).toEqual([]);
    }
  });

  test('is an error where there is no chat, or nothing can be sent', async () => {
    expect((await send({ text: 'hi' }, { chat: undefined as never })).output).toContain(
      'Nothing was sent: this turn has no chat',
    );
    expect((await send({ text: 'hi', chat: 'smoke:1' })).output).toBe('There is no channel smoke.');
  });
});

describe('a message that is to be spoken', () => {
  test('is sent as text, and waits as a text for the voice of its chat', async () => {
    const { messages } = await send({ text: 'hi', voice: true });
    expect(messages).toMatchObject([
      { channel: 'telegram', chatId: '42', text: 'hi' },
      { channel: 'text-to-speech', chatId: 'telegram:42', text: 'hi' },
    ]);
  });

  test('follows the rules of every message to another chat: who may, and what is asked', async () => {
    const said = { text: 'secret', chat: 'telegram:43', voice: true };
    expect((await send(said, { role: 'trusted' })).messages).toEqual([]);
    const { messages, asked } = await send(said, { taint: BOTH });
    expect(messages).toEqual([]);
    expect(asked).toEqual(['to telegram:43:\nsecret\n(also spoken)']);
    expect((await send(said)).messages.map(({ chatId }) => chatId)).toEqual(['43', 'telegram:43']);
  });

  test('without a text is the answer, which nothing is sent of now', async () => {
    const { messages, output } = await send({ text: ' ', voice: true });
    expect(messages).toEqual([]);
    expect(output).toContain('Your answer will be spoken too.');
    expect((await send({ text: '' })).output).toBe('The text is empty, so nothing was sent.');
    expect((await send({ text: '', voice: true, chat: 'telegram:43' })).output).toContain('The text is empty');
  });

  test('stays text where nothing can be spoken, and says so', async () => {
    const chat = { channel: 'terminal', chatId: 'main' };
    const { messages, output } = await send({ text: 'hi', voice: true }, { chat });
    expect(messages).toMatchObject([{ channel: 'terminal', text: 'hi' }]);
    expect(output).toBe('The message is on its way as text: voice messages cannot be sent to this chat.');
    const alone = await send({ text: '', voice: true }, { chat });
    expect(alone.messages).toEqual([]);
    expect(alone.output).toBe('Nothing was sent: voice messages cannot be sent to this chat. Answer in text.');
    expect((await send({ text: 'hi' }, { chat })).output).toBe('The message is on its way.');
  });

  test('is offered by no other name: what other tools call voice stays', () => {
    const spec = (name: string) => ({ name, description: name, parameters: { properties: { text: {}, voice: {} } } });
    expect(withoutVoice(spec('message')).parameters).toEqual({ properties: { text: {} } });
    expect(withoutVoice(spec('mcp_choir_sing'))).toEqual(spec('mcp_choir_sing'));
  });
});

describe('files with a message', () => {
  test('are sent as they are now', async () => {
    const { messages } = await send({ text: 'hi', media: ['a.txt'] });
    expect(messages).toHaveLength(2);
    expect(messages[1]).toMatchObject({ chatId: '42', media: [{ name: 'a.txt', path: 'kept: inside' }] });
  });

  test('are sent as what their names say, in capital letters too', async () => {
    const { messages } = await send({ text: 'hi', media: ['SHOT.PNG'] });
    expect(messages[1]?.media).toMatchObject([{ kind: 'image', mediaType: 'image/png' }]);
  });

  test.each(['../config.json', '../../outside/secret.txt', '.env', '/etc/passwd', 'missing.txt'])(
    'are not sent, nor the message, where %s may not be read without a yes',
    async (path) => {
      const { messages, output, decision } = await send({ text: 'hi', media: ['a.txt', path] });
      expect(messages).toEqual([]);
      if (path !== 'missing.txt') expect(decision).toBe('deny');
      expect(output).toContain(path.split('/').at(-1));
    },
  );

  test('are named to the person who is asked', async () => {
    const { asked } = await send({ text: 'hi', chat: 'telegram:43', media: ['a.txt'] }, { taint: BOTH });
    expect(asked).toEqual(['to telegram:43:\nhi\na.txt']);
  });

  test('are named to those who are asked in a group, with signs that would hide or move something made visible', async () => {
    const media = ['a\u001b[2K.txt'];
    const { asked } = await send({ text: 'hi', media }, { taint: BOTH, chatType: 'group' });
    expect(asked).toEqual([String.raw`a\u{1b}[2K.txt`]);
  });

  test('and so are buttons', async () => {
    const { asked } = await send({ text: 'hi', chat: 'telegram:43', buttons: ['Yes', 'No'] }, { taint: BOTH });
    expect(asked).toEqual(['to telegram:43:\nhi\n[Yes]\n[No]']);
  });
});
