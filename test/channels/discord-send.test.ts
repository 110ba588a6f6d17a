import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { OutgoingPart } from '../../src/core/channels/channel.ts';
import { EPHEMERAL, openApi, type DiscordApi } from '../../src/extensions/discord/api.ts';
import { fill } from '../../src/extensions/discord/command-answer.ts';
import { toSendError } from '../../src/extensions/discord/errors.ts';
import { sendPart } from '../../src/extensions/discord/send.ts';
import { Deferrals } from '../../src/extensions/discord/slash-commands.ts';
import type { DiscordPlace } from '../support/discord-chats.ts';
import { somebody } from '../support/discord-world.ts';
import { VirtualClock } from '../support/virtual-clock.ts';
import { startFakeDiscord, type DiscordFault, type FakeDiscord } from '../support/fake-discord.ts';

const SEND = /^POST .*\/messages$/u;
const signal = new AbortController().signal;

describe('a part sent to Discord', () => {
  let discord: FakeDiscord;
  let api: DiscordApi;
  let chat: DiscordPlace;
  let count = 0;

  beforeAll(async () => {
    discord = await startFakeDiscord();
    api = openApi(discord);
  });
  afterAll(async () => {
    api[Symbol.dispose]();
    await discord.close();
  });

  const part = (text: string, more: Partial<OutgoingPart> = {}): OutgoingPart => {
    count += 1;
    chat = discord.direct(somebody(`Person${count}`));
    return { messageId: 'm', kind: 'answer', chatId: chat.id, text, media: [], nonce: `nonce${count}`, ...more };
  };
  const send = (given: OutgoingPart): Promise<{ id: string }> =>
    sendPart(api, given, { me: discord.bot.id, now: Date.now(), signal });
  const again = (given: OutgoingPart, sinceMs: number, known: readonly string[] = []): Promise<{ id: string }> =>
    send({ ...given, resend: { since: Date.now() - sinceMs, isKnown: (id) => known.includes(id) } });
  const texts = (): readonly string[] => discord.sent(chat).map(({ content }) => content);

  test.each<[string, DiscordFault, object]>([
    ['too many', { status: 429, retryAfter: 3 }, { failure: 'retryable', retryAfterMs: 3_050 }],
    ['an error of Discord’s', { status: 500 }, { failure: 'uncertain' }],
    ['an error of a proxy’s', { status: 502, body: 'html' }, { failure: 'uncertain' }],
    ['a broken connection', 'reset-before', { failure: 'uncertain' }],
    ['a broken connection after it was taken', 'reset-after', { failure: 'uncertain' }],
    ['a refusal', { status: 400, description: 'Invalid Form Body' }, { failure: 'permanent' }],
    ['a refused token', { status: 401 }, { failure: 'revoked' }],
  ])('fails by what is known of it: %s', async (_, fault, expected) => {
    const own = openApi(discord);
    discord.faultNext(SEND, fault);
    const sent = sendPart(own, part('hello'), { me: discord.bot.id, now: Date.now(), signal });
    expect(
      toSendError(
        await sent.then(
          () => undefined,
          (error: unknown) => error,
        ),
      ),
    ).toMatchObject(expected);
    own[Symbol.dispose]();
  });

  test('that never left is retryable, one to a chat that is gone ends that chat', async () => {
    const nowhere = openApi({ token: discord.token, apiBase: 'http://127.0.0.1:9/api' });
    const lost = await sendPart(nowhere, part('hello'), { me: '1', now: 0, signal }).catch((error: unknown) => error);
    expect(toSendError(lost).failure).toBe('retryable');
    const gone = await send({ ...part('hello'), chatId: '1' }).catch((error: unknown) => error);
    expect(toSendError(gone).failure).toBe('blocked');
    nowhere[Symbol.dispose]();
  });

  test('is there once when it is sent again with the same nonce', async () => {
    const given = part('hello');
    discord.faultNext(SEND, 'reset-after');
    await send(given).catch(() => {});
    const { id } = await again(given, 1_000);
    expect(texts()).toEqual(['hello']);
    expect(discord.sent(chat)[0]?.id).toBe(id);
  });

  test('takes the place of the beginning of it that was shown under its nonce', async () => {
    const given = part('The beginning');
    discord.faultNext(SEND, 'reset-after');
    await send(given).catch(() => {});
    await again({ ...given, text: 'The beginning and the end.' }, 1_000);
    expect(texts()).toEqual(['The beginning and the end.']);
  });

  test('is looked for when its nonce is forgotten, and sent when it is not there', async () => {
    const given = part('hello');
    const { id: first } = await send(given);
    discord.chats.forgetNonces();
    expect(await again(given, 120_000)).toEqual({ id: first, content: 'hello' });
    expect(texts()).toEqual(['hello']);
    // The same words, known to be another message's.
    await again({ ...given, nonce: 'other' }, 120_000, [first]);
    expect(texts()).toEqual(['hello', 'hello']);
  });

  test('is sent where the history may not be read', async () => {
    const given = part('hello');
    discord.faultNext(/^GET .*\/messages$/u, { status: 403, description: 'Missing Access' });
    await again(given, 120_000);
    expect(texts()).toEqual(['hello']);
  });

  test('pings nobody, shows no previews, and has at most 25 buttons, each of them once', async () => {
    const buttons = [Array.from({ length: 30 }, (_, n) => ({ id: `b${n % 28}`, label: 'x'.repeat(100) }))];
    await send(part('choose', { buttons }));
    const body = discord.calls.findLast(({ route }) => SEND.test(route))?.body;
    expect(body).toMatchObject({ allowed_mentions: { parse: [] }, flags: 4, enforce_nonce: true });
    expect(discord.sent(chat)[0]?.components.map((row) => Object.keys(row['components'] ?? {}).length)).toEqual([
      5, 5, 5, 5, 5,
    ]);
    expect(discord.chats.problems).toEqual([]);
  });

  test('holds at most 10 files, and says so before it is sent', async () => {
    const media = Array.from({ length: 11 }, (_, n) => {
      return { kind: 'document' as const, mediaType: 'text/plain', path: '/dev/null', name: `${n}.txt` };
    });
    await expect(send(part('see', { media }))).rejects.toMatchObject({
      failure: 'permanent',
      message: 'a message holds at most 10 files',
    });
  });

  test('holds no file that is not there', async () => {
    const media = [{ kind: 'document' as const, mediaType: 'text/plain', path: '/nowhere/x.txt', name: 'x.txt' }];
    await expect(send(part('see', { media }))).rejects.toMatchObject({ failure: 'permanent' });
  });
});

