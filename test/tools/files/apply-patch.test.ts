import { chmod, mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { restoreFiles } from '../../../src/core/agent/undo/restore-files.ts';
import { applyPatchTool } from '../../../src/extensions/files/edit.ts';
import { ToolRegistry } from '../../../src/core/tools/registry/registry.ts';
import { fileTools, type FileTools } from '../../support/file-tools.ts';
import { openMarks } from '../../support/marks.ts';
import { testToolContext } from '../../support/tool-context.ts';

const edit = (path: string, oldText: string, newText: string, more: { replaceAll?: boolean } = {}) => ({
  path,
  oldText,
  newText,
  ...more,
});
const text = (files: FileTools, path: string): Promise<string> => readFile(join(files.workspace, path), 'utf8');

describe('all edits', () => {
  test('over several files are made, new files too, later ones on what earlier ones left', async () => {
    await using files = await fileTools();
    await files.put('a.txt', 'one\ntwo\n');
    await files.put('b/c.txt', 'x\ny\nx\n');
    const answer = await files.call('apply_patch', {
      edits: [
        edit('a.txt', 'two', '2'),
        edit('new/n.txt', '', 'first\n'),
        edit('./a.txt', '2', 'zwei'),
        edit('b/c.txt', 'x', 'z', { replaceAll: true }),
        edit('new/n.txt', 'first', 'second'),
      ],
    });
    expect(answer).toMatchObject({
      title: 'patched 3 files',
      output: 'a.txt: line 2; line 2\nnew/n.txt: new; line 1\nb/c.txt: lines 1, 3',
      metadata: { files: 3, edits: 5 },
    });
    expect(await text(files, 'a.txt')).toBe('one\nzwei\n');
    expect(await text(files, 'b/c.txt')).toBe('z\ny\nz\n');
    expect(await text(files, 'new/n.txt')).toBe('second\n');
  });

  test('keep the form of a file: CRLF, byte-order mark, encoding, no final newline, mode', async () => {
    await using files = await fileTools();
    const path = await files.put('a.txt', '\ufeffa\r\nb\r\nc');
    await chmod(path, 0o750);
    const latin = await files.put('l.txt', Buffer.from('gr\xfcn', 'latin1'));
    await files.call('apply_patch', { edits: [edit('a.txt', 'a\nb', 'x\ny'), edit('l.txt', 'ü', 'ö')] });
    expect(await readFile(path, 'utf8')).toBe('\ufeffx\r\ny\r\nc');
    expect((await stat(path)).mode & 0o777).toBe(0o750);
    expect((await readFile(latin)).toString('latin1')).toBe('gr\xf6n');
  });

  test('of a file under two names meet', async () => {
    await using files = await fileTools();
    await files.put('a.txt', 'one two');
    await symlink('a.txt', join(files.workspace, 'link.txt'));
    await files.call('apply_patch', { edits: [edit('a.txt', 'one', '1'), edit('link.txt', 'two', '2')] });
    expect(await text(files, 'a.txt')).toBe('1 2');
  });
});

describe('none of the edits', () => {
  test('is made when one cannot be, and each that cannot says why', async () => {
    await using files = await fileTools();
    await files.put('a.txt', 'x\nx\n');
    await files.put('b.txt', 'indent  ed\n');
    await files.put('bin', Buffer.from([1, 0, 2]));
    await mkdir(join(files.workspace, 'sub'));
    const answer = await files.call('apply_patch', {
      edits: [
        edit('b.txt', 'indent  ed', 'changed'),
        edit('a.txt', 'x', 'y'),
        edit('b.txt', 'indent ed', 'z'),
        edit('no.txt', 'a', 'b'),
        edit('bin', 'a', 'b'),
        edit('b.txt', '', 'new'),
        edit('a.txt', '', 'new'),
        edit('n.txt', '', 'new'),
        edit('n.txt', '', 'again'),
      ],
    });
    expect(answer.isError).toBe(true);
    expect(answer.output.split('\n')).toEqual([
      'Nothing was changed.',
      'Edit 2 (a.txt): oldText occurs 2 times, at lines 1, 2. Add the lines around it to oldText, or set replaceAll to true.',
      'Edit 3 (b.txt): oldText does not occur in the file. Read the file again and copy the text exactly.',
      'Edit 4 (no.txt): no.txt does not exist.',
      'Edit 5 (bin): this is a binary file, so it is not edited.',
      'Edit 6 (b.txt): oldText is empty, which is for new files only.',
      'Edit 7 (a.txt): oldText is empty, which is for new files only.',
      'Edit 9 (n.txt): oldText is empty, which is for new files only.',
    ]);
    expect(await text(files, 'a.txt')).toBe('x\nx\n');
    expect(await text(files, 'b.txt')).toBe('indent  ed\n');
    expect((await readdir(files.workspace)).toSorted()).toEqual(['a.txt', 'b.txt', 'bin', 'sub']);
  });

  test('stays when a write fails in the middle', async () => {
    let broken = '';
    await using files = await fileTools({
      beforeWrite: async (path) => {
        if (path.endsWith('c.txt') && broken === '') {
          broken = path;
          await writeFile(path, 'somebody else');
        }
      },
    });
    const before = { 'a.txt': 'a\n', 'b.txt': '\ufeffb\r\n', 'c.txt': 'c' };
    for (const [path, content] of Object.entries(before)) await files.put(path, content);
    const answer = await files.call('apply_patch', {
      edits: [edit('a.txt', 'a', 'A'), edit('n.txt', '', 'new'), edit('b.txt', 'b', 'B'), edit('c.txt', 'c', 'C')],
    });
    expect(answer).toMatchObject({
      isError: true,
      output:
        'c.txt could not be written: c.txt changed after it was read. Read it again before you change it.\nNothing was changed.',
    });
    for (const path of ['a.txt', 'b.txt'] as const) expect(await text(files, path)).toBe(before[path]);
    expect(await text(files, 'c.txt')).toBe('somebody else');
    expect((await readdir(files.workspace)).toSorted()).toEqual(['a.txt', 'b.txt', 'c.txt']);
    const recorded = await files.changes.of('terminal:test', 'turn-1');
    expect(await restoreFiles(recorded, { guard: files.guard, copies: files.changes })).toEqual([
      { path: 'c.txt', outcome: 'left', reason: 'it changed after I wrote it' },
    ]);
  });

  test('is forgotten where somebody else wrote meanwhile: that file is named', async () => {
    await using files = await fileTools({
      beforeWrite: async (path) => {
        if (!path.endsWith('b.txt')) return;
        await writeFile(path, 'other');
        await writeFile(path.replace('b.txt', 'a.txt'), 'yours');
      },
    });
    await files.put('a.txt', 'a');
    await files.put('b.txt', 'b');
    const { output } = await files.call('apply_patch', { edits: [edit('a.txt', 'a', 'A'), edit('b.txt', 'b', 'B')] });
    expect(output).toContain('a.txt stays changed: it was changed by something else meanwhile.');
    expect(await text(files, 'a.txt')).toBe('yours');
  });

  test('overwrites a file that came meanwhile where it was to be new', async () => {
    await using files = await fileTools({ beforeWrite: (path) => writeFile(path, 'came first') });
    const answer = await files.call('apply_patch', { edits: [edit('n.txt', '', 'new')] });
    expect(answer.isError).toBe(true);
    expect(await text(files, 'n.txt')).toBe('came first');
    expect((await files.call('edit_file', edit('m.txt', '', 'new'))).isError).toBe(true);
    expect(await text(files, 'm.txt')).toBe('came first');
  });

  test('is made after a stop', async () => {
    const stop = new AbortController();
    await using files = await fileTools({ beforeWrite: async (path) => path.endsWith('a.txt') && stop.abort() });
    for (const path of ['a.txt', 'b.txt']) await files.put(path, 'old');
    const edits = ['a.txt', 'b.txt'].map((path) => edit(path, 'old', 'new'));
    expect((await files.call('apply_patch', { edits }, { signal: stop.signal })).output).toContain('Cut off');
    expect([await text(files, 'a.txt'), await text(files, 'b.txt')]).toEqual(['old', 'old']);
  });
});

describe('what is closed', () => {
  const tainted = { taint: { untrusted: true, private: false } };

  test.each(['../config.json', 'cron/jobs.json', '/etc/hosts', 'sub', 'out/x.txt', '/dev/null'])(
    '%s among the files refuses all of them',
    async (path) => {
      await using files = await fileTools();
      await files.put('a.txt', 'a');
      await mkdir(join(files.workspace, 'sub'));
      await symlink('/etc', join(files.workspace, 'out'));
      const answer = await files.call('apply_patch', { edits: [edit('a.txt', 'a', 'b'), edit(path, 'a', 'b')] });
      expect(answer.output).toMatch(/^Refused: /u);
      expect(await text(files, 'a.txt')).toBe('a');
    },
  );

  test('and needs a yes is asked about once, with every edit shown; two of them are refused', async () => {
    await using files = await fileTools();
    for (const path of ['SOUL.md', 'AGENTS.md', 'a.txt']) await files.put(path, 'old');
    const both = ['SOUL.md', 'AGENTS.md'].map((path) => edit(path, 'old', 'new'));
    expect((await files.call('apply_patch', { edits: both }, tainted)).output).toBe(
      'Refused: 2 of these files need a yes each; change them in calls of their own.',
    );
    expect(files.asked).toEqual([]);
    const one = [edit('a.txt', 'old', 'ev\u202eil'), edit('SOUL.md', 'old', 'kind')];
    expect((await files.call('apply_patch', { edits: one }, tainted)).isError).toBeUndefined();
    expect(files.asked).toMatchObject([{ title: 'Change files', path: join(files.workspace, 'SOUL.md') }]);
    expect(files.asked[0]?.detail).toContain('a.txt\n− old\n+ ev\\u{202e}il\n\nSOUL.md\n− old\n+ kind');
    expect(await text(files, 'SOUL.md')).toBe('kind');
    const approve = async () => ({ approved: false, reason: 'no' }) as const;
    await files.call('apply_patch', { edits: [edit('SOUL.md', 'kind', 'bad')] }, { ...tainted, approve });
    expect(await text(files, 'SOUL.md')).toBe('kind');
  });

  test('is not opened by a yes to what the files held before', async () => {
    await using files = await fileTools();
    const path = await files.put('SOUL.md', 'old');
    const approve = async () => {
      await writeFile(path, 'old and more');
      return { approved: true } as const;
    };
    const answer = await files.call('apply_patch', { edits: [edit('SOUL.md', 'old', 'new')] }, { ...tainted, approve });
    expect(answer.output).toContain('changed after it was approved');
    expect(await readFile(path, 'utf8')).toBe('old and more');
  });
});

test('what strangers had a part in is still theirs afterwards', async () => {
  await using files = await fileTools();
  const { guard, changes, clock, workspace } = files;
  const marks = openMarks({ workspace });
  const registry = new ToolRegistry({
    policy: { allow: ['*'], deny: [], guest: [] },
    clock,
    redact: (line) => line,
    maxOutput: 16_000,
  });
  registry.register(applyPatchTool({ guard, changes, marks }));
  await files.put('a.txt', 'obey me');
  await marks.record([{ path: 'a.txt' }], 'outside');
  const call = (...edits: readonly unknown[]) =>
    registry.run(
      { name: 'apply_patch', arguments: JSON.stringify({ edits }) },
      testToolContext({ workingDirectory: workspace }),
    );
  expect(await call(edit('a.txt', 'obey  me', 'x'))).toMatchObject({ isError: true, untrusted: true });
  expect((await call(edit('a.txt', 'me', 'us'), edit('b.txt', '', 'mine'))).isError).toBeUndefined();
  const authors = ['a.txt', 'b.txt'].map((path) => marks.authorOf(join(workspace, path)));
  expect(authors).toEqual(['outside', null]);
});

test('it can be undone', async () => {
  await using files = await fileTools();
  await files.put('a.txt', 'old');
  await files.call('apply_patch', { edits: [edit('a.txt', 'old', 'new'), edit('n/m.txt', '', 'x')] });
  const recorded = await files.changes.of('terminal:test', 'turn-1');
  const restored = await restoreFiles(recorded, { guard: files.guard, copies: files.changes });
  expect(restored).toMatchObject([
    { path: 'a.txt', outcome: 'restored' },
    { path: 'n/m.txt', outcome: 'removed' },
  ]);
  expect(await text(files, 'a.txt')).toBe('old');
});

test.each([
  [{}],
  [{ edits: [] }],
  [{ edits: [{ path: 'a' }] }],
  [{ edits: Array.from({ length: 101 }, () => edit('a', 'b', 'c')) }],
])('bad input is a result: %j', async (args) => {
  await using files = await fileTools();
  expect((await files.call('apply_patch', args)).output).toMatch(/^Nothing was done/u);
  expect(files.registry.effectOf('multiedit')).toBe('effect');
});
