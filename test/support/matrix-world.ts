import { FakeMatrix, shownText } from './fake-matrix.ts';
import { replaced, type MatrixContent } from './matrix-rooms.ts';
import { MATRIX, putPlugin } from './plugin-package.ts';
import { startWorld, type World } from './world.ts';

export interface MatrixWorld extends AsyncDisposable {
  readonly world: World;
  readonly server: FakeMatrix;
  /** A room that these people and the bot have joined. */
  room(...people: readonly string[]): string;
  /** Somebody writes; returns the id of the event. */
  says(room: string, by: string, body: string, content?: MatrixContent): string;
  /** The newest words of each message of the bot there. */
  texts(room: string): readonly string[];
}

/** The assistant with the plugin and one account on a homeserver; `@ann:test` is the owner, `@ben:test` is listed too. */
export async function startMatrixWorld(): Promise<MatrixWorld> {
  await using stack = new AsyncDisposableStack();
  const server = stack.use(await FakeMatrix.start());
  const people = { allowFrom: ['@ann:test', '@ben:test'], owners: ['@ann:test'] };
  const channels = { matrix: { ...server.config, ...people } };
  const config = { plugins: [MATRIX.name], channels, heartbeat: { enabled: false } };
  const furnish = (home: string): Promise<void> => putPlugin(home, MATRIX);
  const world = stack.use(await startWorld({ config, furnish }));
  world.model.setHandler(({ view }) => `Heard: ${view.lastUserText.split('\n').at(-1)}`);
  const owned = stack.move();
  return {
    world,
    server,
    room: (...joined) =>
      openRoom(
        server,
        joined.map((id) => ({ id, name: id.slice(1, 4) })),
      ),
    says: (room, by, body, content = {}) =>
      server.rooms.add(room, { type: 'm.room.message', sender: by, content: { msgtype: 'm.text', body, ...content } })
        .event_id,
    texts: (room) => textsIn(server, room),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** A room that these people and the bot have joined. */
export function openRoom(
  { rooms, bot, botName }: FakeMatrix,
  people: readonly { readonly id: string; readonly name: string }[],
): string {
  const room = rooms.create();
  for (const { id, name } of people) rooms.member(room, id, 'join', { name });
  rooms.member(room, bot, 'join', { name: botName });
  return room;
}

export function textsIn({ rooms, bot }: FakeMatrix, room: string): readonly string[] {
  return (rooms.room(room)?.events ?? [])
    .map(({ event }) => event)
    .filter((event) => event.sender === bot && event.type === 'm.room.message' && replaced(event) === undefined)
    .map((event) => {
      const newest = rooms.edits(room, event.event_id).at(-1)?.content['m.new_content'];
      return shownText({ content: newest === undefined ? event.content : Object(newest) });
    });
}
