import { expect, test } from 'vitest';
import { load } from '../config/temporary-home.ts';
import { startFakeSpeech, standInFor } from '../support/fake-speech.ts';
import { GROUP } from '../support/three-people.ts';
import { waitFor } from '../support/wait.ts';
import { chatOf, OWNER, startWorld, type World } from '../support/world.ts';

const OPENAI_API_KEY = 'sk-for-openai-0123456789';
const GROQ_API_KEY = 'gsk-for-groq-0123456789';

/** A person records a message; resolves with what the model read of it. */
async function says(world: World): Promise<string> {
  const before = chatOf(world).length;
  world.model.reply('Heard.');
  world.telegram.addFile('v1', Buffer.from('OggS…'), 'voice/v1.oga');
  world.telegram.userSays(OWNER, '', {
    text: undefined,
    voice: { file_id: 'v1', duration: 3, mime_type: 'audio/ogg' },
  });
  await waitFor(() => chatOf(world).length > before, { what: 'an answer to the recording' });
  return world.model.requests.at(-1)?.view.lastUserText ?? '';
}

async function status(world: World): Promise<string> {
  const before = chatOf(world).length;
  world.telegram.userSays(OWNER, '/status');
  await waitFor(() => chatOf(world).length > before, { what: 'the status' });
  return chatOf(world).at(-1) ?? '';
}

test.each([
  ['OpenAI', { OPENAI_API_KEY }, 'api.openai.com', 'whisper-1', OPENAI_API_KEY],
  ['Groq', { GROQ_API_KEY }, 'api.groq.com', 'whisper-large-v3-turbo', GROQ_API_KEY],
  ['OpenAI before Groq', { GROQ_API_KEY, OPENAI_API_KEY }, 'api.openai.com', 'whisper-1', OPENAI_API_KEY],
])('with nothing but a key of %s a voice message is read as text', async (_, environment, host, model, key) => {
  await using speech = await startFakeSpeech();
  using _hosts = standInFor({ [host]: speech.url });
  await using world = await startWorld({ dialect: 'anthropic', environment });
  expect(await says(world)).toMatch(/it was spoken[^]*Remind me of the milk\.$/u);
  expect(speech.heard).toMatchObject([{ key: `Bearer ${key}` }]);
  expect(speech.heard[0]?.form).toContain('OggS');
  expect(speech.heard[0]?.form).toContain(model);
  expect(await status(world)).toContain(
    `Voice messages: turned into text by ${model} of ${host.split('.')[1] ?? ''}; recordings go to ${host}`,
  );
});

test('voice.provider null keeps recordings here, whatever keys there are', async () => {
  await using speech = await startFakeSpeech();
  using _hosts = standInFor({ 'api.openai.com': speech.url });
  const config = { voice: { provider: null } };
  await using world = await startWorld({ dialect: 'anthropic', environment: { OPENAI_API_KEY }, config });
  expect(await says(world)).toContain('could not be turned into text');
  expect(speech.heard).toEqual([]);
  expect(await status(world)).not.toContain('Voice messages');
});

test('a provider entry for another server gets no recording that no setting sends there', async () => {
  await using speech = await startFakeSpeech();
  const config = { providers: { openai: { baseUrl: speech.url, apiKey: 'for-a-proxy-0123' } } };
  await using world = await startWorld({ dialect: 'anthropic', config });
  expect(await says(world)).toContain('could not be turned into text (no speech to text is set up: it needs a key');
  expect(speech.heard).toEqual([]);
});

test('a configured provider is used by its name: its address and its key', async () => {
  await using speech = await startFakeSpeech();
  const config = {
    providers: { proxy: { kind: 'openai', baseUrl: speech.url, apiKey: 'for-a-proxy-0123' } },
    voice: { provider: 'proxy' },
  };
  await using world = await startWorld({ config });
  expect(await says(world)).toContain('Remind me of the milk.');
  expect(speech.heard).toMatchObject([{ key: 'Bearer for-a-proxy-0123' }]);
});

test('an address and a key of its own are used', async () => {
  await using speech = await startFakeSpeech();
  const voice = { provider: 'mine', baseUrl: speech.url, apiKey: 'voice-key-1234567' };
  await using world = await startWorld({ config: { voice } });
  expect(await says(world)).toMatch(/it was spoken[^]*Remind me of the milk\.$/u);
  expect(speech.heard).toMatchObject([{ key: 'Bearer voice-key-1234567' }]);
  expect(speech.heard[0]?.form).toContain('OggS');
});

test('speech that nobody can turn into text is told of, with the file', async () => {
  await using world = await startWorld();
  expect(await says(world)).toMatch(
    /"audio" could not be turned into text \(no speech to text is set up: it needs a key of OpenAI or Groq, or voice\.provider\); it is at \S+/u,
  );
});

test('a key that names a variable which is not set is left out, with a warning', async () => {
  const { warnings } = await load('{"voice": {"apiKey": "${NOPE}"}}');
  expect(warnings).toEqual(['voice.apiKey names the variable NOPE, which is not set; the setting is left out.']);
});

test('a group has read along voice messages, too', async () => {
  await using speech = await startFakeSpeech();
  using _hosts = standInFor({ 'api.openai.com': speech.url });
  const groups = { debounceMs: 0, followUpSeconds: 0 };
  const telegram = { allowFrom: ['42', '43'], owners: ['42'], groups };
  await using world = await startWorld({
    dialect: 'anthropic',
    environment: { OPENAI_API_KEY },
    config: { channels: { telegram } },
  });
  world.model.reply('She wants milk.');
  world.telegram.addFile('v1', Buffer.from('OggS…'), 'voice/v1.oga');
  world.telegram.userSays(GROUP, '', {
    from: { id: 43, is_bot: false, first_name: 'Eve' },
    text: undefined,
    voice: { file_id: 'v1', duration: 3, mime_type: 'audio/ogg' },
  });
  const entities = [{ type: 'mention', offset: 0, length: 9 }];
  world.telegram.userSays(GROUP, '@test_bot what did she say?', { from: { id: OWNER, first_name: 'Ann' }, entities });
  await waitFor(() => chatOf(world, GROUP).includes('She wants milk.'), { what: 'an answer in the group' });
  const read = world.model.requests.at(-1)?.view.lastUserText ?? '';
  expect(read).toMatch(/<untrusted [^>]*>\nEve: Remind me of the milk\./u);
  expect(read).not.toContain('it was spoken');
});
