import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { methods } from '@agentclientprotocol/sdk';
import { describe, expect, test } from 'vitest';
import { waitFor } from '../support/wait.ts';
import { begin, say, startEditorWorld, type EditorDisk, type EditorWorld } from './editor.ts';

/** An editor with some files open, of which not all is saved; what it is given it saves. */
class Buffers implements EditorDisk {
  readonly open = new Map<string, string>();
  readonly asked: string[] = [];

  readonly read: NonNullable<EditorDisk['read']> = async ({ path }) => {
    this.asked.push(`read ${path}`);
    return this.open.get(path) ?? (await readFile(path, 'utf8'));
  };

  readonly write: NonNullable<EditorDisk['write']> = async ({ path, content }) => {
    this.asked.push(`write ${path}`);
    this.open.set(path, content);
    await writeFile(path, content);
  };
}

const reading = (path: string): object => ({ calls: [{ name: 'read_file', arguments: { path } }] });
const editing = (path: string, oldText: string, newText: string): object => ({
  calls: [{ name: 'edit_file', arguments: { path, oldText, newText } }],
});
const writing = (path: string, content: string): object => ({
  calls: [{ name: 'write_file', arguments: { path, content } }],
});

/** What the model was told last, with what the tools returned. */
function told({ model }: EditorWorld): string {
  return JSON.stringify(model.requests.at(-1)?.body);
}

