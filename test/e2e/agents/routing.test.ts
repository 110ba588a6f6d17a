import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { PROGRAM } from '../../support/extensions.ts';
import { homePaths } from '../../../src/core/config/home.ts';
import { loadConfig } from '../../../src/core/config/load.ts';
import type { AgentFacts } from '../../../src/core/gateway/assistant-port.ts';
import { connectAssistant } from '../../../src/core/gateway/control.ts';
import { CHATS, homeOf, put, sayIn, startAgentsWorld } from '../../support/agents-world.ts';
import { edit } from '../../support/reload-world.ts';
import { systemClock } from '../../../src/core/util/clock.ts';
import { waitFor } from '../../support/wait.ts';
import { chatOf, OWNER, type World } from '../../support/world.ts';

const inKim = (world: World): readonly string[] => chatOf(world, CHATS.kim);
const inLou = (world: World): readonly string[] => chatOf(world, CHATS.lou);

const agentsOf = async (world: World): Promise<readonly AgentFacts[]> =>
  (await world.assistant.call('info', {})).agents ?? [];
const stateOf = async (world: World, name: string): Promise<string | undefined> =>
  (await agentsOf(world)).find((one) => one.name === name)?.state;

/** Each answers with the name that stands in its SOUL.md. */
async function openNamed(options: Parameters<typeof startAgentsWorld>[0] = {}): Promise<World> {
  const world = await startAgentsWorld({
    ...options,
    furnish: async (home) => {
      for (const name of ['kim', 'lou']) await put(homeOf({ home }, name), 'workspace/SOUL.md', `You are <${name}>.\n`);
      await options.furnish?.(home);
    },
  });
  world.model.setHandler(({ view }) => `by ${/You are <(?<name>\w+)>/u.exec(view.system)?.groups?.['name'] ?? 'main'}`);
  return world;
}

