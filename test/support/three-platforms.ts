import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { DiscordPerson, DiscordPlace } from './discord-chats.ts';
import { somebody } from './discord-world.ts';
import { startFakeDiscord, type FakeDiscord } from './fake-discord.ts';
import { startFakeSlack, type FakeSlack } from './fake-slack.ts';
import { waitFor } from './wait.ts';
import { chatOf, OWNER, startWorld, type World, type WorldOptions } from './world.ts';

export const PLATFORMS = ['telegram', 'discord', 'slack'] as const;
export type Platform = (typeof PLATFORMS)[number];

/** One assistant on all three platforms, where its owner talks to it alone. */
export interface Everywhere extends AsyncDisposable {
  readonly world: World;
  readonly discord: FakeDiscord;
  readonly slack: FakeSlack;
  sends(platform: Platform, text: string): void;
  /** What the assistant wrote there, oldest first. */
  texts(platform: Platform): readonly string[];
  /** Says something and waits until a new message is there; ms. */
  turn(platform: Platform, text: string): Promise<number>;
  /** From now on nothing answers there. */
  breakOff(platform: Platform, how: 'refused' | 'hung'): Promise<void>;
  health(platform: Platform): Promise<string>;
}

const DIRECT = 'D0OWNER';
const MEMBER = 'U0OWNER';

export async function startEverywhere(
  options: WorldOptions & { readonly wrongToken?: Platform } = {},
): Promise<Everywhere> {
  const { wrongToken, ...rest } = options;
  await using stack = new AsyncDisposableStack();
  const discord = stack.use(await startFakeDiscord());
  const slack = stack.use(await startFakeSlack());
  slack.workspace.addPerson(MEMBER, 'Olive');
  const person: DiscordPerson = somebody('Olive', { id: '4242' });
  const place: DiscordPlace = discord.direct(person);
  const channels = {
    telegram: { owners: [String(OWNER)], ...(wrongToken === 'telegram' ? { token: '1:wrong-token-of-telegram' } : {}) },
    discord: {
      token: wrongToken === 'discord' ? 'MTIz.wrong.discord-token-0000' : discord.token,
      apiBase: discord.apiBase,
      allowFrom: [person.id],
      owners: [person.id],
    },
    slack: {
      ...slack.config,
      allowFrom: [MEMBER],
      owners: [MEMBER],
      ...(wrongToken === 'slack' ? { botToken: 'xoxb-wrong-token-0000' } : {}),
    },
  };
  const furnish = async (home: string): Promise<void> => {
    const path = join(home, 'config.json');
    const written = JSON.parse(await readFile(path, 'utf8')) as { channels: { telegram: object } };
    const telegram = { ...written.channels.telegram, ...channels.telegram };
    await writeFile(path, JSON.stringify({ ...written, channels: { ...channels, telegram } }));
    await rest.furnish?.(home);
  };
  const world = stack.use(await startWorld({ ...rest, furnish }));
  const texts = (platform: Platform): readonly string[] => {
    if (platform === 'telegram') return chatOf(world);
    return platform === 'discord'
      ? discord.sent(place).map(({ visible }) => visible)
      : slack.sentPosts.map(({ text }) => text);
  };
  const says = (platform: Platform, text: string): void => {
    if (platform === 'telegram') world.telegram.userSays(OWNER, text);
    else if (platform === 'discord') discord.sends(place, person, text);
    else slack.sends(MEMBER, DIRECT, text);
  };
  const owned = stack.move();
  return {
    world,
    discord,
    slack,
    sends: says,
    texts,
    turn: async (platform, text) => {
      const before = texts(platform).length;
      const began = performance.now();
      says(platform, text);
      await waitFor(() => texts(platform).length > before, { what: `an answer to ${text} on ${platform}` });
      return performance.now() - began;
    },
    breakOff: async (platform, how) => {
      const server = { telegram: world.telegram, discord, slack }[platform];
      if (how === 'hung') server.setFaultHandler(() => 'hang');
      else await server[Symbol.asyncDispose]();
    },
    health: async (platform) => (await world.assistant.call('info', {})).channels[platform]?.state ?? 'missing',
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** How often the assistant connected to each platform so far. */
export function connections({ world, discord, slack }: Everywhere): Readonly<Record<Platform, number>> {
  return {
    telegram: world.telegram.calls.filter(({ method }) => method === 'getMe').length,
    discord: discord.calls.filter(({ route }) => route.includes('/gateway/bot')).length,
    slack: slack.calls.filter(({ method }) => method === 'apps.connections.open').length,
  };
}
