import { chmod, mkdir, readFile, readdir, rm, stat, symlink, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { LARGEST_COPY } from '../../src/core/storage/change-log.ts';
import { restoreFiles, type RestoredFile } from '../../src/core/agent/undo/restore-files.ts';
import { fileTools, type FileTools } from '../support/file-tools.ts';

const SESSION = 'terminal:test';

async function undo(files: FileTools, turnId = 'turn-1'): Promise<readonly RestoredFile[]> {
  const { guard, changes } = files;
  return await restoreFiles(await changes.of(SESSION, turnId), { guard, copies: changes });
}

const at = (files: FileTools, path: string): string => join(files.workspace, path);

describe('what file tools did is taken back', () => {
  test('an edited file of CRLF lines and odd bytes is as before, byte for byte', async () => {
    await using files = await fileTools();
    const bytes = Buffer.from('eins\r\nzwei \xfc\r\n', 'latin1');
    const path = await files.put('a.txt', bytes);
    await files.call('edit_file', { path: 'a.txt', oldText: 'eins\nzwei', newText: 'one\ntwo\nthree' });
    expect((await readFile(path)).equals(bytes)).toBe(false);
    expect(await undo(files)).toEqual([{ path: 'a.txt', outcome: 'restored', reason: '' }]);
    expect((await readFile(path)).equals(bytes)).toBe(true);
  });

  test('a replaced file keeps its mode', async () => {
    await using files = await fileTools();
    const path = await files.put('run.sh', 'old');
    await chmod(path, 0o750);
    await files.call('write_file', { path: 'run.sh', content: 'new' });
    await undo(files);
    expect(await readFile(path, 'utf8')).toBe('old');
    expect((await stat(path)).mode & 0o777).toBe(0o750);
  });

  test.each([
    ['write_file', { path: 'sub/new.txt', content: 'x' }],
    ['edit_file', { path: 'sub/new.txt', oldText: '', newText: 'x' }],
  ])('a file that %s made is removed, with the folder that was made for it', async (tool, args) => {
    await using files = await fileTools();
    await files.call(tool, args);
    expect(await undo(files)).toEqual([{ path: join('sub', 'new.txt'), outcome: 'removed', reason: '' }]);
    expect(await readdir(files.workspace)).toEqual([]);
  });

  test('several changes of one file lead back to what was before the first', async () => {
    await using files = await fileTools();
    const path = await files.put('a.txt', 'one');
    await files.call('edit_file', { path: 'a.txt', oldText: 'one', newText: 'two' });
    await files.call('write_file', { path, content: 'three' });
    await files.call('write_file', { path: 'b.txt', content: '1' });
    await files.call('write_file', { path: 'b.txt', content: '2' });
    expect(await undo(files)).toMatchObject([
      { path: 'a.txt', outcome: 'restored' },
      { path: 'b.txt', outcome: 'removed' },
    ]);
    expect(await readdir(files.workspace)).toEqual(['a.txt']);
    expect(await readFile(path, 'utf8')).toBe('one');
  });

  test('a file that was deleted since is there again, with its mode', async () => {
    await using files = await fileTools();
    const path = await files.put('sub/a.txt', 'old');
    await chmod(path, 0o640);
    await files.call('write_file', { path: 'sub/a.txt', content: 'new' });
    await rm(at(files, 'sub'), { recursive: true });
    expect(await undo(files)).toMatchObject([{ outcome: 'restored' }]);
    expect(await readFile(path, 'utf8')).toBe('old');
    expect((await stat(path)).mode & 0o777).toBe(0o640);
  });

  test('of protected and secret files too, without another question', async () => {
    await using files = await fileTools();
    for (const path of ['memory/MEMORY.md', 'SOUL.md', '.env']) {
      await files.put(path, 'old');
      await files.call('write_file', { path, content: 'new' });
    }
    const asked = files.asked.length;
    expect((await undo(files)).map(({ outcome }) => outcome)).toEqual(['restored', 'restored', 'restored']);
    expect(await readFile(at(files, 'memory/MEMORY.md'), 'utf8')).toBe('old');
    expect(files.asked).toHaveLength(asked);
  });

  test('through a link the file it leads to is put back', async () => {
    await using files = await fileTools();
    const path = await files.put('real.txt', 'old');
    await symlink('real.txt', at(files, 'link.txt'));
    await files.call('write_file', { path: 'link.txt', content: 'new' });
    expect(await undo(files)).toMatchObject([{ path: 'real.txt', outcome: 'restored' }]);
    expect(await readFile(path, 'utf8')).toBe('old');
  });

  test('done twice it does nothing more', async () => {
    await using files = await fileTools();
    await files.put('a.txt', 'old');
    await files.call('write_file', { path: 'a.txt', content: 'new' });
    await files.call('write_file', { path: 'b.txt', content: 'new' });
    expect(await undo(files)).toHaveLength(2);
    expect(await undo(files)).toEqual([]);
  });

  test('only what was done in this turn', async () => {
    await using files = await fileTools();
    const path = await files.put('a.txt', '1');
    await files.call('write_file', { path, content: '2' });
    await files.call('write_file', { path, content: '3' }, { turnId: 'turn-2', callId: 'turn-2.1' });
    await undo(files, 'turn-2');
    expect(await readFile(path, 'utf8')).toBe('2');
    await undo(files, 'turn-1');
    expect(await readFile(path, 'utf8')).toBe('1');
  });
});

describe('what is left as it is', () => {
  test.each([
    ['edited', 'old', 'it changed after I wrote it'],
    ['new', null, 'it changed after I made it'],
  ])('a file that was %s and changed since', async (_name, before, reason) => {
    await using files = await fileTools();
    if (before !== null) await files.put('a.txt', before);
    await files.call('write_file', { path: 'a.txt', content: 'mine' });
    await writeFile(at(files, 'a.txt'), 'yours');
    expect(await undo(files)).toEqual([{ path: 'a.txt', outcome: 'left', reason }]);
    expect(await readFile(at(files, 'a.txt'), 'utf8')).toBe('yours');
  });

  test('a file that is a link now, wherever it leads', async () => {
    await using files = await fileTools();
    const path = await files.put('a.txt', 'old');
    await files.put('victim.txt', 'new');
    await files.call('write_file', { path, content: 'new' });
    await rm(path);
    await symlink('victim.txt', path);
    expect(await undo(files)).toMatchObject([{ outcome: 'left', reason: 'there is a link in its place now' }]);
    expect(await readFile(at(files, 'victim.txt'), 'utf8')).toBe('new');
    await rm(path);
    await symlink('nowhere.txt', path);
    expect(await undo(files)).toMatchObject([{ outcome: 'left', reason: expect.stringContaining('is a broken link') }]);
  });

  test('a file in a folder that is a link now', async () => {
    await using files = await fileTools();
    await files.put('sub/a.txt', 'old');
    await files.call('write_file', { path: 'sub/a.txt', content: 'new' });
    await rm(at(files, 'sub'), { recursive: true });
    await mkdir(at(files, 'other'));
    await symlink('other', at(files, 'sub'));
    expect(await undo(files)).toMatchObject([{ outcome: 'left', reason: 'there is a link in its place now' }]);
    expect(await readdir(at(files, 'other'))).toEqual([]);
  });

  test('a file that is a folder now', async () => {
    await using files = await fileTools();
    const path = await files.put('a.txt', 'old');
    await files.call('write_file', { path, content: 'new' });
    await rm(path);
    await mkdir(path);
    expect(await undo(files)).toMatchObject([{ outcome: 'left', reason: expect.stringContaining('is a directory') }]);
  });

  test('a file that was too large for a copy', async () => {
    await using files = await fileTools();
    const path = await files.put('big.bin', '');
    await truncate(path, LARGEST_COPY + 1);
    await files.call('write_file', { path, content: 'small' });
    expect(await undo(files)).toMatchObject([{ outcome: 'left', reason: 'it was too large to keep a copy of it' }]);
    expect(await readFile(path, 'utf8')).toBe('small');
  });

  test('a file whose copy is gone', async () => {
    await using files = await fileTools();
    const path = await files.put('a.txt', 'old');
    await files.call('write_file', { path, content: 'new' });
    await rm(join(files.home, 'versions', 'undo', 'copies'), { recursive: true });
    expect(await undo(files)).toMatchObject([{ outcome: 'left', reason: 'the copy of it is not kept any more' }]);
  });

  test('one file that cannot be put back does not keep the others from it', async () => {
    await using files = await fileTools();
    for (const path of ['a.txt', 'b.txt']) {
      await files.put(path, 'old');
      await files.call('write_file', { path, content: 'new' });
    }
    await rm(at(files, 'a.txt'));
    await mkdir(at(files, 'a.txt'));
    expect((await undo(files)).map(({ outcome }) => outcome)).toEqual(['left', 'restored']);
  });
});

describe('before a file is changed', () => {
  test('its copy is on the disk: where none can be kept, nothing is written', async () => {
    await using files = await fileTools();
    const path = await files.put('a.txt', 'old');
    await writeFile(join(files.home, 'versions'), 'a file in the way');
    for (const [tool, args] of [
      ['write_file', { path: 'a.txt', content: 'new' }],
      ['write_file', { path: 'b.txt', content: 'new' }],
      ['edit_file', { path: 'a.txt', oldText: 'old', newText: 'new' }],
    ] as const) {
      expect((await files.call(tool, args)).isError).toBe(true);
    }
    expect(await readFile(path, 'utf8')).toBe('old');
    expect(await readdir(files.workspace)).toEqual(['a.txt']);
  });

  test('a change that was recorded and did not happen is not taken back', async () => {
    await using files = await fileTools();
    const path = await files.put('a.txt', 'old');
    const turn = { sessionKey: SESSION, turnId: 'turn-1', callId: 'turn-1.1', after: Buffer.from('new') };
    await files.changes.recordChange({ ...turn, path, before: { bytes: Buffer.from('old'), mode: 0o600 } });
    await files.changes.recordChange({ ...turn, path: at(files, 'b.txt'), before: null });
    expect(await undo(files)).toEqual([]);
    expect(await readFile(path, 'utf8')).toBe('old');
  });

  test('a call that is refused leaves no record', async () => {
    await using files = await fileTools();
    await files.call('write_file', { path: 'cron/jobs.json', content: '[]' });
    await files.call('write_file', { path: '../config.json', content: '{}' });
    expect(await files.changes.of(SESSION, 'turn-1')).toEqual([]);
  });

  test('a file that appears or changes meanwhile is not overwritten', async () => {
    await using files = await fileTools({ beforeWrite: (path) => writeFile(path, 'yours') });
    const path = await files.put('a.txt', 'old');
    for (const name of ['a.txt', 'b.txt']) {
      const answer = await files.call('write_file', { path: name, content: 'mine' });
      expect(answer.output).toContain('changed after it was read');
    }
    expect(await readFile(path, 'utf8')).toBe('yours');
    expect(await readFile(at(files, 'b.txt'), 'utf8')).toBe('yours');
  });
});
