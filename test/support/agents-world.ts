import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startWorld, type World, type WorldOptions } from './world.ts';

/** The group chats of the further assistants `kim` and `lou`; the main one has the owner's direct chat. */
export const CHATS = { kim: -1001, lou: -1002 } as const;

/** The entries of `agents` for both. */
const AGENTS = {
  kim: { routes: [`telegram:${CHATS.kim}`] },
  lou: { routes: [`telegram:${CHATS.lou}`] },
} as const;

/** Three assistants on one bot: the main one and two further ones, each with a group. `agents` is in config.json. */
export async function startAgentsWorld(
  options: WorldOptions & { readonly agents?: Readonly<Record<string, unknown>> } = {},
): Promise<World> {
  const { agents = AGENTS, furnish, ...rest } = options;
  return await startWorld({
    ...rest,
    furnish: async (home) => {
      const path = join(home, 'config.json');
      const settings: unknown = JSON.parse(await readFile(path, 'utf8'));
      await writeFile(path, JSON.stringify({ ...Object(settings), agents }), { mode: 0o600 });
      await furnish?.(home);
    },
  });
}

/** The home of a further assistant. */
export function homeOf(world: Pick<World, 'home'>, name: string): string {
  return join(world.home, 'agents', name);
}

/** The owner writes in a group and addresses the bot. */
export function sayIn(world: Pick<World, 'telegram'>, chatId: number, text: string, from = 42): void {
  const { username } = world.telegram.bot;
  const isCommand = text.startsWith('/');
  const whole = isCommand ? text.replace(/^\/\w+/u, `$&@${username}`) : `@${username} ${text}`;
  world.telegram.userSays(chatId, whole, {
    from: { id: from, is_bot: false, first_name: 'Ada' },
    chat: { id: chatId, type: 'supergroup', title: 'A group' },
    entities: isCommand
      ? [{ type: 'bot_command', offset: 0, length: whole.split(' ')[0]?.length ?? 0 }]
      : [{ type: 'mention', offset: 0, length: username.length + 1 }],
  });
}

/** Puts a file into the workspace of an assistant's home before the first start. */
export async function put(home: string, path: string, text: string): Promise<void> {
  const file = join(home, path);
  await mkdir(join(file, '..'), { recursive: true, mode: 0o700 });
  await writeFile(file, text, { mode: 0o600 });
}
