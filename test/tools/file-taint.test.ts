import { copyFile, mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createExecTool } from '../../src/extensions/exec/exec.ts';
import { createReader } from '../../src/core/tools/reading/reader.ts';
import { UntrustedFiles } from '../../src/core/storage/untrusted-files.ts';
import { documentReader } from '../../src/extensions/files/documents/document-reader.ts';
import { ToolRegistry } from '../../src/core/tools/registry/registry.ts';
import type { ToolResult } from '../../src/core/tools/tool.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { fileTools, fileToolsOn, type FileTools } from '../support/file-tools.ts';
import { testToolContext, type TestCall } from '../support/tool-context.ts';
import { pdfOf } from './web-world.ts';

const CLEAN = { untrusted: false, private: false };
const STRANGERS = { untrusted: true, private: false };

interface Taints extends AsyncDisposable {
  readonly files: FileTools;
  readonly origins: UntrustedFiles;
  /** What asks is allowed. */
  call(name: string, args: Record<string, unknown>, taint?: TestCall['taint']): Promise<ToolResult>;
}

/** The built-in tools with exec in the mode `full`, and what is known of strangers. */
async function taints(): Promise<Taints> {
  const files = await fileTools();
  const { home, workspace, guard, changes } = files;
  const readDocument = documentReader(createReader({ clock: systemClock }));
  const origins = new UntrustedFiles({
    path: join(home, 'versions', 'untrusted.jsonl'),
    folders: [join(home, 'media'), join(workspace, 'downloads')],
    clock: systemClock,
  });
  const registry = new ToolRegistry({
    policy: { allow: ['*'], deny: [], guest: [] },
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
    origins,
    clock: systemClock,
  });
  for (const tool of [exec, ...fileToolsOn({ guard, changes, origins, readDocument })]) registry.register(tool);
  return {
    files,
    origins,
    call: (name, args, taint = CLEAN) =>
      registry.run(
        { name, arguments: JSON.stringify(args) },
        testToolContext({
          workingDirectory: workspace,
          taint,
          readRoots: [join(home, 'media')],
          approve: async () => ({ approved: true }),
        }),
      ),
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

describe('a file that is read', () => {
  test('is the owner’s unless something else is known', async () => {
    await using world = await taints();
    await world.files.put('notes.md', 'mine');
    expect(bits(await world.call('read_file', { path: 'notes.md' }))).toEqual(OWNERS);
    expect(bits(await world.call('list_dir', {}))).toEqual(OWNERS);
  });

  test('is strangers’ where strangers’ files are kept', async () => {
    await using world = await taints();
    await world.files.put('downloads/page.md', 'theirs');
    await mkdir(join(world.files.home, 'media'));
    await writeFile(join(world.files.home, 'media', 'a.txt'), 'theirs');
    expect(bits(await world.call('read_file', { path: 'downloads/page.md' }))).toEqual(THEIRS);
    expect(bits(await world.call('read_file', { path: join(world.files.home, 'media', 'a.txt') }))).toEqual(THEIRS);
    expect(bits(await world.call('list_dir', { path: 'downloads' }))).toEqual(THEIRS);
  });

  test('is the assistant’s own when it wrote it with nothing of strangers around', async () => {
    await using world = await taints();
    await world.call('write_file', { path: 'a.md', content: 'summary' });
    expect(bits(await world.call('read_file', { path: 'a.md' }))).toEqual(OWNERS);
  });

  test('stays the owner’s when it is edited with nothing of strangers around', async () => {
    await using world = await taints();
    await world.files.put('notes.md', 'mine');
    await world.call('edit_file', { path: 'notes.md', oldText: 'mine', newText: 'ours' });
    expect(bits(await world.call('read_file', { path: 'notes.md' }))).toEqual(OWNERS);
  });

  test('is strangers’ when it was written with their text around, also moved, copied and edited later', async () => {
    await using world = await taints();
    const { workspace } = world.files;
    await world.call('write_file', { path: 'a.md', content: 'obey\nme\n' }, STRANGERS);
    await rename(join(workspace, 'a.md'), join(workspace, 'b.md'));
    await copyFile(join(workspace, 'b.md'), join(workspace, 'c.md'));
    for (const path of ['b.md', 'c.md']) expect(bits(await world.call('read_file', { path }))).toEqual(THEIRS);
    await world.call('edit_file', { path: 'c.md', oldText: 'me', newText: 'us' });
    expect(bits(await world.call('read_file', { path: 'c.md' }))).toEqual(THEIRS);
    expect(bits(await world.call('edit_file', { path: 'c.md', oldText: 'obey me', newText: 'x' }))).toEqual(THEIRS);
  });

  test('is the assistant’s own again when it is replaced with nothing of strangers around', async () => {
    await using world = await taints();
    await world.call('write_file', { path: 'a.md', content: 'obey me' }, STRANGERS);
    expect(bits(await world.call('list_dir', {}))).toEqual(THEIRS);
    await world.call('write_file', { path: 'a.md', content: 'my own words' });
    expect(bits(await world.call('read_file', { path: 'a.md' }))).toEqual(OWNERS);
  });
});

describe('what a search finds', () => {
  test('is strangers’ where it shows words of a file of theirs, wherever that was moved to', async () => {
    await using world = await taints();
    const { workspace } = world.files;
    await world.files.put('mine.md', 'my words\n');
    expect(bits(await world.call('grep', { pattern: 'words' }))).toEqual(OWNERS);
    await world.call('write_file', { path: 'a.md', content: 'their words\n' }, STRANGERS);
    await mkdir(join(workspace, 'sub'));
    await rename(join(workspace, 'a.md'), join(workspace, 'sub', 'b.md'));
    expect(bits(await world.call('grep', { pattern: 'words' }))).toEqual(THEIRS);
    expect(bits(await world.call('grep', { pattern: 'their', path: 'sub/b.md' }))).toEqual(THEIRS);
    expect(bits(await world.call('grep', { pattern: 'my words' }))).toEqual(OWNERS);
  });

  test('is strangers’ where it names what lies in a folder of theirs, or bears a name that they gave', async () => {
    await using world = await taints();
    await world.files.put('downloads/deep/page.md', 'theirs');
    await world.files.put('notes.md', 'mine');
    for (const call of [
      world.call('glob', { pattern: '*.md' }),
      world.call('grep', { pattern: 'theirs', mode: 'files' }),
      world.call('grep', { pattern: 'theirs', mode: 'count' }),
      world.call('grep', { pattern: 'theirs' }),
      world.call('list_dir', { depth: 2 }),
    ]) {
      expect(bits(await call)).toEqual(THEIRS);
    }
    expect(bits(await world.call('glob', { pattern: 'notes*' }))).toEqual(OWNERS);
    await world.call('write_file', { path: 'named-by-them.txt', content: 'x' }, STRANGERS);
    expect(bits(await world.call('glob', { pattern: '*.txt' }))).toEqual(THEIRS);
  });

  test('is strangers’ where it shows what a command of theirs left behind', async () => {
    await using world = await taints();
    await world.call('exec', { command: 'echo "obey me" > a.md' }, STRANGERS);
    expect(bits(await world.call('grep', { pattern: 'obey' }))).toEqual(THEIRS);
  });

  test('is the owner’s where nothing is found', async () => {
    await using world = await taints();
    await world.files.put('downloads/page.md', 'theirs');
    expect(bits(await world.call('grep', { pattern: 'nothing like it' }))).toEqual(OWNERS);
  });
});

describe('a document or a large file of strangers', () => {
  test('is theirs in every form in which it is read', async () => {
    await using world = await taints();
    const large = 'their words\n'.repeat(100_000);
    await world.files.put('downloads/a.log', large);
    await world.files.put('downloads/a.pdf', pdfOf(['their words']));
    for (const path of ['downloads/a.log', 'downloads/a.pdf']) {
      expect(bits(await world.call('read_file', { path }))).toEqual(THEIRS);
    }
    await world.call('write_file', { path: 'b.log', content: large }, STRANGERS);
    await rename(join(world.files.workspace, 'b.log'), join(world.files.workspace, 'c.log'));
    expect(bits(await world.call('read_file', { path: 'c.log' }))).toEqual(THEIRS);
    await world.files.put('d.log', 'my words\n'.repeat(150_000));
    expect(bits(await world.call('read_file', { path: 'd.log' }))).toEqual(OWNERS);
  });
});

describe('a command', () => {
  test('prints what may be private; what it prints of the workspace alone is not strangers’', async () => {
    await using world = await taints();
    expect(bits(await world.call('exec', { command: 'echo hi' }))).toEqual(OWNERS);
  });

  test.each(['echo curl https://a.example', 'echo; git clone x || true', 'true wget', 'npm -s view x --version; true'])(
    'that is not enclosed and looks as if it fetched something prints strangers’ words: %s',
    async (command) => {
      await using world = await taints();
      expect((await world.call('exec', { command: `: ${command}` })).untrusted).toBe(true);
    },
  );

  test.each(['git status || true', 'npm test --help || true', 'echo curly pip', 'ls /etc/wgetrc || true'])(
    'that only sounds like it does not: %s',
    async (command) => {
      await using world = await taints();
      expect((await world.call('exec', { command })).untrusted).toBeUndefined();
    },
  );

  test('that names a file of strangers prints their words', async () => {
    await using world = await taints();
    await world.call('write_file', { path: 'a.md', content: 'obey me' }, STRANGERS);
    expect(bits(await world.call('exec', { command: 'cat a.md' }))).toEqual(THEIRS);
    expect(bits(await world.call('exec', { command: 'ls downloads/ || true' }))).toEqual(THEIRS);
  });

  test('leaves files of strangers behind when it ran with their text around or fetched something', async () => {
    await using world = await taints();
    await world.call('exec', { command: 'echo "obey me" > a.md' }, STRANGERS);
    await world.call('exec', { command: 'echo "from https://a.example" > b.md' });
    const read = async (path: string): Promise<unknown> => bits(await world.call('read_file', { path }));
    expect([await read('a.md'), await read('b.md')]).toEqual([THEIRS, THEIRS]);
  });

  test('leaves files of the owner behind otherwise', async () => {
    await using world = await taints();
    await world.call('exec', { command: 'echo mine > c.md' });
    expect(bits(await world.call('read_file', { path: 'c.md' }))).toEqual(OWNERS);
  });
});
