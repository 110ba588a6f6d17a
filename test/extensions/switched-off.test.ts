import { expect, test } from 'vitest';
import { failureOf } from '../config/temporary-home.ts';
import { standInFor, startFakeSpeech } from '../support/fake-speech.ts';
import { waitFor } from '../support/wait.ts';
import { chatOf, OWNER, startWorld } from '../support/world.ts';

test('an extension that is switched off is not there, and says so where it is asked for', async () => {
  const world = await startWorld({ config: { extensions: { cron: false, memory: false } } });
  try {
    world.model.reply('hi');
    world.telegram.userSays(OWNER, 'hello');
    await waitFor(() => chatOf(world).length === 1);
    expect(world.model.requests[0]?.view.tools).not.toContain('cron');
    expect(world.model.requests[0]?.view.tools).not.toContain('memory_write');
    world.telegram.userSays(OWNER, '/cron');
    await waitFor(() => chatOf(world).length === 2);
    expect(chatOf(world)[1]).toContain('There is no command /cron.');
    const { message } = await failureOf(world.assistant.request('cron', { action: 'list' }));
    expect(message).toBe('cron is switched off (extensions.cron in the configuration).');
  } finally {
    await world[Symbol.asyncDispose]();
  }
});

test('with voice switched off a recording stays here and is answered all the same', async () => {
  await using speech = await startFakeSpeech();
  using _hosts = standInFor({ 'api.openai.com': speech.url });
  const config = { extensions: { voice: false } };
  const environment = { OPENAI_API_KEY: 'sk-for-openai-0123456789' };
  await using world = await startWorld({ dialect: 'anthropic', environment, config });
  world.model.reply('Heard.');
  world.telegram.addFile('v1', Buffer.from('OggS…'), 'voice/v1.oga');
  const voice = { file_id: 'v1', duration: 3, mime_type: 'audio/ogg' };
  world.telegram.userSays(OWNER, '', { text: undefined, voice });
  await waitFor(() => chatOf(world).length === 1, { what: 'an answer to the recording' });
  expect(world.model.requests[0]?.view.lastUserText).toContain('could not be turned into text (no speech to text');
  expect(speech.heard).toEqual([]);
  world.telegram.userSays(OWNER, '/status');
  await waitFor(() => chatOf(world).length === 2, { what: 'the status' });
  expect(chatOf(world)[1]).not.toContain('Voice messages');
});
