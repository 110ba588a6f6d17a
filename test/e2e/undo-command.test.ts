import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { CommandLine } from '../cli/command-line.ts';
import { failureOf } from '../config/temporary-home.ts';
import { startWorld, type World } from '../support/world.ts';
import { say } from './memory-world.ts';

const write = (path: string, content: string) => ({ calls: [{ name: 'write_file', arguments: { path, content } }] });

/** A command line beside an assistant that wrote two files, and the turn that wrote the first. */
async function written(stack: AsyncDisposableStack): Promise<{ world: World; line: CommandLine; turn: string }> {
  const world = stack.use(await startWorld());
  world.model.reply(write('a.md', 'first'), 'One.', write('b.md', 'second'), 'Two.', 'Three.');
  await say(world, 'write the first');
  const [newest] = await world.assistant.call('turnsList', { count: 1 });
  await say(world, 'write the second');
  const line = new CommandLine();
  line.assistant.answers = { undoTurn: (params) => world.assistant.call('undoTurn', params) };
  return { world, line, turn: newest?.turn ?? '' };
}

describe('assistant undo', () => {
  test('shows what it would do, and takes back one turn, also an earlier one', async () => {
    await using stack = new AsyncDisposableStack();
    const { world, line, turn } = await written(stack);
    const file = join(world.workspace, 'a.md');
    expect(await line.run('undo', turn, '--dry-run')).toBe(0);
    expect(line.out).toBe(
      '“write the first” and my answer leave this conversation.\nFiles:\n- a.md: will be removed, because it is new\n',
    );
    expect(await readFile(file, 'utf8')).toBe('first');
    line.out = '';
    expect(await line.run('undo', turn, '--yes')).toBe(0);
    expect(line.out).toContain('- a.md: removed, because it was new');
    await expect(readFile(file)).rejects.toThrow('ENOENT');
    expect(await readFile(join(world.workspace, 'b.md'), 'utf8')).toBe('second');
    await say(world, 'and now?');
    const asked = JSON.stringify(world.model.requests.at(-1)?.body);
    expect(asked).toContain('write the second');
    expect(asked).not.toContain('write the first');
  });

  test('refuses a turn that was taken back already, and one that there is not', async () => {
    await using stack = new AsyncDisposableStack();
    const { world, turn } = await written(stack);
    await world.assistant.call('undoTurn', { turn, dry: false });
    await writeFile(join(world.workspace, 'a.md'), 'first');
    expect(await failureOf(world.assistant.call('undoTurn', { turn, dry: false }))).toMatchObject({
      code: 'undo-refused',
      message: 'This turn was taken back already.',
    });
    expect(await readFile(join(world.workspace, 'a.md'), 'utf8')).toBe('first');
    expect(await failureOf(world.assistant.call('undoTurn', { turn: 'none', dry: true }))).toMatchObject({
      code: 'turn-unknown',
    });
  });
});
