import { describe, expect, test } from 'vitest';
import { call, CHAT, GROUP, say, worldOfThree } from '../support/three-people.ts';
import { waitFor } from '../support/wait.ts';
import { chatOf, OWNER, startWorld, type World } from '../support/world.ts';

const write = (path: string): object => ({ calls: [{ name: 'write_file', arguments: { path, content: 'x' } }] });
const run = (command: string): object => ({ calls: [{ name: 'exec', arguments: { command } }] });
/** Outside of the workspace nobody may write. */
const OUTSIDE = '/etc/plan.md';
const LINE = 'Not done: writing /etc/plan.md was refused.';
const FULL = { tools: { exec: { mode: 'full', sandbox: 'off' } } };

const ends = async (world: World, session: string): Promise<readonly { answer: string; unfinished?: string }[]> =>
  (await world.tape(session)).filter((entry) => entry.kind === 'turn-end');

describe('an answer whose turn did not get something done', () => {
  test('has one line below it that names it, in a chat, in the terminal and for a program', async () => {
    await using world = await startWorld();
    world.model.reply(write(OUTSIDE), 'Done.', write(OUTSIDE), 'Done.');
    world.telegram.userSays(OWNER, 'write the plan');
    await waitFor(() => chatOf(world).length > 0, { what: 'the answer' });
    expect(chatOf(world)).toEqual([`Done.\n\n${LINE}`]);
    const { text, isError } = await world.assistant.run('write the plan');
    expect({ text, isError }).toEqual({ text: `Done.\n\n${LINE.replace(/\/\S+/u, '`$&`')}`, isError: false });
  });

  test('keeps the line out of what the model reads later, and marks it as the program’s in the record', async () => {
    await using world = await startWorld();
    world.model.reply(write(OUTSIDE), 'Done.', 'Yes.');
    await world.assistant.run('write the plan');
    await world.assistant.run('really?');
    expect(JSON.stringify(world.model.requests.at(-1)?.body)).not.toContain('Not done: writing');
    const [first, second] = await ends(world, 'terminal:main');
    expect(first?.answer.endsWith(first.unfinished ?? '?')).toBe(true);
    expect(second).not.toHaveProperty('unfinished');
  });

  test('has none when a later call did it, or when the command only looked for something', async () => {
    await using world = await startWorld({ config: FULL });
    world.model.reply(
      run('test -e a && cat a'),
      run('ls a; mkdir b/c'),
      run('mkdir b'),
      run('ls a; mkdir b/c'),
      'Done.',
    );
    expect((await world.assistant.run('make it')).text).toBe('Done.');
  });

  test('names a command by its exit code', async () => {
    await using world = await startWorld({ config: FULL });
    world.model.reply(run('mkdir b/c'), 'Made.');
    expect((await world.assistant.run('make it')).text).toBe('Made.\n\nFailed: `mkdir b/c` ended with exit code 1.');
  });

  test('has one line also when the process ends between the end of the turn and its answer', async () => {
    let hangs = true;
    const dispatch = (): Promise<undefined> => (hangs ? new Promise(() => {}) : Promise.resolve(undefined));
    await using world = await startWorld({ hooks: [{ owner: 'test', hooks: { dispatch } }] });
    world.model.reply(write(OUTSIDE), 'Done.');
    world.telegram.userSays(OWNER, 'write the plan');
    await waitFor(async () => (await ends(world, `telegram:${OWNER}`).catch(() => [])).length > 0, { what: 'the end' });
    expect(chatOf(world)).toEqual([]);
    hangs = false;
    await world.restart();
    await waitFor(() => chatOf(world).length > 0, { what: 'the answer' });
    expect(chatOf(world)).toEqual([`Done.\n\n${LINE}`]);
    expect(await ends(world, `telegram:${OWNER}`)).toHaveLength(1);
  });

  test('names no path to a guest or in a group', async () => {
    await using world = await worldOfThree({ guest: ['write_file'] });
    world.model.reply(write(OUTSIDE), 'Done.', write(OUTSIDE), 'Done.', write(OUTSIDE), 'Done.');
    expect(await say(world, 'write', 'guest')).toBe('Done.\n\nNot done: writing a file was refused.');
    expect(await say(world, 'write', 'trusted')).toBe(`Done.\n\n${LINE}`);
    call(world, 'write', 'owner');
    await waitFor(() => chatOf(world, GROUP).length > 0, { what: 'the answer in the group' });
    expect(chatOf(world, GROUP)).toEqual(['Done.\n\nNot done: writing a file was refused.']);
    expect(chatOf(world, CHAT.owner)).toEqual([]);
  });
});
