import { expect, test } from 'vitest';
import { startMatrixWorld, type MatrixWorld } from '../support/matrix-world.ts';
import { waitFor } from '../support/wait.ts';

const [ANN, BEN, EVE] = ['@ann:test', '@ben:test', '@eve:test'];
const ENCRYPTED = 'I cannot read encrypted rooms: please write to me in a room without encryption.';

const heard = ({ world }: MatrixWorld): string => world.model.requests.at(-1)?.view.lastUserText ?? '';

async function sees(matrix: MatrixWorld, room: string, count: number): Promise<readonly string[]> {
  await waitFor(() => matrix.texts(room).length >= count, { what: `${count} messages in ${room}` });
  return matrix.texts(room);
}

/** Whatever was written before is dealt with: Ben was answered after it. */
async function settled(matrix: MatrixWorld): Promise<void> {
  const room = matrix.room(BEN);
  matrix.says(room, BEN, 'are you there?');
  await sees(matrix, room, 1);
}

function invites(matrix: MatrixWorld, by: string, ...others: readonly string[]): string {
  const { rooms, bot } = matrix.server;
  const room = rooms.create();
  for (const one of [by, ...others]) rooms.member(room, one, 'join', { name: one.slice(1, 4) });
  matrix.says(room, by, 'this was before you');
  rooms.member(room, bot, 'invite', { by });
  return room;
}

test('an invitation of somebody with a role is followed, and what they wrote since is answered', async () => {
  await using matrix = await startMatrixWorld();
  const room = invites(matrix, BEN);
  matrix.says(room, BEN, 'come in');
  await sees(matrix, room, 1);
  await settled(matrix);
  expect(matrix.texts(room)).toHaveLength(1);
  expect(matrix.world.model.requests[0]?.view.lastUserText).toContain('come in');
});

test('an invitation of anybody else is left alone', async () => {
  await using matrix = await startMatrixWorld();
  const room = invites(matrix, EVE);
  await settled(matrix);
  expect(matrix.server.rooms.has(room, matrix.server.bot, 'invite')).toBe(true);
});

test('a room that cannot be joined holds up no other, and the owner is told', async () => {
  await using matrix = await startMatrixWorld();
  const home = matrix.room(ANN);
  matrix.says(home, ANN, 'hello');
  await sees(matrix, home, 1);
  matrix.server.setFaultHandler(({ route }) =>
    route.endsWith('/join') ? { status: 502, errcode: 'M_UNKNOWN' } : undefined,
  );
  invites(matrix, BEN);
  await settled(matrix);
  expect((await sees(matrix, home, 2))[1]).toContain(`I could not follow the invitation of ${BEN} into a room`);
});

test('a gap that is longer than an answer of the homeserver is read to its beginning', async () => {
  await using matrix = await startMatrixWorld();
  const room = matrix.room(ANN, BEN);
  matrix.says(room, ANN, 'Jeeves: hello');
  await sees(matrix, room, 1);
  matrix.server.setFaultHandler(({ route }) => (route === 'GET /sync' ? 'reset-before' : undefined));
  matrix.server.cutAll();
  matrix.says(room, BEN, 'Jeeves: is anybody there?');
  for (let n = 1; n <= 230; n += 1) matrix.says(room, EVE, `aside ${n}`);
  matrix.server.setFaultHandler(() => undefined);
  await sees(matrix, room, 2);
  await settled(matrix);
  expect(matrix.texts(room)).toHaveLength(2);
  const asked = matrix.world.model.requests.filter(({ view }) => view.lastUserText.includes('is anybody there?'));
  expect(asked).toHaveLength(1);
});

test('an encrypted room is told once that it cannot be read, also over a restart', async () => {
  await using matrix = await startMatrixWorld();
  const room = matrix.room(BEN);
  const encrypted = (by: string, to = room): void => {
    const content = { algorithm: 'm.megolm.v1.aes-sha2', ciphertext: 'AwgA' };
    matrix.server.rooms.add(to, { type: 'm.room.encrypted', sender: by, content });
  };
  encrypted(BEN);
  expect(await sees(matrix, room, 1)).toEqual([ENCRYPTED]);
  await settled(matrix);
  matrix.server.forgetTransactions();
  await matrix.world.restart();
  encrypted(BEN);
  const group = matrix.room(BEN, EVE);
  encrypted(EVE, group);
  await settled(matrix);
  expect(matrix.texts(room)).toEqual([ENCRYPTED]);
  expect(matrix.texts(group)).toEqual([]);
});

