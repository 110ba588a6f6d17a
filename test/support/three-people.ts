import type { Role } from '../../src/core/bus/messages.ts';
import { waitFor } from './wait.ts';
import { chatOf, startWorld, type World } from './world.ts';

/** One person for each role; the number of their direct chat is their own. */
export const CHAT = { owner: 42, trusted: 43, guest: 44 } as const satisfies Record<Role, number>;
export const GROUP = -100;

/** An assistant that listens to an owner, to somebody whom it trusts, and to everybody else as a guest. */
export function worldOfThree(tools: Readonly<Record<string, unknown>> = {}): Promise<World> {
  const telegram = { allowFrom: ['42', '43', '*'], owners: ['42'], groups: { debounceMs: 0 } };
  return startWorld({ config: { channels: { telegram }, tools } });
}

/** Says something in a direct chat; resolves with the next message there. */
export async function say(world: World, text: string, role: Role): Promise<string> {
  const chat = CHAT[role];
  const before = chatOf(world, chat).length;
  world.telegram.userSays(chat, text);
  await waitFor(() => chatOf(world, chat).length > before, { what: `a reply to ${text} from the ${role}` });
  return chatOf(world, chat)[before] ?? '';
}

/** Somebody speaks to the assistant in the group. */
export function call(world: World, text: string, role: Role): void {
  const entities = [{ type: 'mention', offset: 0, length: 9 }];
  world.telegram.userSays(GROUP, `@test_bot ${text}`, { entities, from: { id: CHAT[role] } });
}

export async function sayInGroup(world: World, text: string, role: Role): Promise<void> {
  const before = chatOf(world, GROUP).length;
  call(world, text, role);
  await waitFor(() => chatOf(world, GROUP).length > before, { what: `a reply to ${text} in the group` });
}

/** What tools answered in the newest request, as the model reads it. */
export function resultsOf(world: World): readonly string[] {
  return world.model.requests.at(-1)?.view.toolResults.map(({ text }) => text) ?? [];
}
