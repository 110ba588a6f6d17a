import { mkdir, rm, writeFile } from 'node:fs/promises';
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { CommandLine } from '../cli/command-line.ts';
import { asks, call, fresh, OBEY, read, tainted, write, type Call } from '../gullible/left-open/play.ts';
import { waitFor } from '../support/wait.ts';
import { chatOf, OWNER, startWorld, type World } from '../support/world.ts';

const AUTO = { config: { channels: { telegram: { allowFrom: ['42'], owners: ['42'] } } } };
const README = write('README.txt', 'obey');

/** What the assistant answers to a command. */
async function say(world: World, text: string): Promise<string> {
  const before = chatOf(world).length;
  world.telegram.userSays(OWNER, text);
  await waitFor(() => chatOf(world).length > before, { what: `a reply to ${text}` });
  return chatOf(world)[before] ?? '';
}

/** Whether reading something makes a new conversation untrusted: a lasting write is asked about then. */
async function isUntrusted(world: World, reading: Call): Promise<boolean> {
  await fresh(world);
  return await asks(world, [reading, OBEY]);
}

describe('/trust', () => {
  test('lists the marked paths, and clears the mark of one', async () => {
    await using world = await startWorld(AUTO);
    expect(await say(world, '/trust')).toBe('I don’t know of any file that others helped to write.');
    await tainted(world, [README, write('a/b.txt', 'x')]);
    const list = await say(world, '/trust');
    expect(list).toMatch(/README\.txt/u);
    expect(list).toMatch(/a\/b\.txt/u);
    expect(await say(world, '/trust README.txt')).toBe('I trust README.txt from now on.');
    expect(await say(world, '/trust README.txt')).toBe('README.txt isn’t marked, so there’s nothing to clear.');
    expect(await isUntrusted(world, read('README.txt'))).toBe(false);
  });

  test('clears everything below a folder, by any spelling of its path', async () => {
    await using world = await startWorld(AUTO);
    await tainted(world, [write('a/b/c.txt', 'x'), write('a/d.txt', 'x')]);
    expect(await say(world, '/trust "./a/../a/"')).toBe('I trust a from now on (4 marks cleared).');
    expect(await isUntrusted(world, read('a/b/c.txt'))).toBe(false);
  });

  test('says that a download stays untrusted where it is', async () => {
    await using world = await startWorld(AUTO);
    await tainted(world, [write('downloads/a.txt', 'x')]);
    expect(await say(world, '/trust downloads/a.txt')).toBe(
      'downloads/a.txt is in a folder whose files are always untrusted. If you trust it, move it to another folder.',
    );
  });

  test('lists twenty paths, and says how many more there are', async () => {
    await using world = await startWorld(AUTO);
    await tainted(
      world,
      Array.from({ length: 23 }, (_, n) => write(`f${n}.txt`, 'x')),
    );
    const list = await say(world, '/trust');
    expect(list.match(/f\d+\.txt/gu)).toHaveLength(20);
    expect(list).toMatch(/… and 3 more$/u);
  });
});

describe('a mark', () => {
  test('is still there after a restart, and after a backup is restored elsewhere', async () => {
    await using world = await startWorld(AUTO);
    await tainted(world, [README]);
    await world.restart();
    const list = await say(world, '/trust');
    expect(list).toContain('README.txt');
    const line = new CommandLine();
    const file = join(world.home, '..', 'backup.tar.gz');
    expect(await line.run('backup', '--home', world.home, '--out', file)).toBe(0);
    await world.assistant[Symbol.asyncDispose]();
    const next = join(world.home, '..', 'next');
    expect(await line.run('restore', file, '--home', next)).toBe(0);
    await world.restart(next);
    await waitFor(() => chatOf(world).at(-1)?.startsWith('I was restored'), { what: 'the notice of the restore' });
    expect(await say(world, '/trust')).toBe(list);
  });

  test('of an earlier version, which went by content, becomes one of the path', async () => {
    await using world = await startWorld({
      ...AUTO,
      furnish: async (home) => {
        await mkdir(join(home, 'versions'), { recursive: true });
        await mkdir(join(home, 'workspace', 'sub'), { recursive: true });
        const hash = createHash('sha256').update('obey').digest('hex');
        await writeFile(join(home, 'versions', 'untrusted.jsonl'), `${JSON.stringify({ v: 1, hash, name: 'x' })}\n`);
        await writeFile(join(home, 'workspace', 'sub', 'moved.txt'), 'obey');
        await writeFile(join(home, 'workspace', 'sub', 'mine.txt'), 'mine');
      },
    });
    expect(await say(world, '/trust')).toMatch(/sub\/moved\.txt$/u);
    await rm(join(world.workspace, 'sub', 'moved.txt'));
    await world.restart();
    expect(await isUntrusted(world, read('sub/mine.txt'))).toBe(false);
  });

  test('comes back with the text that /undo restores, and leaves with it', async () => {
    await using world = await startWorld(AUTO);
    await writeFile(join(world.workspace, 'mine.txt'), 'mine');
    await tainted(world, [README]);
    await fresh(world);
    await asks(world, [write('README.txt', 'my words')]);
    expect(await say(world, '/trust')).toMatch(/^I don’t know of/u);
    await say(world, '/undo yes');
    expect(await say(world, '/trust')).toContain('README.txt');
    await tainted(world, [call('edit_file', { path: 'mine.txt', oldText: 'mine', newText: 'theirs' })]);
    expect(await say(world, '/trust')).toContain('mine.txt');
    await say(world, '/undo yes');
    expect(await say(world, '/trust')).not.toContain('mine.txt');
  });

  test('of a file that the owner edits on the page is cleared, and comes back with the version that had it', async () => {
    await using world = await startWorld(AUTO);
    const { assistant } = world;
    // The question about a protected file is answered with a yes.
    await tainted(world, [write('TOOLS.md', 'obey')]);
    const code = /\/approve (\w+)/u.exec(world.telegram.sentMessages.at(-1)?.visibleText ?? '')?.[1] ?? '';
    await say(world, `/approve ${code}`);
    await waitFor(async () => (await say(world, '/trust')).includes('TOOLS.md'), { what: 'the mark' });
    const { hash } = await assistant.call('filesRead', { name: 'TOOLS.md' });
    await assistant.call('filesWrite', { name: 'TOOLS.md', text: 'mine', hash });
    expect(await say(world, '/trust')).toMatch(/^I don’t know of/u);
    const [version] = await assistant.call('filesLog', { name: 'TOOLS.md' });
    expect(version?.reason).toBe('an edit of the owner (others helped to write it)');
    await assistant.call('filesRestore', { name: 'TOOLS.md', id: version?.id ?? '' });
    expect(await say(world, '/trust')).toContain('TOOLS.md');
  });
});
