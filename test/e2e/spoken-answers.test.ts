import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { OGG, startFakeSpeech, standInFor, type FakeSpeech } from '../support/fake-speech.ts';
import type { Step } from '../support/model-script.ts';
import { startEverywhere } from '../support/three-platforms.ts';
import { waitFor } from '../support/wait.ts';
import { chatOf, OWNER, startWorld, type World, type WorldOptions } from '../support/world.ts';

const OPENAI_API_KEY = 'sk-for-openai-0123456789';
const ANSWER = 'It is **sunny**, see [the map](https://maps.example.com/graz).';

/** Settings of a speech server of the test. */
const spokenBy = (speech: FakeSpeech, more: object = {}): Pick<WorldOptions, 'config'> => ({
  config: { voice: { speech: { baseUrl: speech.url, model: 'local', ...more } } },
});
const speakAnswer = (args: object = { text: '', voice: true }): Step => ({
  calls: [{ name: 'message', arguments: { ...args } }],
});

/** Files that the owner got, as kind and bytes. */
const files = (world: World): readonly string[] =>
  world.telegram.sentMessages.flatMap(({ file }) =>
    file === undefined ? [] : [`${file.kind} ${file.name} ${Buffer.from(file.bytes).toString()}`],
  );
const VOICE = `voice answer.ogg ${OGG.toString()}`;

const inputs = (speech: FakeSpeech): readonly unknown[] => speech.asked.map(({ body }) => body['input']);
const gets = (world: World, count: number): Promise<unknown> =>
  waitFor(() => chatOf(world).length >= count, { what: `${count} messages` });

const fieldsOfMessage = (world: World): readonly string[] => {
  const body = JSON.stringify(world.model.requests[0]?.body['tools']);
  const tools = JSON.parse(body) as {
    readonly function?: { readonly name: string; readonly parameters: { readonly properties: object } };
    readonly name?: string;
    readonly input_schema?: { readonly properties: object };
  }[];
  const found = tools.find((tool) => (tool.function?.name ?? tool.name) === 'message');
  return Object.keys(found?.function?.parameters.properties ?? found?.input_schema?.properties ?? {});
};

