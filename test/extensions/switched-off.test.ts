import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { failureOf } from '../config/temporary-home.ts';
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

test('models of an extension that is switched off are not called, and whoever writes reads by which key', async () => {
  const world = await startWorld({ dialect: 'ollama', config: { extensions: { ollama: false } } });
  try {
    expect((await world.assistant.info()).warnings).toContain(
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
    expect((await world.assistant.info()).warnings).toContain(
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
    const { warnings, channels } = await world.assistant.info();
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
