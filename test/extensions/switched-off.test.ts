import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { tapeName } from '../../src/core/session/tape-name.ts';
import { failureOf } from '../config/temporary-home.ts';
import { runCommand } from '../support/command-run.ts';
import { standInFor, startFakeSpeech } from '../support/fake-speech.ts';
import { SkippingClock } from '../support/skipping-clock.ts';
import { tempFolder } from '../support/temp.ts';
import { waitFor } from '../support/wait.ts';
import { chatOf, OWNER, startWorld } from '../support/world.ts';
import { EXTENSIONS } from '../../src/extensions/index.ts';

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
    const { message } = await failureOf(world.assistant.call('cron', { action: 'list' }));
    expect(message).toBe('cron is switched off (extensions.cron in the configuration).');
  } finally {
    await world[Symbol.asyncDispose]();
  }
});

test('/undo leaves the jobs of a schedule that is off, and says why', async () => {
  const world = await startWorld();
  try {
    const add = { action: 'add', when: '0 6 * * *', text: 'Wake up', timezone: 'Europe/Vienna' };
    world.model.reply({ calls: [{ name: 'cron', arguments: add }] }, 'Set.');
    world.telegram.userSays(OWNER, 'wake me');
    await waitFor(() => chatOf(world).length === 1);
    const file = join(world.workspace, 'cron', 'jobs.json');
    const jobs = await readFile(file, 'utf8');
    expect(jobs).toContain('Wake up');
    const path = join(world.home, 'config.json');
    await writeFile(path, JSON.stringify({ ...JSON.parse(await readFile(path, 'utf8')), cron: { enabled: false } }));
    await world.restart();
    world.telegram.userSays(OWNER, '/undo yes');
    await waitFor(() => chatOf(world).length === 2);
    expect(chatOf(world)[1]).toContain('wake-up: not changed: The schedule is switched off (cron.enabled in');
    expect(await readFile(file, 'utf8')).toBe(jobs);
  } finally {
    await world[Symbol.asyncDispose]();
  }
});

test.each([
  ['cron.enabled is false', { cron: { enabled: false } }],
  ['the extension is off', { extensions: { cron: false } }],
])('while %s, the tape of a job that is gone is removed after 90 days, and no sooner', async (_case, config) => {
  const clock = new SkippingClock();
  const tape = (home: string, key: string): string => join(home, 'sessions', tapeName(key));
  const world = await startWorld({
    clock,
    config,
    furnish: async (home) => {
      await mkdir(join(home, 'sessions'), { recursive: true });
      for (const key of ['cron:long-gone', 'telegram:42']) await writeFile(tape(home, key), '');
    },
  });
  try {
    const sweptAfter = async (days: number): Promise<void> => {
      clock.skip(days * 86_400_000);
      await waitFor(async () =>
        ((await world.assistant.call('info', {})).storage ?? '').includes('within the last hour'),
      );
    };
    await sweptAfter(89);
    expect(existsSync(tape(world.home, 'cron:long-gone'))).toBe(true);
    clock.skip(2 * 86_400_000);
    await waitFor(() => !existsSync(tape(world.home, 'cron:long-gone')), { what: 'the sweep' });
    expect(existsSync(tape(world.home, 'telegram:42'))).toBe(true);
  } finally {
    await world[Symbol.asyncDispose]();
  }
});

test('models of an extension that is switched off are not called, and whoever writes reads by which key', async () => {
  const world = await startWorld({ dialect: 'ollama', config: { extensions: { ollama: false } } });
  try {
    expect((await world.assistant.call('info', {})).warnings).toContain(
      "agent.model: ollama/scripted-model can't be used: ollama is switched off (extensions.ollama in the configuration).",
    );
    world.telegram.userSays(OWNER, 'hello');
    await waitFor(() => chatOf(world).length === 1);
    expect(chatOf(world)[0]).toContain('ollama is switched off (extensions.ollama in the configuration)');
    expect(world.model.requests).toEqual([]);
  } finally {
    await world[Symbol.asyncDispose]();
  }
});

test('a fallback of an extension that is switched off is left out, and so is an entry of its kind', async () => {
  const config = {
    extensions: { ollama: false },
    agent: { model: 'openai/scripted-model', fallbacks: ['near/small'] },
    providers: { near: { kind: 'ollama', baseUrl: 'http://127.0.0.1:1' } },
  };
  const world = await startWorld({ config });
  try {
    expect((await world.assistant.call('info', {})).warnings).toContain(
      "agent.fallbacks: near/small can't be used: ollama is switched off (extensions.ollama in the configuration).",
    );
    world.model.reply('hi');
    world.telegram.userSays(OWNER, 'hello');
    await waitFor(() => chatOf(world).length === 1);
    expect(chatOf(world)).toEqual(['hi']);
  } finally {
    await world[Symbol.asyncDispose]();
  }
});