describe.concurrent('several assistants on one bot', () => {
  test('each answers in its own chat, from its own home', async () => {
    await using world = await openNamed();
    world.telegram.userSays(OWNER, 'hi');
    sayIn(world, CHATS.kim, 'hi');
    sayIn(world, CHATS.lou, 'hi');
    await waitFor(() => [chatOf(world), inKim(world), inLou(world)].every((chat) => chat.length === 1));
    expect([chatOf(world), inKim(world), inLou(world)]).toEqual([['by main'], ['by kim'], ['by lou']]);
    for (const name of ['kim', 'lou']) expect(existsSync(join(homeOf(world, name), 'state.db'))).toBe(true);
    expect(await agentsOf(world)).toMatchObject([
      { name: 'kim', state: 'running', routes: [`telegram:${CHATS.kim}`] },
      { name: 'lou', state: 'running' },
    ]);
  });

  test('/agent says who answers here, and to the owner of the main one which others there are', async () => {
    await using world = await openNamed();
    world.telegram.userSays(OWNER, '/agent');
    sayIn(world, CHATS.kim, '/agent');
    await waitFor(() => chatOf(world).length === 1 && inKim(world).length === 1);
    expect(chatOf(world)[0]).toMatch(/The main assistant answers here.*kim \(running\): telegram:-1001.*lou/su);
    expect(inKim(world)[0]).toContain('“kim” answers here');
    expect(inKim(world)[0]).not.toContain('lou');
  });

  test('a route that changes: what is in flight ends where it began, what comes later goes to the new one', async () => {
    await using world = await openNamed();
    const held = Promise.withResolvers<void>();
    let isHeld = false;
    world.model.setHandler(async ({ view }) => {
      const name = /You are <(?<name>\w+)>/u.exec(view.system)?.groups?.['name'] ?? 'main';
      if (view.lastUserText.includes('slowly')) {
        isHeld = true;
        await held.promise;
      }
      return `by ${name}`;
    });
    sayIn(world, CHATS.kim, 'slowly');
    await waitFor(() => isHeld);
    await edit(world.home, (settings) => {
      settings['agents'] = { kim: { routes: [] }, lou: { routes: [`telegram:${CHATS.kim}`, `telegram:${CHATS.lou}`] } };
    });
    expect((await world.assistant.reload()).refused).toBeNull();
    sayIn(world, CHATS.kim, 'next');
    await waitFor(() => inKim(world).includes('by lou'));
    held.resolve();
    await waitFor(() => inKim(world).length === 2);
    expect(inKim(world)).toEqual(['by lou', 'by kim']);
    // Nothing that begins later in the old home reaches the chat.
    const text = { name: 'message', arguments: { text: 'still me', chat: `telegram:${CHATS.kim}` } };
    world.model.reply({ calls: [text] }, 'sent');
    world.telegram.userSays(OWNER, 'write there');
    await waitFor(() => chatOf(world).some((one) => one.includes('belongs to another assistant')));
    expect(inKim(world)).toHaveLength(2);
  });

  test('one that is added answers at once; one that is removed stops, its home stays, and its chat goes to the main one', async () => {
    await using world = await openNamed({ agents: {} });
    sayIn(world, CHATS.kim, 'hi');
    await waitFor(() => inKim(world).length === 1);
    expect((await world.assistant.call('info', {})).agents).toBeUndefined();
    const set = async (agents: Record<string, unknown>): Promise<void> => {
      await edit(world.home, (settings) => void (settings['agents'] = agents));
      expect((await world.assistant.reload()).refused).toBeNull();
    };
    await set({ kim: { routes: [`telegram:${CHATS.kim}`] } });
    sayIn(world, CHATS.kim, 'hi');
    await waitFor(() => inKim(world).length === 2);
    await set({});
    sayIn(world, CHATS.kim, 'hi');
    await waitFor(() => inKim(world).length === 3);
    expect(inKim(world)).toEqual(['by main', 'by kim', 'by main']);
    expect(await stateOf(world, 'kim')).toBe('not-configured');
    expect(existsSync(join(homeOf(world, 'kim'), 'state.db'))).toBe(true);
  });

  test('/restart restarts the one that it was sent to; what is written meanwhile is answered once', async () => {
    const restarted: string[] = [];
    await using world = await openNamed({ onRestart: () => void restarted.push('main') });
    sayIn(world, CHATS.kim, '/restart');
    await waitFor(() => inKim(world).some((one) => one.includes('Restarting')));
    await waitFor(async () => (await stateOf(world, 'kim')) !== 'running');
    sayIn(world, CHATS.kim, 'hi');
    sayIn(world, CHATS.lou, 'hi');
    await waitFor(() => inLou(world).includes('by lou') && inKim(world).includes('by kim'));
    await waitFor(async () => (await stateOf(world, 'kim')) === 'running');
    expect(inKim(world).filter((one) => one === 'by kim')).toHaveLength(1);
    expect(restarted).toEqual([]);
  });

  test('one that cannot start is told of and tried again; the others go on, and its chat is told once', async () => {
    const broken = async (home: string): Promise<void> =>
      await writeFile(join(homeOf({ home }, 'kim'), 'config.json'), '{"agent": {"maxIterations": "many"}}');
    await using world = await openNamed({ furnish: broken });
    sayIn(world, CHATS.kim, 'hi');
    sayIn(world, CHATS.kim, 'hi again');
    sayIn(world, CHATS.lou, 'hi');
    world.telegram.userSays(OWNER, 'hi');
    await waitFor(() => inLou(world).length === 1 && chatOf(world).length === 1 && inKim(world).length === 1);
    expect(inKim(world)[0]).toContain('“kim”, does not run at the moment');
    // It is tried again every now and then, and starting for that moment.
    const info = await waitFor(async () => {
      const { agents = [], warnings } = await world.assistant.call('info', {});
      return agents[0]?.state === 'failed' ? { kim: agents[0], warnings } : undefined;
    });
    expect(info.kim).toMatchObject({ name: 'kim', detail: expect.stringContaining('agent.maxIterations') });
    expect(info.warnings.join('\n')).toContain('The assistant "kim" does not run');
    await writeFile(join(homeOf(world, 'kim'), 'config.json'), '{}');
    await edit(
      world.home,
      (settings) => void (settings['models'] = { 'openai/scripted-model': { contextWindow: 100_000 } }),
    );
    await world.assistant.reload();
    await waitFor(async () => (await stateOf(world, 'kim')) === 'running');
    sayIn(world, CHATS.kim, 'and now?');
    await waitFor(() => inKim(world).length === 2);
    expect(inKim(world)[1]).toBe('by kim');
  });

  test('a code that one of them gave lets somebody in there and nowhere else', async () => {
    const person = 77;
    const agents = { kim: { routes: [`telegram:${person}`] } };
    await using world = await openNamed({ agents });
    world.telegram.userSays(person, 'hi');
    const code = await waitFor(() => /\b[A-Z0-9]{8}\b/u.exec(chatOf(world, person).join('\n'))?.[0]);
    world.telegram.userSays(OWNER, `/pair approve ${code}`);
    await waitFor(() => chatOf(world).length === 1);
    expect(chatOf(world)[0]).not.toMatch(/trusted|let in/u);
    const kim = await connectAssistant(homePaths(homeOf(world, 'kim')).socket, systemClock);
    if (kim === undefined) throw new Error('kim has no control socket');
    await using port = kim;
    await port.call('pairApprove', { code, role: 'trusted' });
    world.telegram.userSays(person, 'hi');
    await waitFor(() => chatOf(world, person).includes('by kim'));
    // Once the chat is the main one's, nobody there knows the person.
    await edit(world.home, (settings) => void (settings['agents'] = {}));
    await world.assistant.reload();
    const before = chatOf(world, person).length;
    world.telegram.userSays(person, 'and here?');
    await waitFor(() => chatOf(world, person).length > before);
    expect(chatOf(world, person).at(-1)).not.toMatch(/^by /u);
  });

  test('a question is answered where it was asked, by a button of that chat', async () => {
    const exec = { mode: 'ask', sandbox: 'off' };
    await using world = await openNamed({ agents: { kim: { routes: [`telegram:${OWNER}`], tools: { exec } } } });
    world.model.reply({ calls: [{ name: 'exec', arguments: { command: 'touch made-here' } }] }, 'done');
    world.telegram.userSays(OWNER, 'make it');
    const asked = await waitFor(() => world.telegram.sentMessages.find(({ replyMarkup }) => replyMarkup !== undefined));
    const [[yes]] = (asked.replyMarkup as { inline_keyboard: { callback_data: string }[][] }).inline_keyboard as [
      [{ callback_data: string }],
    ];
    world.telegram.userPresses(OWNER, asked.messageId, yes.callback_data);
    await waitFor(() => chatOf(world).includes('done'));
    expect(existsSync(join(homeOf(world, 'kim'), 'workspace', 'made-here'))).toBe(true);
    expect(existsSync(join(world.workspace, 'made-here'))).toBe(false);
  });

  test('takes the keys of providers from the main one, and neither its channels nor its tokens', async () => {
    await using world = await openNamed({ agents: { kim: { routes: [`telegram:${CHATS.kim}`], channels: {} } } });
    const env = { TELEGRAM_BOT_TOKEN: '1:token', ASSISTANT_AGENT__MODEL: 'openai/other', BRAVE_API_KEY: 'key' };
    const { config, secrets } = await loadConfig({ program: PROGRAM, home: homeOf(world, 'kim'), env });
    const main = JSON.parse(await readFile(join(world.home, 'config.json'), 'utf8'));
    expect(config.providers['openai']?.apiKey).toBe(main.providers.openai.apiKey);
    expect(JSON.stringify(config)).not.toContain(world.telegram.token);
    expect(config.channels['telegram']?.token).toBeNull();
    expect(config.agent.model).toBe('auto');
    expect(config.tools.web).toMatchObject({ searchApiKey: null });
    expect(secrets).toContain(world.telegram.token);
  });
});
