import { readFile, realpath, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { EditorFileReply, EditorFileRequest } from '../../src/core/bus/editor.ts';
import { sha256 } from '../../src/core/storage/change-log.ts';
import { EditorFiles } from '../../src/core/files/editor-store.ts';
import type { ToolResult } from '../../src/core/tools/tool.ts';
import { fileTools, type FileTools } from '../support/file-tools.ts';
import { tempFolder } from '../support/temp.ts';
import { waitFor } from '../support/wait.ts';

const SESSION = 'acp:one';

interface World extends AsyncDisposable {
  readonly files: FileTools;
  /** The folder that is open in the editor. */
  readonly project: string;
  readonly path: string;
  readonly asked: EditorFileRequest[];
  readonly call: (name: string, args: Record<string, unknown>) => Promise<ToolResult>;
  /** The same, with another folder open in the editor. */
  readonly editorOf: (root: string) => World['call'];
  readonly onDisk: () => Promise<string>;
}

/** A file `a.txt` that holds `one`, in the folder of an editor that answers as the test says. */
async function world(
  answer: (request: EditorFileRequest, path: string) => EditorFileReply | Promise<EditorFileReply>,
  content: string | Uint8Array = 'one\n',
): Promise<World> {
  const files = await fileTools();
  const folder = await tempFolder();
  const project = await realpath(folder.path);
  const path = join(project, 'a.txt');
  await writeFile(path, content);
  const editors = new EditorFiles(files);
  const asked: EditorFileRequest[] = [];
  editors.attach(SESSION, {
    reads: true,
    writes: true,
    ask: async (request) => {
      asked.push(request);
      return await answer(request, path);
    },
  });
  const context = { sessionKey: SESSION, roots: [project], store: editors.of([SESSION]) };
  return {
    files,
    project,
    path,
    asked,
    call: (name, args) => files.call(name, args, context),
    editorOf: (root) => (name, args) => files.call(name, args, { ...context, roots: [root] }),
    onDisk: () => readFile(path, 'utf8'),
    [Symbol.asyncDispose]: async () => {
      await files[Symbol.asyncDispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
}

const never = (): Promise<never> => new Promise(() => {});

describe('a file that is open in an editor', () => {
  test('is read as the editor shows it, and written through it', async () => {
    let shown = 'one\ntyped\n';
    await using at = await world((request) => {
      if (request.kind === 'read') return { text: shown };
      shown = request.text;
      return { written: true };
    });
    const { output, metadata } = await at.call('read_file', { path: at.path });
    expect(output).toContain('typed');
    expect(metadata['unsaved']).toBe(true);
    const edited = await at.call('edit_file', { path: at.path, oldText: 'one', newText: 'two' });
    expect(edited).toMatchObject({ note: expect.stringContaining('did not save it') as unknown });
    expect(shown).toBe('two\ntyped\n');
    expect(await at.onDisk()).toBe('one\n');
  });

  test('is not asked for outside of its folder, nor where a yes is needed', async () => {
    await using at = await world(() => ({ text: 'of the editor' }));
    await writeFile(join(at.project, '.env'), 'A=1\n');
    const inside = await at.files.put('b.txt', 'b\n');
    await symlink(inside, join(at.project, 'link.txt'));
    for (const path of [join(at.project, '.env'), inside, join(at.project, 'link.txt')]) {
      expect((await at.call('read_file', { path })).output).not.toContain('of the editor');
      await at.call('write_file', { path, content: 'new' });
    }
    expect(at.asked).toEqual([]);
  });

  test('is not overwritten when the person typed after it was read', async () => {
    let reads = 0;
    await using at = await world(({ kind }) =>
      kind === 'read' ? { text: `one\n${(reads += 1)}\n` } : { written: true },
    );
    const { isError, output } = await at.call('edit_file', { path: at.path, oldText: 'one', newText: 'two' });
    expect({ isError, output }).toMatchObject({
      isError: true,
      output: expect.stringContaining('changed after') as unknown,
    });
    expect(at.asked.map(({ kind }) => kind)).not.toContain('write');
  });

  test('is written on the disk when the editor refuses, but not under changes that are not saved', async () => {
    let shown = 'one\n';
    await using at = await world(({ kind }) => (kind === 'read' ? { text: shown } : { refused: 'no space' }));
    expect(await at.call('write_file', { path: at.path, content: 'two\n' })).not.toMatchObject({ isError: true });
    expect(await at.onDisk()).toBe('two\n');
    shown = 'two\ntyped\n';
    const { isError, output, note } = await at.call('write_file', { path: at.path, content: 'three\n' });
    expect(isError).toBe(true);
    expect(output).toBe('no space');
    expect(note).toContain('not saved');
    expect(await at.onDisk()).toBe('two\n');
  });

  test('is read from the disk when the editor is late, and a late write may have taken effect', async () => {
    await using at = await world(never);
    const late = async (asked: number, ms: number): Promise<void> => {
      await waitFor(() => at.asked.length === asked, { what: 'the question to the editor' });
      await at.files.clock.advance(ms);
    };
    const reading = at.call('read_file', { path: at.path });
    await late(1, 5_000);
    expect((await reading).output).toContain('one');
    const writing = at.call('edit_file', { path: at.path, oldText: 'one', newText: 'two' });
    await late(2, 5_000);
    await late(3, 20_000);
    expect(await writing).toMatchObject({ isError: true, doubtful: true });
    expect(await at.onDisk()).toBe('one\n');
  });

  test('is written on the disk when the editor goes away', async () => {
    await using at = await world(({ kind }) => {
      if (kind === 'write') throw new Error('gone');
      return { text: 'one\ntyped\n' };
    });
    await at.call('edit_file', { path: at.path, oldText: 'one', newText: 'two' });
    expect(await at.onDisk()).toBe('two\ntyped\n');
  });

  test('keeps its line ends and its mark, which editors do not show', async () => {
    const given: string[] = [];
    let shown = 'one\nof the editor';
    await using at = await world(async (request, path) => {
      if (request.kind === 'read') return { text: shown };
      given.push(request.text);
      await writeFile(path, `\ufeff${request.text.trimEnd().replaceAll('\n', '\r\n')}`);
      return { written: true };
    }, '\ufeffone\r\nof the editor\r\n');
    expect((await at.call('read_file', { path: at.path })).metadata['unsaved']).toBeUndefined();
    shown = '\ufeffone\nof the editor';
    expect((await at.call('read_file', { path: at.path })).metadata['unsaved']).toBeUndefined();
    const edited = await at.call('edit_file', { path: at.path, oldText: 'one\nof', newText: 'two\nof' });
    expect(edited.note).toBeUndefined();
    expect(given).toEqual(['two\nof the editor\n']);
    expect(await at.onDisk()).toBe('\ufefftwo\r\nof the editor');
  });

  test('keeps them also where what is not saved is written on the disk', async () => {
    await using at = await world(
      ({ kind }) => (kind === 'read' ? { text: '\ufeffone\ntyped\n' } : Promise.reject(new Error('gone'))),
      '\ufeffone\r\n',
    );
    await at.call('edit_file', { path: at.path, oldText: 'one', newText: 'two' });
    expect(await at.onDisk()).toBe('\ufefftwo\r\ntyped\r\n');
  });

  test('that is new and that the editor refuses is made on the disk; one change is recorded of a write', async () => {
    await using at = await world(async ({ kind }) => (kind === 'read' ? { text: 'one\n' } : { refused: 'no' }));
    await at.call('write_file', { path: join(at.project, 'b.txt'), content: 'b\n' });
    expect(await readFile(join(at.project, 'b.txt'), 'utf8')).toBe('b\n');
    await using saves = await world(async (request, path) => {
      if (request.kind === 'write') await writeFile(path, request.text);
      return request.kind === 'read' ? { text: 'one\n' } : { written: true };
    });
    const { note } = await saves.call('write_file', { path: saves.path, content: 'two\n' });
    expect(note).toBeUndefined();
    expect(await saves.files.changes.of(SESSION, 'turn-1')).toHaveLength(1);
  });

  test('of which the editor makes something that is no text is told as changed', async () => {
    await using at = await world(async (request, path) => {
      if (request.kind === 'read') return { refused: 'no' };
      await writeFile(path, Buffer.from([0, 0, 0]));
      return { written: true };
    });
    const { note } = await at.call('write_file', { path: at.path, content: 'two\n' });
    expect(note).toContain('changed the text when it saved it');
  });

  test('is named as the editor names it, where its folder is a link', async () => {
    await using at = await world(() => ({ text: 'one\ntyped\n' }));
    const link = join(at.files.home, 'workspace', 'link-of-the-editor');
    await symlink(at.project, link);
    const editor = at.editorOf(link);
    expect((await editor('read_file', { path: join(link, 'a.txt') })).output).toContain('typed');
    expect(at.asked).toEqual([{ kind: 'read', path: join(link, 'a.txt') }]);
  });

  test('that the editor formats is told, and kept as what it is now', async () => {
    await using at = await world(async (request, path) => {
      if (request.kind === 'read') return { refused: 'no' };
      await writeFile(path, request.text.toUpperCase());
      return { written: true };
    });
    const { note } = await at.call('write_file', { path: at.path, content: 'two\n' });
    expect(note).toContain('changed the text when it saved it');
    const [first, second, ...more] = await at.files.changes.of(SESSION, 'turn-1');
    expect(more).toEqual([]);
    expect(second?.before?.hash).toBe(first?.after);
    expect(second?.after).toBe(sha256(Buffer.from('TWO\n')));
  });

  test('that is no text, or is new in a new folder, is left to the disk; a new one beside it is not', async () => {
    await using at = await world(() => ({ text: 'of the editor' }), Buffer.from([0, 1, 2, 0]));
    expect((await at.call('read_file', { path: at.path })).output).toContain('binary');
    await at.call('write_file', { path: join(at.project, 'new', 'b.txt'), content: 'b\n' });
    expect(at.asked).toEqual([]);
    expect(await readFile(join(at.project, 'new', 'b.txt'), 'utf8')).toBe('b\n');
    await at.call('write_file', { path: join(at.project, 'c.txt'), content: 'c\n' });
    expect(at.asked).toMatchObject([{ kind: 'write', path: join(at.project, 'c.txt'), text: 'c\n' }]);
  });

  test('that is too long in the editor is not taken for what is on the disk', async () => {
    await using at = await world(() => ({ tooLong: true }));
    const { isError, output } = await at.call('read_file', { path: at.path });
    expect(isError).toBe(true);
    expect(output).toContain('too long as the editor shows it');
  });
});