describe('an answer that a person wants to hear', () => {
  test('comes as text and as a voice message, with nothing but a key of OpenAI', async () => {
    await using speech = await startFakeSpeech();
    using _hosts = standInFor({ 'api.openai.com': speech.url });
    await using world = await startWorld({ dialect: 'anthropic', environment: { OPENAI_API_KEY } });
    world.model.reply(speakAnswer(), ANSWER);
    world.telegram.userSays(OWNER, 'how is the weather? answer as voice');
    await gets(world, 2);
    expect(chatOf(world)).toEqual(['It is sunny, see the map.', '[voice answer.ogg]']);
    expect(files(world)).toEqual([VOICE]);
    const input = 'It is sunny, see the map.';
    const body = { model: 'tts-1', voice: 'alloy', input, response_format: 'opus' };
    expect(speech.asked).toEqual([{ key: `Bearer ${OPENAI_API_KEY}`, body }]);
    world.telegram.userSays(OWNER, '/status');
    await gets(world, 3);
    expect(chatOf(world).at(-1)).toContain(
      'Answers: spoken by tts-1 of openai when you ask for it; their text goes to api.openai.com',
    );
    // The price of the model is known, so it counts: 25 characters at 15 dollars per million.
    const { rows } = await world.assistant.call('usage', { days: 1, by: 'model' });
    expect(rows.find(({ name }) => name === 'openai/tts-1')).toMatchObject({
      calls: 1,
      unpriced: 0,
      costUsd: 0.000375,
    });
  });

  test('is spoken by itself when it answers a voice message, where that is set', async () => {
    await using speech = await startFakeSpeech();
    const { config } = spokenBy(speech, { when: 'voice', format: 'mp3', voice: 'nova' });
    await using world = await startWorld({
      config: { voice: { ...(config?.['voice'] as object), baseUrl: speech.url } },
    });
    world.model.reply('I will.', 'In text.');
    world.telegram.addFile('v1', Buffer.from('OggS…'), 'voice/v1.oga');
    const voice = { file_id: 'v1', duration: 3, mime_type: 'audio/ogg' };
    world.telegram.userSays(OWNER, '', { text: undefined, voice });
    await gets(world, 2);
    expect(files(world)).toEqual([VOICE.replace('.ogg', '.mp3')]);
    expect(speech.asked[0]?.body).toEqual({ model: 'local', voice: 'nova', input: 'I will.', response_format: 'mp3' });
    world.telegram.userSays(OWNER, 'and now?');
    await gets(world, 3);
    expect(chatOf(world).at(-1)).toBe('In text.');
    expect(speech.asked).toHaveLength(1);
  });

  test('may be what the message tool sends: text and voice, and the same words are not answered once more', async () => {
    await using speech = await startFakeSpeech();
    await using world = await startWorld(spokenBy(speech));
    world.model.reply(speakAnswer({ text: 'Good night.', voice: true }), 'Good night.');
    world.telegram.userSays(OWNER, 'say good night');
    await gets(world, 2);
    expect(chatOf(world)).toEqual(['Good night.', '[voice answer.ogg]']);
    expect(files(world)).toEqual([VOICE]);
    expect(inputs(speech)).toEqual(['Good night.']);
  });

  test('is a file for a person who lets nobody send them voice messages on Telegram', async () => {
    await using speech = await startFakeSpeech();
    await using world = await startWorld(spokenBy(speech));
    world.telegram.faultNext('sendVoice', { status: 400, description: 'Bad Request: VOICE_MESSAGES_FORBIDDEN' });
    world.model.reply(speakAnswer(), 'Hello.');
    world.telegram.userSays(OWNER, 'hello, as voice');
    await gets(world, 2);
    expect(files(world)).toEqual([VOICE.replace('voice', 'document')]);
  });

  test('is a file on Discord and Slack', async () => {
    await using speech = await startFakeSpeech();
    await using everywhere = await startEverywhere(spokenBy(speech));
    const { world, discord, slack } = everywhere;
    world.model.setHandler(({ view }) => (view.toolResults.length === 0 ? speakAnswer() : 'Hello.'));
    await everywhere.turn('discord', 'hi');
    const posted = (): readonly { readonly name: string }[] => discord.chats.posts.flatMap((post) => post.files);
    await waitFor(() => posted().length > 0, { what: 'the file on Discord' });
    expect(posted()).toMatchObject([{ name: 'answer.ogg' }]);
    await everywhere.turn('slack', 'hi');
    const shared = (): readonly { readonly name: string }[] => slack.sentPosts.flatMap((post) => post.files ?? []);
    await waitFor(() => shared().length > 0, { what: 'the file on Slack' });
    expect(shared()).toMatchObject([{ name: 'answer.ogg' }]);
    expect(everywhere.texts('discord')).toContain('Hello.');
    expect(everywhere.texts('slack')).toContain('Hello.');
  });

  test('is cut after a sentence where it is longer than a server takes, and says so', async () => {
    await using speech = await startFakeSpeech();
    await using world = await startWorld(spokenBy(speech));
    const sentence = 'This is a sentence of the answer. ';
    world.model.reply(speakAnswer(), `# Title\n\n${sentence.repeat(200)}`);
    world.telegram.userSays(OWNER, 'tell me all of it, spoken');
    await waitFor(() => files(world).length === 1, { what: 'the voice message' });
    const [input = ''] = inputs(speech).map(String);
    expect(input.length).toBeLessThanOrEqual(4_096);
    expect(input.length).toBeGreaterThan(4_000);
    expect(input).toMatch(/^Title\n\nThis is .* of the answer\. The rest is in the text\.$/su);
  });
});