test('what arrived is not sent again when the homeserver has forgotten the transaction', async () => {
  await using matrix = await startMatrixWorld();
  const room = matrix.room(BEN);
  let sends = 0;
  matrix.server.setFaultHandler(({ route }) => {
    if (!route.includes('/send/m.room.message/')) return undefined;
    matrix.server.forgetTransactions();
    sends += 1;
    return sends === 1 ? 'reset-after' : undefined;
  });
  matrix.says(room, BEN, 'hello');
  await waitFor(async () => sends > 0 && (await matrix.world.assistant.call('outboxList', {})).length === 0, {
    what: 'an empty outbox',
  });
  await settled(matrix);
  expect(matrix.texts(room)).toEqual(['Heard: hello']);
});

test('commands begin with an exclamation mark, in what people write and in what they read', async () => {
  await using matrix = await startMatrixWorld();
  const room = matrix.room(ANN);
  matrix.says(room, ANN, '!help');
  const [help = ''] = await sees(matrix, room, 1);
  expect(help).toContain('!status');
  expect(help).not.toContain('/status');
  expect(matrix.world.model.requests).toEqual([]);
  matrix.says(room, ANN, '!important: buy milk');
  await sees(matrix, room, 2);
  expect(heard(matrix)).toContain('!important: buy milk');
});

test('a third person makes a direct room a group', async () => {
  await using matrix = await startMatrixWorld();
  const room = matrix.room(ANN);
  matrix.says(room, ANN, 'hello');
  await sees(matrix, room, 1);
  expect(heard(matrix)).toContain('(direct)');
  matrix.server.rooms.member(room, EVE, 'join', { name: 'Eve' });
  matrix.says(room, ANN, 'Jeeves: and now?');
  await sees(matrix, room, 2);
  expect(heard(matrix)).toContain('(group)');
});

test('a link to the bot means it, and the answered words that older clients repeat are left out', async () => {
  await using matrix = await startMatrixWorld();
  const room = matrix.room(BEN, EVE);
  const before = matrix.says(room, EVE, 'the train is late');
  const pill = `<a href="https://matrix.to/#/${matrix.server.bot}">the butler</a> what now?`;
  matrix.says(room, BEN, '> <@eve:test> the train is late\n\nthe butler what now?', {
    format: 'org.matrix.custom.html',
    formatted_body: pill,
    'm.relates_to': { 'm.in_reply_to': { event_id: before } },
  });
  await sees(matrix, room, 1);
  expect(heard(matrix)).toMatch(/in reply to eve:\n<untrusted [^>]*>\nthe train is late/u);
  expect(heard(matrix).split('the train is late')).toHaveLength(2);
});

test('nobody edits what somebody else wrote', async () => {
  await using matrix = await startMatrixWorld();
  const room = matrix.room(BEN, ANN);
  const id = matrix.says(room, BEN, 'Jeeves: buy milk');
  await sees(matrix, room, 1);
  matrix.says(room, ANN, '* Jeeves: buy gold', {
    'm.new_content': { msgtype: 'm.text', body: 'Jeeves: buy gold' },
    'm.relates_to': { rel_type: 'm.replace', event_id: id },
  });
  await settled(matrix);
  expect(JSON.stringify(matrix.world.model.requests.map(({ body }) => body))).not.toContain('buy gold');
});

test('a message is put into words whatever odd content it has', async () => {
  await using matrix = await startMatrixWorld();
  const room = matrix.room(BEN);
  for (const content of [
    { body: { not: 'a text' } },
    { 'm.relates_to': 'nothing' },
    { msgtype: 'm.image', body: 'dot.png', url: 'mxc://test/../../v3/account/whoami' },
    { 'm.mentions': { user_ids: 'everybody' }, formatted_body: 7 },
  ])
    matrix.says(room, BEN, 'odd', content);
  await settled(matrix);
  matrix.says(room, BEN, 'the last one');
  await waitFor(() => heard(matrix).includes('the last one'), { what: 'the last message' });
  expect(matrix.server.calls.filter(({ route }) => route.includes('/media/') && route.includes('..'))).toEqual([]);
});

test('a token that is withdrawn turns the channel off with a sentence', async () => {
  await using matrix = await startMatrixWorld();
  matrix.server.setFaultHandler(() => ({ status: 401, errcode: 'M_UNKNOWN_TOKEN' }));
  matrix.server.cutAll();
  const failed = await waitFor(
    async () => {
      const { channels } = await matrix.world.assistant.call('info', {});
      return channels['matrix']?.state === 'failed' ? channels['matrix'] : undefined;
    },
    { what: 'a failed channel' },
  );
  expect(failed.detail).toMatch(/M_UNKNOWN_TOKEN/u);
});
