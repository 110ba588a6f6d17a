import { expect, test } from 'vitest';
import { waitFor } from '../support/wait.ts';
import { chatOf, OWNER, startWorld, type World } from '../support/world.ts';

const OLD = -100;
const NEW = -1_000_000_000_100;
const MENTION = { entities: [{ type: 'mention', offset: 0, length: 9 }] };
const MOVED =
  /^The group .*became a supergroup, with the id -1000000000100\. I go on there with the same conversation/u;

/** A group that the owner let in by its old id, with a conversation. */
async function groupWorld(): Promise<World> {
  const groups = { allow: [String(OLD)], debounceMs: 0, followUpSeconds: 0 };
  const telegram = { allowFrom: [String(OWNER)], owners: [String(OWNER)], groups };
  const world = await startWorld({ config: { channels: { telegram } } });
  world.model.setHandler(({ view }) => `Heard: ${/number \d/u.exec(view.lastUserText)?.[0]}`);
  world.telegram.userSays(OWNER, 'number 0');
  await waitFor(() => chatOf(world).includes('Heard: number 0'), { what: 'the answer in the direct chat' });
  await asks(world, OLD, 'number 1');
  return world;
}

async function asks(world: World, chat: number, text: string): Promise<number> {
  const from = { id: OWNER, first_name: 'Ann' };
  const { messageId } = world.telegram.userSays(chat, `@test_bot ${text}`, { from, ...MENTION });
  await waitFor(() => chatOf(world, chat).includes(`Heard: ${text}`), { what: `an answer to ${text} in ${chat}` });
  return messageId;
}

/** From now on the Bot API refuses the old chat, as the real one does. */
function close(world: World): void {
  world.telegram.setFaultHandler(({ payload }) =>
    Number(payload['chat_id']) === OLD
      ? {
          status: 400,
          description: 'Bad Request: group chat was upgraded to a supergroup chat',
          movedTo: NEW,
        }
      : undefined,
  );
}

test('a group that becomes a supergroup keeps its conversation and its rights, and the owner is told once', async () => {
  await using world = await groupWorld();
  close(world);
  const chat = { id: OLD, type: 'group', title: 'Neighbours' };
  const from = { id: OWNER, is_bot: false, first_name: 'Ann' };
  world.telegram.pushUpdate({ message: { message_id: 900, date: 1, from, chat, migrate_to_chat_id: NEW } });
  const moved = { id: NEW, type: 'supergroup', title: 'Neighbours' };
  world.telegram.pushUpdate({ message: { message_id: 1, date: 1, from, chat: moved, migrate_from_chat_id: OLD } });
  // The new chat counts its messages anew: the ids are those of messages of the old one.
  await asks(world, NEW, 'number 2');
  expect(JSON.stringify(world.model.requests.at(-1)?.body)).toContain('Heard: number 1');
  await world.restart();
  await asks(world, NEW, 'number 3');
  expect(JSON.stringify(world.model.requests.at(-1)?.body)).toContain('Heard: number 2');
  await waitFor(() => chatOf(world).some((text) => MOVED.test(text)), { what: 'the notice' });
  expect(chatOf(world).filter((text) => MOVED.test(text))).toHaveLength(1);
  expect(chatOf(world, OLD)).toEqual(['Heard: number 1']);
});

test('what is sent to the old chat arrives in the new one, though nobody told of the move', async () => {
  await using world = await groupWorld();
  close(world);
  world.model.setHandler(({ view }) =>
    view.toolResults.length > 0
      ? 'Sent.'
      : { calls: [{ name: 'message', arguments: { chat: `telegram:${OLD}`, text: 'The door is open.' } }] },
  );
  world.telegram.userSays(OWNER, 'tell the group');
  await waitFor(() => chatOf(world, NEW).includes('The door is open.'), { what: 'the message in the new chat' });
  expect(chatOf(world, NEW)).toHaveLength(1);
  await waitFor(() => chatOf(world).some((text) => MOVED.test(text)), { what: 'the notice' });
});

test('an answer in the new chat can be edited and reacted to there', async () => {
  await using world = await groupWorld();
  close(world);
  const chat = { id: NEW, type: 'supergroup', title: 'Neighbours' };
  const from = { id: OWNER, is_bot: false, first_name: 'Ann' };
  world.telegram.pushUpdate({ message: { message_id: 1, date: 1, from, chat, migrate_from_chat_id: OLD } });
  await asks(world, NEW, 'number 4');
  const calls = world.telegram.calls.filter(({ payload }) => Number(payload['chat_id']) === NEW);
  expect(calls.every(({ payload }) => Number(payload['message_id'] ?? 1) < 2 ** 32)).toBe(true);
  expect(calls.map(({ outcome }) => outcome)).not.toContain(400);
});

test('what is under way to the old chat when another call learns of the move arrives in the new one', async () => {
  await using world = await groupWorld();
  let refused = 0;
  const hold = { status: 400, description: 'Bad Request: group chat was upgraded to a supergroup chat', movedTo: NEW };
  world.telegram.setFaultHandler(({ method, payload }) => {
    if (Number(payload['chat_id']) !== OLD) return undefined;
    refused += 1;
    // The answer to the message comes last.
    return { ...hold, delayMs: method === 'sendMessage' ? 1_500 : 0 };
  });
  world.model.setHandler(({ view }) =>
    view.toolResults.length > 0
      ? 'Sent.'
      : { calls: [{ name: 'message', arguments: { chat: `telegram:${OLD}`, text: 'The door is open.' } }] },
  );
  world.telegram.userSays(OWNER, 'tell the group');
  await waitFor(() => refused > 0, { what: 'the first refusal' });
  const chat = { id: NEW, type: 'supergroup', title: 'Neighbours' };
  const from = { id: OWNER, is_bot: false, first_name: 'Ann' };
  world.telegram.pushUpdate({ message: { message_id: 1, date: 1, from, chat, migrate_from_chat_id: OLD } });
  await waitFor(() => chatOf(world, NEW).includes('The door is open.'), { what: 'the message in the new chat' });
  expect(chatOf(world, NEW)).toEqual(['The door is open.']);
});