describe('without a server that speaks', () => {
  test('the model is not told of voice messages, and a call for one says so', async () => {
    await using world = await startWorld();
    world.model.reply(speakAnswer(), 'Only text.');
    world.telegram.userSays(OWNER, 'answer as voice');
    await gets(world, 1);
    expect(fieldsOfMessage(world)).toEqual(['text', 'chat', 'media', 'buttons']);
    expect(world.model.requests[1]?.view.toolResults).toMatchObject([
      { text: expect.stringContaining('voice messages cannot be sent to this chat. Answer in text.') as string },
    ]);
    expect(chatOf(world)).toEqual(['Only text.']);
  });

  test('it is told once the configuration names one, without a restart', async () => {
    await using speech = await startFakeSpeech();
    await using world = await startWorld();
    world.model.reply('Hi.', speakAnswer(), 'Now I speak.');
    world.telegram.userSays(OWNER, 'hi');
    await gets(world, 1);
    const path = join(world.home, 'config.json');
    const written = JSON.parse(await readFile(path, 'utf8')) as object;
    await writeFile(path, JSON.stringify({ ...written, ...spokenBy(speech).config }));
    const { changes } = await world.assistant.reload();
    expect(changes.map(({ effect }) => effect)).toEqual(changes.map(() => 'live'));
    world.telegram.userSays(OWNER, 'answer as voice');
    await waitFor(() => files(world).length === 1, { what: 'the voice message' });
    expect(inputs(speech)).toEqual(['Now I speak.']);
  });

  test('it is told where there is one', async () => {
    await using speech = await startFakeSpeech();
    await using world = await startWorld(spokenBy(speech));
    world.model.reply('Hi.');
    world.telegram.userSays(OWNER, 'hi');
    await gets(world, 1);
    expect(fieldsOfMessage(world)).toContain('voice');
  });
});

describe('a text that cannot be spoken', () => {
  test.each([
    [503, 'There is no voice message, because the speech server answered 503.'],
    [401, 'There is no voice message, because the speech server answered 401.'],
  ])('because the server answers %s stays an answer, with one sentence', async (status, sentence) => {
    await using speech = await startFakeSpeech();
    speech.sound = status;
    await using world = await startWorld(spokenBy(speech));
    world.model.reply(speakAnswer(), 'It is sunny.');
    world.telegram.userSays(OWNER, 'answer as voice');
    await gets(world, 2);
    expect(chatOf(world)).toEqual(['It is sunny.', sentence]);
    const tape = await world.tape('telegram:42');
    expect(tape.findLast(({ kind }) => kind === 'turn-end')).toMatchObject({ outcome: 'answered' });
  });

  test('because a budget is used up is told with the budget', async () => {
    await using speech = await startFakeSpeech();
    const { config } = spokenBy(speech, { usdPerMillionCharacters: 1_000_000 });
    await using world = await startWorld({ config: { ...config, agent: { budget: { dayUsd: 5 } } } });
    world.model.reply(speakAnswer(), 'Twelve dollars.', 'Spent.');
    world.telegram.userSays(OWNER, 'answer as voice');
    await waitFor(() => files(world).length === 1, { what: 'the voice message' });
    world.telegram.userSays(OWNER, 'again');
    await gets(world, 3);
    expect(chatOf(world).at(-1)).toContain('today’s budget is used up');
    expect(speech.asked).toHaveLength(1);
  });
});

describe('what is spoken', () => {
  test('is what people may read: after the render hooks, without secrets', async () => {
    await using speech = await startFakeSpeech();
    await using world = await startWorld({
      ...spokenBy(speech, { apiKey: 'key-of-the-voice-0123' }),
      hooks: [
        {
          owner: 'cover',
          hooks: { render: async (_, text) => ({ type: 'replace', value: text.replace('wintergreen', 'covered') }) },
          guard: true,
        },
      ],
    });
    world.model.reply(speakAnswer(), 'wintergreen and key-of-the-voice-0123');
    world.telegram.userSays(OWNER, 'answer as voice');
    await waitFor(() => files(world).length === 1, { what: 'the voice message' });
    expect(inputs(speech)).toEqual(['covered and [redacted]']);
  });
});

describe('an assistant that stops while a text is spoken', () => {
  test('sends it after the next start, once', async () => {
    await using speech = await startFakeSpeech();
    let letGo = (): void => {};
    const held = new Promise<void>((resolve) => (letGo = resolve));
    speech.onSpeech = () => held;
    await using world = await startWorld(spokenBy(speech));
    world.model.reply(speakAnswer(), 'Sooner or later.');
    world.telegram.userSays(OWNER, 'answer as voice');
    await waitFor(() => speech.asked.length === 1, { what: 'the request to speak' });
    const restarting = world.restart();
    speech.onSpeech = () => {};
    await restarting;
    letGo();
    await waitFor(() => files(world).length === 1, { what: 'the voice message' });
    world.model.reply('Done.');
    world.telegram.userSays(OWNER, 'and?');
    await waitFor(() => chatOf(world).at(-1) === 'Done.', { what: 'the next answer' });
    expect(files(world)).toEqual([VOICE]);
    expect(chatOf(world)).toEqual(['Sooner or later.', '[voice answer.ogg]', 'Done.']);
  });
});
