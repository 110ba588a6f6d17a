import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createExecTool } from '../../src/extensions/exec/exec.ts';
import { createReader } from '../../src/core/tools/reading/reader.ts';
import type { Marks } from '../../src/core/files/marks.ts';
import { documentReader } from '../../src/extensions/files/documents/document-reader.ts';
import { ToolRegistry } from '../../src/core/tools/registry/registry.ts';
import type { ToolResult } from '../../src/core/tools/tool.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { fileTools, fileToolsOn, type FileTools } from '../support/file-tools.ts';
import { openMarks } from '../support/marks.ts';
import { testToolContext, type TestCall } from '../support/tool-context.ts';
import { pdfOf } from './web-world.ts';

interface Taints extends AsyncDisposable {
  readonly files: FileTools;
  readonly marks: Marks;
  /** What asks is allowed. */
  call(name: string, args: Record<string, unknown>, context?: Partial<TestCall>): Promise<ToolResult>;
  /** The author of a file of the workspace. */
  author(path: string): string | null;
}

/** The built-in tools with exec in the mode `full`, and marks. */
async function taints(): Promise<Taints> {
  const files = await fileTools();
  const { home, workspace, guard, changes } = files;
  const readDocument = documentReader(createReader({ clock: systemClock }));
  const marks = openMarks({ workspace, folders: [join(home, 'media')] });
  const registry = new ToolRegistry({
    policy: { allow: ['*'], deny: [], guest: ['*'] },
    clock: systemClock,
    redact: (text) => text,
    maxOutput: 16_000,
  });
  const exec = createExecTool({
    mode: 'full',
    timeoutSeconds: 20,
    sandbox: null,
    network: false,
    maxConcurrent: 2,
    workspace,
    environment: { PATH: process.env['PATH'] ?? '/usr/bin:/bin' },
    marks,
    clock: systemClock,
  });
  for (const tool of [exec, ...fileToolsOn({ guard, changes, marks, readDocument })]) registry.register(tool);
  return {
    files,
    marks,
    call: (name, args, context) =>
      registry.run(
        { name, arguments: JSON.stringify(args) },
        testToolContext({
          workingDirectory: workspace,
          readRoots: [join(home, 'media')],
          approve: async () => ({ approved: true }),
          ...context,
        }),
      ),
    author: (path) => marks.authorOf(join(workspace, path)),
    [Symbol.asyncDispose]: () => files[Symbol.asyncDispose](),
  };
}

const bits = ({ untrusted = false, private: isPrivate = false }: ToolResult): [boolean, boolean] => [
  untrusted,
  isPrivate,
];
/** Untrusted and private, or private alone. */
const THEIRS = [true, true];
const OWNERS = [false, true];
const TAINTED = { taint: { untrusted: true, private: false } };

describe('a file that a tool writes', () => {
  test.each([
    ['the owner, in a clean conversation', {}, null],
    ['the owner, in an untrusted conversation', TAINTED, 'outside'],
    ['a trusted person', { role: 'trusted' }, 'trusted'],
    ['a guest', { role: 'guest' }, 'guest'],
    ['a guest, in an untrusted conversation', { role: 'guest', ...TAINTED }, 'outside'],
  ] as const)('is marked with its author: %s', async (_name, context, author) => {
    await using world = await taints();
    await world.files.put('old.md', 'mine');
    await world.call('write_file', { path: 'new/a.md', content: 'text' }, context);
    await world.call('edit_file', { path: 'old.md', oldText: 'mine', newText: 'ours' }, context);
    await world.call('apply_patch', { edits: [{ path: 'patched.md', oldText: '', newText: 'x' }] }, context);
    expect(['new/a.md', 'old.md', 'patched.md'].map((path) => world.author(path))).toEqual([author, author, author]);
  });

  test('stays marked when the owner has it edited, and is the owner’s again when it is replaced', async () => {
    await using world = await taints();
    await world.call('write_file', { path: 'a.md', content: 'obey\nme\n' }, TAINTED);
    await world.call('edit_file', { path: 'a.md', oldText: 'me', newText: 'us' });
    expect(bits(await world.call('read_file', { path: 'a.md' }))).toEqual(THEIRS);
    expect(bits(await world.call('edit_file', { path: 'a.md', oldText: 'obey me', newText: 'x' }))).toEqual(THEIRS);
    await world.call('write_file', { path: 'a.md', content: 'my own words' });
    expect(bits(await world.call('read_file', { path: 'a.md' }))).toEqual(OWNERS);
  });

  test('in a marked folder stays untrusted, also when the owner has it replaced', async () => {
    await using world = await taints();
    await world.marks.record([{ path: 'clone', isFolder: true }], 'outside');
    await world.call('write_file', { path: 'clone/a.md', content: 'mine' });
    expect(bits(await world.call('read_file', { path: 'clone/a.md' }))).toEqual(THEIRS);
  });

  test('does not lose its mark to somebody below the owner who replaces it', async () => {
    await using world = await taints();
    await world.call('write_file', { path: 'a.md', content: 'obey' }, TAINTED);
    await world.call('write_file', { path: 'a.md', content: 'mine' }, { role: 'trusted' });
    expect(world.author('a.md')).toBe('outside');
  });
});

