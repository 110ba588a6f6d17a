import type { DiscordPerson, DiscordPlace, DiscordPost } from './discord-chats.ts';
import { newSnowflake } from './discord-ids.ts';
import { startFakeDiscord, type FakeDiscord, type FakeDiscordOptions } from './fake-discord.ts';
import { waitFor } from './wait.ts';
import { startWorld, type World, type WorldOptions } from './world.ts';

export type DiscordWorld = World & {
  readonly discord: FakeDiscord;
  readonly owner: DiscordPerson;
  /** Where the owner talks to the bot alone. */
  readonly direct: DiscordPlace;
  /** A channel of a server, with the owner in it. */
  readonly channel: DiscordPlace;
};

interface DiscordOptions extends WorldOptions {
  /** Settings of the channel over the world's own. */
  readonly discord?: Readonly<Record<string, unknown>>;
  readonly server?: FakeDiscordOptions;
  /** Before the assistant starts. */
  readonly prepare?: (server: FakeDiscord) => void;
}

/** The id of the owner in every world. */
export const OWNER = '4242';

export function somebody(name: string, facts: Partial<DiscordPerson> = {}): DiscordPerson {
  return { id: newSnowflake(), username: name.toLowerCase(), global_name: name, ...facts };
}

/**
 * A whole assistant whose only channel is Discord. Disposing throws when it sent what should not be sent there, or when
 * the bot's token got into the body of a call.
 */
export async function startDiscordWorld(options: DiscordOptions = {}): Promise<DiscordWorld> {
  await using stack = new AsyncDisposableStack();
  const discord = stack.use(await startFakeDiscord(options.server));
  options.prepare?.(discord);
  const owner = somebody('Olive', { id: OWNER });
  const direct = discord.direct(owner);
  const channel = discord.addChannel();
  const settings = { token: discord.token, apiBase: discord.apiBase, allowFrom: [owner.id], ...options.discord };
  const channels = { telegram: { enabled: false }, discord: settings };
  const world = await startWorld({ ...options, config: { ...options.config, channels } });
  stack.defer(() => {
    const { problems } = discord.chats;
    if (problems.length > 0) throw new Error(`what should not be sent to Discord: ${problems.join('; ')}`);
    const told = JSON.stringify(discord.calls.map(({ body }) => body));
    if (told.includes(discord.token)) throw new Error('the token got into a call');
  });
  const end = world[Symbol.asyncDispose].bind(world);
  stack.defer(end);
  const owned = stack.move();
  return Object.assign(world, { discord, owner, direct, channel, [Symbol.asyncDispose]: () => owned.disposeAsync() });
}

/** The bot's messages in a place, oldest first. */
export function postsIn({ discord }: DiscordWorld, place: DiscordPlace): readonly DiscordPost[] {
  return discord.sent(place);
}

/** What people read of the bot in a place. */
export function textsIn(world: DiscordWorld, place: DiscordPlace): readonly string[] {
  return postsIn(world, place).map(({ visible }) => visible);
}

/** Resolves when the bot said this there. */
export async function reads(
  world: DiscordWorld,
  place: DiscordPlace,
  text: string | RegExp,
  { timeoutMs = 50_000 }: { readonly timeoutMs?: number } = {},
): Promise<DiscordPost> {
  return await waitFor(
    () =>
      postsIn(world, place).find(({ visible }) => (typeof text === 'string' ? visible === text : text.test(visible))),
    { timeoutMs, what: `${String(text)}, but there is ${JSON.stringify(textsIn(world, place))}` },
  );
}

/** The newest words that the model was given. */
export function lastHeard({ model }: World): string {
  return model.requests.at(-1)?.view.lastUserText ?? '';
}

/** How the channel says it is. */
export async function healthOf({ assistant }: World): Promise<{ readonly state: string; readonly detail?: string }> {
  const { channels } = await assistant.call('info', {});
  return channels['discord'] ?? { state: 'missing' };
}