describe.concurrent('the files of an editor', () => {
  for (const how of ['alone', 'attached to a gateway']) {
    test(`${how}: what is not saved is read, and an edit of it lands in the editor and can be undone`, async () => {
      await using world = await startEditorWorld();
      if (how !== 'alone') await world.gateway();
      const path = join(world.project, 'main.ts');
      await writeFile(path, 'let a = 1;\n');
      const files = new Buffers();
      files.open.set(path, 'let a = 1;\nlet typed = true;\n');
      world.model.reply(reading(path), editing(path, 'a = 1', 'a = 2'), 'Done.');
      const editor = await world.editor({ files });
      const sessionId = await begin(editor, world.project);
      expect(await say(editor, sessionId, 'make it two')).toEqual({ stopReason: 'end_turn' });
      expect(told(world)).toContain('let typed = true;');
      expect(told(world)).toContain('unsaved=true');
      expect(await readFile(path, 'utf8')).toBe('let a = 2;\nlet typed = true;\n');
      expect(files.open.get(path)).toBe('let a = 2;\nlet typed = true;\n');
      expect(files.asked.filter((one) => one === `write ${path}`)).toHaveLength(1);
      const changed = editor.updates.find((update) => update.sessionUpdate === 'tool_call_update' && update.locations);
      expect(changed).toMatchObject({
        content: [
          {
            type: 'diff',
            path,
            oldText: 'let a = 1;\nlet typed = true;\n',
            newText: 'let a = 2;\nlet typed = true;\n',
          },
        ],
      });
      await say(editor, sessionId, '/undo');
      expect(await readFile(path, 'utf8')).toBe('let a = 1;\nlet typed = true;\n');
    });
  }

  test('a new file and a patch go through the editor too; secrets of the configuration stay in what it is given', async () => {
    await using world = await startEditorWorld();
    await world.gateway();
    const made = join(world.project, 'new.ts');
    const path = join(world.project, 'keys.ts');
    await writeFile(path, "export const key = 'test-key-0001';\nexport const n = 1;\n");
    const files = new Buffers();
    const edits = [
      { path, oldText: 'n = 1', newText: 'n = 2' },
      { path: made, oldText: '', newText: 'let made = 1;\n' },
    ];
    world.model.reply({ calls: [{ name: 'apply_patch', arguments: { edits } }] }, 'Done.');
    const editor = await world.editor({ files });
    await say(editor, await begin(editor, world.project), 'patch it');
    expect(files.asked.filter((one) => one.startsWith('write'))).toEqual([`write ${path}`, `write ${made}`]);
    expect(await readFile(path, 'utf8')).toBe("export const key = 'test-key-0001';\nexport const n = 2;\n");
    expect(await readFile(made, 'utf8')).toBe('let made = 1;\n');
  });

  test('the editor is asked about nothing outside of its folder, nothing that needs a yes, and nothing before the yes', async () => {
    await using world = await startEditorWorld();
    const outside = join(world.home, '..', 'outside.txt');
    await writeFile(outside, 'outside');
    await writeFile(join(world.project, '.env'), 'A=1\n');
    await symlink(outside, join(world.project, 'link.txt'));
    const paths = [outside, join(world.project, 'link.txt'), join(world.home, 'config.json'), '../../etc/passwd'];
    world.model.reply(
      ...paths.flatMap((path) => [reading(path), writing(path, 'x')]),
      reading(join(world.project, '.env')),
      'Done.',
    );
    const files = new Buffers();
    const editor = await world.editor({ files, choose: ({ options }) => (options.length === 3 ? 'once' : 'no') });
    await say(editor, await begin(editor, world.project), 'try it');
    expect(files.asked).toEqual([]);
    expect(editor.asked).toHaveLength(2);
    expect(await readFile(outside, 'utf8')).toBe('outside');
    world.model.reply(reading(join(world.project, 'a.txt')), writing(join(world.project, 'a.txt'), 'x'), 'No.');
    const other = await world.editor({ files, choose: () => 'no' });
    await writeFile(join(world.project, 'a.txt'), 'a');
    await say(other, await begin(other, world.project), 'read it');
    expect(files.asked).toEqual([]);
    expect(await readFile(join(world.project, 'a.txt'), 'utf8')).toBe('a');
  });

  test('an editor that formats what it saves is told to the model, and that is undone as one change', async () => {
    await using world = await startEditorWorld();
    const path = join(world.project, 'a.ts');
    await writeFile(path, 'let a=1;\n');
    const files: EditorDisk = { write: ({ path: at, content }) => writeFile(at, content.replaceAll('=', ' = ')) };
    world.model.reply(writing(path, 'let a=2;\n'), 'Done.');
    const editor = await world.editor({ files });
    const sessionId = await begin(editor, world.project);
    await say(editor, sessionId, 'two');
    expect(told(world)).toContain('The editor changed the text when it saved it');
    expect(await readFile(path, 'utf8')).toBe('let a = 2;\n');
    const changed = editor.updates.find((update) => update.sessionUpdate === 'tool_call_update' && update.locations);
    expect(changed).toMatchObject({ content: [{ oldText: 'let a=1;\n', newText: 'let a = 2;\n' }] });
    await say(editor, sessionId, '/undo');
    expect(await readFile(path, 'utf8')).toBe('let a=1;\n');
  });

  test('what the person typed after it was read is not overwritten, and what was not saved is said', async () => {
    await using world = await startEditorWorld();
    const path = join(world.project, 'a.ts');
    await writeFile(path, 'one\n');
    const files = new Buffers();
    let reads = 0;
    const typing: EditorDisk = {
      read: (request, signal) => {
        reads += 1;
        files.open.set(path, `one\n${'typed\n'.repeat(reads)}`);
        return files.read(request, signal);
      },
      write: ({ content }) => void files.open.set(path, content),
    };
    world.model.reply(editing(path, 'one', 'two'), 'It changed.');
    const editor = await world.editor({ files: typing });
    const sessionId = await begin(editor, world.project);
    await say(editor, sessionId, 'two');
    expect(told(world)).toContain('changed after it was read');
    expect(files.open.get(path)).toBe('one\ntyped\ntyped\n');
    world.model.reply(writing(join(world.project, 'b.ts'), 'b'), 'Not saved.');
    await say(editor, sessionId, 'write b');
    expect(told(world)).toContain('did not save it');
  });

  test('CRLF that the editor shows as bare line ends stays on the disk', async () => {
    await using world = await startEditorWorld();
    const path = join(world.project, 'dos.txt');
    await writeFile(path, 'one\r\ntwo\r\n');
    const given: string[] = [];
    const files: EditorDisk = {
      read: async () => (await readFile(path, 'utf8')).replaceAll('\r\n', '\n'),
      write: async ({ content }) => {
        given.push(content);
        await writeFile(path, content.replaceAll('\n', '\r\n'));
      },
    };
    world.model.reply(reading(path), editing(path, 'one\ntwo', 'one\nthree'), 'Done.');
    const editor = await world.editor({ files });
    await say(editor, await begin(editor, world.project), 'three');
    expect(given).toEqual(['one\nthree\n']);
    expect(await readFile(path, 'utf8')).toBe('one\r\nthree\r\n');
    expect(told(world)).not.toContain('unsaved=true');
    expect(told(world)).not.toContain('read the file again');
  });

  test('an editor that refuses or answers nonsense gives way to the disk, but not where its changes are not saved', async () => {
    await using world = await startEditorWorld();
    const path = join(world.project, 'a.ts');
    await writeFile(path, 'one\n');
    const buffers = new Map<string, string>();
    const files: EditorDisk = {
      read: ({ path: at }) => buffers.get(at) ?? (7 as unknown as string),
      write: () => {
        throw new Error('this window is read-only');
      },
    };
    world.model.reply(editing(path, 'one', 'two'), 'Done.');
    const editor = await world.editor({ files });
    const sessionId = await begin(editor, world.project);
    await say(editor, sessionId, 'two');
    expect(await readFile(path, 'utf8')).toBe('two\n');
    expect(editor.stderr()).toContain('acp: the editor did not write');
    buffers.set(path, 'two\ntyped\n');
    world.model.reply(editing(path, 'two', 'three'), 'Refused.');
    await say(editor, sessionId, 'three');
    expect(told(world)).toContain('shows changes of this file that are not saved');
    expect(await readFile(path, 'utf8')).toBe('two\n');
  });

  test('a cancel ends a file that the editor never answers about, and an editor that is killed in it does not stop the turn', async () => {
    await using world = await startEditorWorld();
    await world.gateway();
    const path = join(world.project, 'a.ts');
    await writeFile(path, 'one\n');
    const asked: string[] = [];
    const files: EditorDisk = {
      write: async (_request, signal) => {
        asked.push('write');
        await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
      },
    };
    world.model.reply(writing(path, 'two\n'));
    const editor = await world.editor({ files, choose: () => 'always' });
    const sessionId = await begin(editor, world.project);
    const going = say(editor, sessionId, 'two');
    await waitFor(() => asked.length === 1, { what: 'the write in the editor' });
    await editor.connection.agent.notify(methods.agent.session.cancel, { sessionId });
    expect(await going).toEqual({ stopReason: 'cancelled' });
    expect(await readFile(path, 'utf8')).toBe('one\n');
    world.model.reply(writing(path, 'three\n'), 'Three.');
    say(editor, sessionId, 'three').catch(() => {});
    await waitFor(() => asked.length === 2, { what: 'the second write in the editor' });
    await editor.kill('SIGKILL');
    await waitFor(async () => (await readFile(path, 'utf8')) === 'three\n', { what: 'the write on the disk' });
    await waitFor(() => world.model.pending === 0 && world.model.inFlight === 0, { what: 'the end of the turn' });
  });

  test('folders that a new file needs are made on the disk', async () => {
    await using world = await startEditorWorld();
    await mkdir(join(world.project, 'src'));
    const path = join(world.project, 'src', 'deep', 'a.ts');
    world.model.reply(writing(path, 'a\n'), 'Done.');
    const files = new Buffers();
    const editor = await world.editor({ files });
    await say(editor, await begin(editor, world.project), 'make it');
    expect(files.asked).toEqual([]);
    expect(await readFile(path, 'utf8')).toBe('a\n');
  });
});