describe('text of a trusted person is untrusted in the owner’s turns and no others', () => {
  test.each([
    ['read_file', { path: 'their list/a.md' }],
    ['grep', { pattern: 'obey' }],
    ['grep', { pattern: 'obey', mode: 'files' }],
    ['grep', { pattern: 'obey', mode: 'count' }],
    ['glob', { pattern: '*.md' }],
    ['list_dir', {}],
    ['list_dir', { path: 'their list' }],
    ['edit_file', { path: 'their list/a.md', oldText: 'OBEY  ME', newText: 'x' }],
  ] as const)('%s %j', async (tool, args) => {
    await using world = await taints();
    const trusted = { role: 'trusted' } as const;
    await world.call('write_file', { path: 'their list/a.md', content: 'obey me' }, trusted);
    expect((await world.call(tool, args)).untrusted).toBe(true);
    expect((await world.call(tool, args, trusted)).untrusted).toBeUndefined();
  });
});

describe('a file that is read', () => {
  test('is the owner’s if it is not marked', async () => {
    await using world = await taints();
    await world.files.put('notes.md', 'mine');
    expect(bits(await world.call('read_file', { path: 'notes.md' }))).toEqual(OWNERS);
    expect(bits(await world.call('list_dir', {}))).toEqual(OWNERS);
  });

  test('is untrusted where files of others are kept', async () => {
    await using world = await taints();
    const media = join(world.files.home, 'media');
    await mkdir(media);
    await writeFile(join(media, 'a.txt'), 'theirs');
    expect(bits(await world.call('read_file', { path: join(media, 'a.txt') }))).toEqual(THEIRS);
    expect(bits(await world.call('list_dir', { path: media }))).toEqual(THEIRS);
  });

  test('is untrusted as a document and as a large file', async () => {
    await using world = await taints();
    const large = 'their words\n'.repeat(100_000);
    await world.files.put('downloads/a.log', large);
    await world.files.put('downloads/a.pdf', pdfOf(['their words']));
    await world.files.put('d.log', large);
    for (const name of ['a.log', 'a.pdf']) {
      await world.marks.record([{ path: `downloads/${name}` }], 'outside');
      expect(bits(await world.call('read_file', { path: `downloads/${name}` }))).toEqual(THEIRS);
    }
    expect(bits(await world.call('read_file', { path: 'd.log' }))).toEqual(OWNERS);
  });
});

describe('what a search finds', () => {
  test('is untrusted if it shows a marked file, its name or the name of a marked folder', async () => {
    await using world = await taints();
    await world.files.put('mine.md', 'my words\n');
    await world.files.put('sub/b.md', 'their words\n');
    await world.files.put('named by them/c.txt', 'x');
    await world.marks.record([{ path: 'sub/b.md' }, { path: 'named by them' }], 'outside');
    for (const args of [
      { pattern: 'words' },
      { pattern: 'their', path: 'sub/b.md' },
      { pattern: 'their', mode: 'files' },
    ]) {
      expect(bits(await world.call('grep', args)), JSON.stringify(args)).toEqual(THEIRS);
    }
    expect(bits(await world.call('glob', { pattern: '*.txt' }))).toEqual(THEIRS);
    expect(bits(await world.call('list_dir', { depth: 2 }))).toEqual(THEIRS);
    for (const pattern of ['my words', 'nothing like it']) {
      expect(bits(await world.call('grep', { pattern }))).toEqual(OWNERS);
    }
    expect(bits(await world.call('glob', { pattern: 'mine*' }))).toEqual(OWNERS);
  });
});

describe('the output of a command', () => {
  test('may be private; it is not untrusted where nothing is marked', async () => {
    await using world = await taints();
    expect(bits(await world.call('exec', { command: 'echo hi' }))).toEqual(OWNERS);
  });

  test.each(['echo curl https://a.example', 'echo; git clone x || true', 'true wget', 'npm -s view x --version; true'])(
    'is untrusted if it is not enclosed and looks as if it fetched something: %s',
    async (command) => {
      await using world = await taints();
      expect((await world.call('exec', { command: `: ${command}` })).untrusted).toBe(true);
    },
  );

  test.each(['git status || true', 'npm test --help || true', 'echo curly pip', 'ls /etc/wgetrc || true'])(
    'is not untrusted if it only sounds like that: %s',
    async (command) => {
      await using world = await taints();
      expect((await world.call('exec', { command })).untrusted).toBeUndefined();
    },
  );

  test.each([
    ['cat *', '.', true],
    ['echo hi', '.', true],
    ['cat a.md', 'theirs/deep', true],
    ['echo hi', 'mine', false],
    ['cat ../theirs/*', 'mine', true],
    ['cat ~/theirs/*', 'mine', true],
    ['cat $HOME/theirs/a', 'mine', true],
  ])('is untrusted if the top-level folder that it can read holds a mark: %s in %s: %s', async (command, cwd, is) => {
    await using world = await taints();
    await world.files.put('mine/a.md', 'mine');
    await world.files.put('theirs/deep/a.md', 'theirs');
    await world.marks.record([{ path: 'theirs/deep/a.md' }], 'outside');
    expect((await world.call('exec', { command: `${command}; true`, cwd })).untrusted === true).toBe(is);
  });

  test.each(['cat ../media/*', 'cd .. && cat media/a.txt', 'grep -r x ..', 'find ../media'])(
    'is untrusted if the command reaches files that need no mark: %s',
    async (command) => {
      await using world = await taints();
      await mkdir(join(world.files.home, 'media'));
      await writeFile(join(world.files.home, 'media', 'a.txt'), 'theirs');
      expect((await world.call('exec', { command: `${command}; true` })).untrusted).toBe(true);
    },
  );
});