describe('an answer that one person alone may see', () => {
  test('takes the place of its command in all its parts, and nothing else does', async () => {
    await using world = await privatePlace();
    const { discord, chat, part, sent } = world;
    const { onlyTo: _, ...everybodys } = part({});
    expect(await fill(world, everybodys, signal)).toBeUndefined();
    await fill(world, part({ text: 'one' }), signal);
    await fill(world, part({ text: 'two' }), signal);
    expect(sent()).toEqual([
      ['one', 'ann'],
      ['two', 'ann'],
    ]);
    expect(discord.sent(chat)).toHaveLength(2);
    // Something stands there, so it is not taken away at the end.
    expect(world.deferrals.takeAll()).toEqual([]);
  });

  test('is not sent at all once Discord shows it to everybody', async () => {
    await using world = await privatePlace();
    world.discord.faultNext(/^PATCH .*@original$/u, { status: 401, description: 'Invalid Webhook Token' });
    await expect(fill(world, world.part({}), signal)).rejects.toMatchObject({ failure: 'permanent' });
    await using late = await privatePlace();
    await late.clock.advance(15 * 60_000);
    await expect(fill(late, late.part({}), signal)).rejects.toMatchObject({ failure: 'permanent' });
    expect([...world.sent(), ...late.sent()]).toEqual([]);
  });
});

/** A command that Ann called on a message and that waits for its answer. */
async function privatePlace() {
  const discord = await startFakeDiscord();
  const api = openApi(discord);
  const clock = new VirtualClock();
  const deferrals = new Deferrals(clock);
  const ann = somebody('Ann', { id: '77' });
  const chat = discord.direct(ann);
  const post = discord.sends(chat, ann, 'hi');
  const { id, token } = discord.commandsOn(chat, ann, 'Why?', post.id);
  await api.confirm({ id, token }, { type: 5, flags: EPHEMERAL }, signal);
  deferrals.put({ chatId: chat.id, onlyTo: id }, token, Promise.resolve(true));
  const part = (more: Partial<OutgoingPart>): OutgoingPart => ({
    messageId: 'm',
    kind: 'notice',
    chatId: chat.id,
    text: 'why',
    media: [],
    nonce: 'n',
    onlyTo: id,
    ...more,
  });
  const sent = (): readonly unknown[] =>
    discord.sent(chat).map(({ content, onlyFor }) => [content, onlyFor === ann.id ? 'ann' : onlyFor]);
  return {
    discord,
    api,
    clock,
    deferrals,
    chat,
    part,
    sent,
    listener: { application: discord.application },
    [Symbol.asyncDispose]: async () => {
      api[Symbol.dispose]();
      await discord.close();
    },
  };
}