test('a channel of an extension that is switched off stays off, says by which key, and the others connect', async () => {
  const discord = { token: 'a-token-of-discord-0001', apiBase: 'http://127.0.0.1:1', allowFrom: ['7'] };
  const world = await startWorld({
    furnish: async (home) => {
      const path = join(home, 'config.json');
      const written = JSON.parse(await readFile(path, 'utf8')) as { readonly channels: object };
      const channels = { ...written.channels, discord, second: { ...discord, kind: 'discord' } };
      await writeFile(path, JSON.stringify({ ...written, channels, extensions: { discord: false } }));
    },
  });
  try {
    const { warnings, channels } = await world.assistant.call('info', {});
    const because = 'stays off: discord is switched off (extensions.discord in the configuration).';
    expect(warnings).toEqual(expect.arrayContaining([`channels.discord ${because}`, `channels.second ${because}`]));
    expect(Object.keys(channels)).not.toContain('discord');
    world.model.reply('hi');
    world.telegram.userSays(OWNER, 'hello');
    await waitFor(() => chatOf(world).length === 1);
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

test('a server of its own is left out as a fallback, too, where nothing speaks its API', async () => {
  const config = {
    extensions: { openai: false },
    agent: { model: 'anthropic/scripted-model', fallbacks: ['mine/small'] },
    providers: { mine: { baseUrl: 'http://127.0.0.1:1' } },
  };
  await using world = await startWorld({ dialect: 'anthropic', config });
  world.model.reply('hi');
  world.telegram.userSays(OWNER, 'hello');
  await waitFor(() => chatOf(world).length === 1);
  expect(chatOf(world)).toEqual(['hi']);
});

test('an extension that is switched on again while the assistant runs is one that the next start has', async () => {
  await using world = await startWorld();
  const path = join(world.home, 'config.json');
  const change = async (extensions: object): Promise<string | null> => {
    await writeFile(path, JSON.stringify({ ...JSON.parse(await readFile(path, 'utf8')), extensions }));
    return (await world.assistant.call('configReload', {})).refused;
  };
  const near = { agent: { model: 'openai/scripted-model', fallbacks: ['ollama/small'] } };
  await writeFile(path, JSON.stringify({ ...JSON.parse(await readFile(path, 'utf8')), ...near }));
  await change({ ollama: false, voice: false });
  await world.restart();
  expect((await world.assistant.call('info', {})).warnings.join()).toContain('ollama is switched off');
  expect(await change({ voice: false })).toBe(null);
  expect((await world.assistant.call('info', {})).warnings.join()).not.toContain('ollama is switched off');
  expect(await change({})).toBe(null);
});

test('the doctor looks at nothing of an extension that is switched off', async () => {
  await using world = await startWorld();
  const path = join(world.home, 'config.json');
  const write = async (extensions: object): Promise<void> =>
    await writeFile(path, JSON.stringify({ ...JSON.parse(await readFile(path, 'utf8')), extensions }));
  const ids = async (): Promise<readonly string[]> => {
    const { out } = await runCommand(['doctor', '--offline', '--json'], world.home);
    return (JSON.parse(out) as { readonly checks: readonly { readonly id: string }[] }).checks.map(({ id }) => id);
  };
  expect(await ids()).toContain('heartbeat.works');
  await write({ heartbeat: false });
  expect(await ids()).not.toContain('heartbeat.works');
});

test('with the services switched off no recording goes to one of them', async () => {
  await using speech = await startFakeSpeech();
  using _hosts = standInFor({ 'api.groq.com': speech.url });
  const config = { extensions: { presets: false } };
  const environment = { GROQ_API_KEY: 'gsk_for-groq-0123456789' };
  await using world = await startWorld({ dialect: 'anthropic', environment, config });
  world.model.reply('Heard.');
  world.telegram.addFile('v1', Buffer.from('OggS…'), 'voice/v1.oga');
  world.telegram.userSays(OWNER, '', {
    text: undefined,
    voice: { file_id: 'v1', duration: 3, mime_type: 'audio/ogg' },
  });
  await waitFor(() => chatOf(world).length === 1, { what: 'an answer to the recording' });
  expect(speech.heard).toEqual([]);
});

const COMMANDS = [
  ['terminal', ['chat', '-m', 'hi']],
  ['cron', ['cron', 'list']],
  ['browser', ['tools', 'install', 'browser', '--yes']],
  ['traces', ['trace', 'replay', 'turn.jsonl']],
] as const;

test.each(COMMANDS.filter(([of]) => EXTENSIONS.some(({ name }) => name === of)))(
  'a command of the terminal of %s says so while that is off',
  async (name, words) => {
    await using folder = await tempFolder();
    await writeFile(join(folder.path, 'config.json'), JSON.stringify({ extensions: { [name]: false } }));
    const { code, err } = await runCommand([...words], folder.path);
    expect([code, err]).toEqual([1, expect.stringContaining(`${name} is switched off (extensions.${name} in the`)]);
  },
);
