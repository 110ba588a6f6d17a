import { execFileSync } from 'node:child_process';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { fileTools } from '../support/file-tools.ts';

describe('a listing', () => {
  test('is sorted, with a slash for folders and a size for files', async () => {
    await using files = await fileTools();
    await files.put('b.txt', 'ab');
    await files.put('a.txt', 'x');
    await files.put('empty', '');
    await mkdir(join(files.workspace, 'aa'));
    await symlink('a.txt', join(files.workspace, 'link'));
    execFileSync('/usr/bin/env', ['mkfifo', join(files.workspace, 'pipe')]);
    expect(await files.call('list_dir', {})).toMatchObject({
      title: 'listed .',
      output: 'a.txt  1 byte\naa/\nb.txt  2 bytes\nempty  0 bytes\nlink  (link)\npipe  (other)',
      metadata: { entries: 6, truncated: false },
    });
  });

  test('of an empty folder says so', async () => {
    await using files = await fileTools();
    expect(await files.call('list_dir', { path: '.' })).toMatchObject({
      output: '(the folder is empty)',
      metadata: { entries: 0 },
    });
  });

  test('shows names in any script', async () => {
    await using files = await fileTools();
    await files.put('你好 😀.txt', '');
    expect((await files.call('list_dir', {})).output).toBe('你好 😀.txt  0 bytes');
  });

  test.each([
    [1, 'a/'],
    [2, 'a/\n  b/\n  one  1 byte'],
    [3, 'a/\n  b/\n    two  1 byte\n  one  1 byte'],
  ])('of depth %i', async (depth, shown) => {
    await using files = await fileTools();
    await files.put('a/one', '1');
    await files.put('a/b/two', '2');
    expect((await files.call('list_dir', { depth })).output).toBe(shown);
  });

  test('does not enter .git, node_modules and links', async () => {
    await using files = await fileTools();
    await files.put('.git/HEAD', 'x');
    await files.put('node_modules/a/b.js', 'x');
    await files.put('src/a.ts', 'x');
    await symlink('.', join(files.workspace, 'loop'));
    expect((await files.call('list_dir', { depth: 8 })).output).toBe(
      '.git/\nloop  (link)\nnode_modules/\nsrc/\n  a.ts  1 byte',
    );
  });

  test('stops at 500 entries and says so, over all levels', async () => {
    await using files = await fileTools();
    for (const folder of ['a', 'b']) {
      await mkdir(join(files.workspace, folder));
      for (let i = 0; i < 300; i += 1) await writeFile(join(files.workspace, folder, `${i}`.padStart(3, '0')), '');
    }
    const { output, metadata } = await files.call('list_dir', { depth: 2 });
    expect(output.split('\n')).toHaveLength(501);
    expect(output).toMatch(/\(there are more than 500 entries; list one of the folders in it\)$/u);
    expect(metadata).toEqual({ entries: 500, truncated: true });
    expect((await files.call('list_dir', { path: 'a' })).metadata).toEqual({ entries: 300, truncated: false });
  });

  test('hides from others what is private to the owner', async () => {
    await using files = await fileTools();
    await files.put('memory/MEMORY.md', 'x');
    await files.put('a.txt', 'x');
    expect((await files.call('list_dir', {}, { role: 'trusted' })).output).toBe('a.txt  1 byte');
    expect((await files.call('list_dir', { path: 'memory' }, { role: 'trusted' })).output).toContain('private');
    expect((await files.call('list_dir', {})).output).toContain('memory/');
  });

  test('names a folder inside that it may not enter and goes on', async () => {
    await using files = await fileTools();
    await files.put('.ssh/id_ed25519', 'x');
    await files.put('z.txt', 'x');
    const { output } = await files.call('list_dir', { depth: 2 });
    expect(output).toMatch(/^\.ssh\/\n {2}\(This needs a yes from the owner: .*\)\nz\.txt/u);
    expect(output).not.toContain('id_ed25519');
  });
});

describe('what is not listed', () => {
  test.each([
    ['a file', 'a.txt', 'a.txt is not a directory.'],
    ['a missing folder', 'no', 'no does not exist.'],
    ['a folder outside', '/etc', 'outside the workspace'],
    ['the home', '..', 'configuration or state'],
    ['a link that leads out', 'out', 'outside the workspace'],
    ['the processes of the system', '/proc', 'not open to tools'],
    ['a link in circles', 'loop', 'lead in a circle'],
  ])('%s', async (_name, path, sentence) => {
    await using files = await fileTools();
    await files.put('a.txt', 'x');
    await symlink('/etc', join(files.workspace, 'out'));
    await symlink('loop', join(files.workspace, 'loop'));
    const answer = await files.call('list_dir', { path });
    expect(answer.isError).toBe(true);
    expect(answer.output).toContain(sentence);
  });

  test.each([0, 9, 1.5])('a depth of %d', async (depth) => {
    await using files = await fileTools();
    expect((await files.call('list_dir', { depth })).output).toContain('depth: ');
  });
});
