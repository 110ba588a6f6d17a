import { expect, test } from 'vitest';
import { call, CHAT, GROUP, resultsOf, say, sayInGroup, worldOfThree } from '../support/three-people.ts';
import { waitFor } from '../support/wait.ts';
import { chatOf, startWorld, type World } from '../support/world.ts';

const exec = { calls: [{ name: 'exec', arguments: { command: 'id' } }] };
// A tool that asks nobody, wherever it is called.
const look = { calls: [{ name: 'tape', arguments: { action: 'info' } }], delayMs: 600 };
const REFUSED = 'exec is not for guests.';
/** What is allowed runs, so that only the role can be what refuses it. */
const ANYTHING = { exec: { mode: 'full' }, guest: ['tape'] };

/** The role of each turn in the group, and of how many messages it began. */
async function turnsOf(world: World): Promise<readonly (readonly [string, number])[]> {
  const entries = await world.tape(`telegram:${GROUP}`);
  return entries.flatMap((entry) => (entry.kind === 'turn-start' ? [[entry.role, entry.sources.length] as const] : []));
}

function retry(world: World, from: number): void {
  const entities = [{ type: 'bot_command', offset: 0, length: 15 }];
  world.telegram.userSays(GROUP, '/retry@test_bot', { entities, from: { id: from } });
}

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

test('a group has one list of tools whoever speaks, so that each request begins with the one before', async () => {
  await using world = await worldOfThree();
  world.model.setHandler(() => 'ok');
  for (const [n, role] of (['guest', 'owner', 'trusted', 'guest', 'owner'] as const).entries()) {
    await sayInGroup(world, `word ${n}`, role);
  }
  const bodies = world.model.requests.map(({ body }) => body);
  expect(bodies).toHaveLength(5);
  for (const [n, body] of bodies.entries()) {
    const before = bodies[n - 1] ?? body;
    const earlier = listOf(before['messages']);
    expect(body['tools']).toEqual(before['tools']);
    expect(earlier.length).toBeGreaterThan(1);
    expect(listOf(body['messages']).slice(0, earlier.length)).toEqual(earlier);
  }
  expect(world.model.requests[0]?.view.tools).toContain('exec');
});

test('a call runs with the rights of its turn, not with those of the list', async () => {
  await using world = await worldOfThree(ANYTHING);
  for (const [role, result] of [
    // With a guest's words in the conversation the owner would be asked.
    ['owner', 'uid='],
    ['guest', REFUSED],
    ['trusted', 'exec is for the owner only.'],
    ['guest', REFUSED],
  ] as const) {
    world.model.reply(exec, 'Done.');
    await sayInGroup(world, 'run it', role);
    expect(resultsOf(world).at(-1)).toContain(result);
  }
});

test('an owner’s message that joins a guest’s turn does not raise it', async () => {
  await using world = await worldOfThree(ANYTHING);
  world.model.reply(look, exec, 'Done.');
  call(world, 'look', 'guest');
  await waitFor(() => world.model.inFlight === 1);
  call(world, 'my wish', 'owner');
  await waitFor(() => chatOf(world, GROUP).length === 1);
  expect(JSON.stringify(world.model.requests[1]?.body)).toContain('my wish');
  expect(world.model.requests).toHaveLength(3);
  expect(resultsOf(world).at(-1)).toContain(REFUSED);
});

test('a guest’s message never joins an owner’s turn: it waits for one of its own', async () => {
  await using world = await worldOfThree(ANYTHING);
  world.model.reply(look, 'Done.', exec, 'Done.', 'Done.');
  call(world, 'look', 'owner');
  await waitFor(() => world.model.inFlight === 1);
  call(world, 'my wish', 'guest');
  await waitFor(() => chatOf(world, GROUP).length === 2);
  expect(JSON.stringify(world.model.requests[1]?.body)).not.toContain('my wish');
  expect(await turnsOf(world)).toEqual([
    ['owner', 1],
    ['guest', 1],
  ]);
  expect(resultsOf(world).at(-1)).toContain(REFUSED);
});

test('what people wrote while it was busy becomes one turn for each role in a row', async () => {
  await using world = await worldOfThree();
  world.model.reply({ text: 'ok', delayMs: 800 }, 'ok', 'ok', 'ok');
  call(world, 'one', 'owner');
  await waitFor(() => world.model.inFlight === 1);
  for (const role of ['owner', 'owner', 'guest', 'guest', 'owner'] as const) call(world, 'more', role);
  await waitFor(() => chatOf(world, GROUP).length === 4);
  expect(await turnsOf(world)).toEqual([
    ['owner', 1],
    ['owner', 2],
    ['guest', 2],
    ['owner', 1],
  ]);
});

test('an owner’s /retry of a guest’s turn is a guest’s turn', async () => {
  await using world = await worldOfThree(ANYTHING);
  world.model.reply({ error: { status: 402, message: 'no' } }, exec, 'Done.');
  await sayInGroup(world, 'run it', 'guest');
  retry(world, CHAT.owner);
  await waitFor(() => chatOf(world, GROUP).length === 2);
  expect(resultsOf(world).at(-1)).toContain(REFUSED);
});

test('a guest’s /retry runs no message of the owner again, who can still do that', async () => {
  await using world = await worldOfThree(ANYTHING);
  world.model.reply({ error: { status: 402, message: 'no' } }, exec, 'Done.');
  await sayInGroup(world, 'run it', 'owner');
  retry(world, CHAT.guest);
  await waitFor(() => chatOf(world, GROUP).at(-1) === 'There is no message to run again.');
  retry(world, CHAT.owner);
  await waitFor(() => chatOf(world, GROUP).at(-1) === 'Done.');
  expect(resultsOf(world).at(-1)).not.toContain(REFUSED);
});

test('a guest’s turn that a crash cut off goes on as a guest’s, with what the owner wrote meanwhile', async () => {
  await using world = await worldOfThree(ANYTHING);
  world.model.reply(look, { fault: 'hang' });
  call(world, 'run it', 'guest');
  await waitFor(() => world.model.inFlight === 1);
  call(world, 'my wish', 'owner');
  await waitFor(() => world.model.requests.length === 2);
  world.model.reply(exec, 'Done.');
  await world.restart();
  await waitFor(() => chatOf(world, GROUP).length > 0);
  expect(JSON.stringify(world.model.requests.at(-1)?.body)).toContain('my wish');
  expect(resultsOf(world).at(-1)).toContain(REFUSED);
  expect(await turnsOf(world)).toEqual([['guest', 1]]);
});

test('the demo offers each person in a group only what they may do there', async () => {
  const telegram = { allowFrom: ['42', '43', '*'], owners: ['42'], groups: { debounceMs: 0 } };
  await using world = await startWorld({ config: { agent: { model: 'demo/scripted' }, channels: { telegram } } });
  const offered: Record<string, readonly string[]> = {};
  for (const role of ['guest', 'trusted', 'owner'] as const) {
    await sayInGroup(world, 'hm', role);
    const sentences = chatOf(world, GROUP).at(-1)?.split('I understand')[1]?.split('To talk to')[0] ?? '';
    offered[role] = Array.from(sentences.matchAll(/"([^"]+)"/gu), ([, sentence = '']) => sentence);
  }
  expect(offered['guest']).toEqual(['help']);
  expect(offered['trusted']).toContain('list files');
  expect(offered['trusted']).not.toContain('run date');
  expect(offered['owner']).toEqual(expect.arrayContaining(['list files', 'run date']));
  expect(offered['owner']).not.toContain('remember that I like tea');
  expect((await say(world, 'hm', 'owner')).includes('remember that I like tea')).toBe(true);
});
