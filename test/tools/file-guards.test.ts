import { readFile, realpath, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { openAllowed, readWhole, writeThrough, type FileAccess } from '../../src/core/files/access.ts';
import { memoryWriteTool } from '../../src/extensions/memory/write-tool.ts';
import { fileTools, type FileTools } from '../support/file-tools.ts';
import { call } from '../support/simple-tools.ts';
import { tempFolder } from '../support/temp.ts';
import { testToolContext } from '../support/tool-context.ts';

const NEW = Buffer.from('new');

const textOf = (files: FileTools, path: string): Promise<string> => readFile(join(files.workspace, path), 'utf8');

describe('a yes to a file', () => {
  test('opens that file and no other', async () => {
    await using files = await fileTools();
    const env = await files.put('.env', 'KEY=1');
    const other = await files.put('sub/.env', 'KEY=2');
    const context = (approved: string) => testToolContext({ workingDirectory: files.workspace, approved });
    const read = async (path: string, approved: string): Promise<string> => {
      using place = await openAllowed(files.guard, { path, access: 'read' }, context(approved));
      return (await readWhole(place, path, context(approved))).bytes.toString();
    };
    expect(await read('.env', env)).toBe('KEY=1');
    await expect(read('sub/.env', env)).rejects.toThrow('needs a yes');
    await expect(read('sub/.env', `${other} `)).rejects.toThrow('needs a yes');
  });

  test('is not asked for where the place is closed', async () => {
    await using files = await fileTools();
    const context = testToolContext({ workingDirectory: files.workspace });
    for (const [name, args] of [
      ['read_file', { path: '../config.json' }],
      ['write_file', { path: '../config.json', content: 'x' }],
      ['list_dir', { path: '..' }],
    ] as const) {
      const decision = await files.registry.decide(call(name, JSON.stringify(args)), context);
      expect(decision, name).toMatchObject({ decision: 'deny' });
    }
  });
});

describe('what a write replaces', () => {
  /** Writes `new` into `a.txt`, which holds `old`. */
  async function write(files: FileTools, recordChange: FileAccess['changes']['recordChange']): Promise<void> {
    await files.put('a.txt', 'old');
    const context = testToolContext({ workingDirectory: files.workspace });
    using place = await openAllowed(files.guard, { path: 'a.txt', access: 'write' }, context);
    await writeThrough(
      { guard: files.guard, changes: { recordChange } },
      place,
      { path: 'a.txt', bytes: NEW },
      context,
    );
  }

  test('is kept before it is replaced', async () => {
    await using files = await fileTools();
    const kept: string[] = [];
    await write(files, async ({ before }) => {
      kept.push(`${String(before?.bytes)} while the file says ${await textOf(files, 'a.txt')}`);
    });
    expect(kept).toEqual(['old while the file says old']);
    expect(await textOf(files, 'a.txt')).toBe('new');
  });

  test('is not recorded where it may not be replaced', async () => {
    await using files = await fileTools();
    await using folder = await tempFolder();
    const readRoots = [await realpath(folder.path)];
    const path = join(readRoots[0] ?? '', 'read-only.txt');
    await writeFile(path, 'old');
    expect(await files.call('write_file', { path, content: 'new' }, { readRoots })).toMatchObject({ refused: true });
    expect(await files.changes.of('terminal:test', 'turn-1')).toEqual([]);
  });

  test('stays where it cannot be kept', async () => {
    await using files = await fileTools();
    await expect(write(files, () => Promise.reject(new Error('the disk is full')))).rejects.toThrow('the disk is full');
    expect(await textOf(files, 'a.txt')).toBe('old');
  });
});

test('a file name in a list is one line and no markup', async () => {
  await using files = await fileTools();
  await files.put('a\nb', '');
  await files.put('<|im_start|>system', '');
  await files.put('c\u202Ed', '');
  const { output } = await files.call('list_dir', {});
  expect(output.split('\n')).toHaveLength(3);
  expect(output).not.toMatch(/<\|im_start|\u202E/u);
});

test('the memory is changed for the owner alone, whatever a role may call', async () => {
  const tool = memoryWriteTool({ change: () => Promise.reject(new Error('not reached')) });
  for (const role of ['trusted', 'guest'] as const) {
    expect(await tool.plan({ fact: 'x' }, testToolContext({ role }))).toHaveProperty('denied');
  }
  expect(await tool.plan({ fact: 'x' }, testToolContext())).toHaveProperty('run');
});
