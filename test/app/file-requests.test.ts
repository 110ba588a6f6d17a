import { readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { failureOf } from '../config/temporary-home.ts';
import { MODEL_KEY } from '../support/canaries.ts';
import { startWorld, type World } from '../support/world.ts';

const NAMES = ['SOUL.md', 'AGENTS.md', 'USER.md', 'TOOLS.md', 'HEARTBEAT.md', 'MEMORY.md'] as const;
type Name = (typeof NAMES)[number];

let world: World;
beforeAll(async () => {
  world = await startWorld();
});
afterAll(() => world[Symbol.asyncDispose]());

const pathOf = (name: Name | 'HISTORY.md'): string =>
  join(world.workspace, ...(name === 'MEMORY.md' || name === 'HISTORY.md' ? ['memory'] : []), name);
const read = (name: Name) => world.assistant.call('filesRead', { name });
const write = async (name: Name, text: string, hash?: string) =>
  await world.assistant.call('filesWrite', { name, text, hash: hash ?? (await read(name)).hash });

describe.each(NAMES)('%s', (name) => {
  test('is read and written with the hash of what was read, and its earlier texts can be restored', async () => {
    const first = await write(name, 'One.\n');
    const second = await write(name, 'Two, without a line break at its end.', first.hash);
    expect(await readFile(pathOf(name), 'utf8')).toBe('Two, without a line break at its end.\n');
    expect(await read(name)).toMatchObject({ hash: second.hash, writable: true, locked: null });
    const [version] = await world.assistant.call('filesLog', { name });
    expect(version).toMatchObject({ kind: 'kept', reason: 'an edit of the owner', size: 5 });
    const id = version?.id ?? '';
    expect(await world.assistant.call('filesVersion', { name, id })).toMatchObject({ text: 'One.\n' });
    const restored = await world.assistant.call('filesRestore', { name, id });
    expect(await read(name)).toMatchObject({ text: 'One.\n', hash: restored.hash });
    expect((await world.assistant.call('filesLog', { name }))[0]?.reason).toBe(`restore of ${id}`);
  });

  test('is not written over a change that somebody made meanwhile', async () => {
    const { hash } = await read(name);
    await writeFile(pathOf(name), 'Saved in an editor.\n');
    const failure = await failureOf(write(name, 'From the page.\n', hash));
    expect(failure).toMatchObject({ code: 'file-changed', message: expect.stringContaining(`${name} was changed`) });
    expect(await readFile(pathOf(name), 'utf8')).toBe('Saved in an editor.\n');
  });

  test('may not become longer than a prompt shows, and a longer one may be shortened', async () => {
    await writeFile(pathOf(name), `${'a'.repeat(30_000)}\n`);
    expect((await failureOf(write(name, 'b'.repeat(30_001 + 1)))).code).toBe('file-too-long');
    await write(name, 'b'.repeat(25_000));
    await write(name, 'short');
    const failure = await failureOf(write(name, 'c'.repeat(20_001)));
    expect(failure.message).toContain('may have 20,000 characters');
    expect(await readFile(pathOf(name), 'utf8')).toBe('short\n');
  });

  test('is not edited here while it holds a secret, which is not shown', async () => {
    const text = `The key is ${MODEL_KEY}.\n`;
    await writeFile(pathOf(name), text);
    const shown = await read(name);
    expect(shown.text).not.toContain(MODEL_KEY);
    expect(shown).toMatchObject({ writable: false, locked: expect.stringContaining('in an editor') });
    expect((await failureOf(write(name, 'x', shown.hash))).code).toBe('file-locked');
    expect(await readFile(pathOf(name), 'utf8')).toBe(text);
    await writeFile(pathOf(name), '');
  });
});

test('a file that is a link to a file elsewhere stays one', async () => {
  const target = join(world.home, 'my-tools.md');
  await writeFile(target, 'Before.\n');
  await rm(pathOf('TOOLS.md'), { force: true });
  await symlink(target, pathOf('TOOLS.md'));
  await write('TOOLS.md', 'After.\n');
  expect(await readFile(target, 'utf8')).toBe('After.\n');
});

test('what was written is in the next prompt of the owner', async () => {
  await write('AGENTS.md', 'Always answer in verse.\n');
  const { layers } = await world.assistant.call('prompt', { session: 'terminal:main' });
  expect(layers.map(({ text }) => text).join('\n')).toContain('Always answer in verse.');
});

test('HISTORY.md is read from its end and never written', async () => {
  const paragraph = (n: number): string => `[2026-11-21 05:10] (telegram:42) Paragraph ${n} ${'x'.repeat(900)}`;
  await writeFile(pathOf('HISTORY.md'), `${Array.from({ length: 400 }, (_, n) => paragraph(n)).join('\n\n')}\n`);
  const { text, writable, locked } = await world.assistant.call('filesRead', { name: 'HISTORY.md' });
  expect(text.startsWith('[2026-11-21 05:10] (telegram:42) Paragraph ')).toBe(true);
  expect(text.endsWith(`${paragraph(399)}\n`)).toBe(true);
  expect(text.length).toBeLessThanOrEqual(200_000);
  expect([writable, locked]).toEqual([false, expect.stringContaining('adds to HISTORY.md by itself')]);
  const call = { name: 'HISTORY.md', text: 'x', hash: 'x' } as const;
  expect((await failureOf(world.assistant.call('filesWrite', call))).code).toBe('file-locked');
  expect(await world.assistant.call('filesLog', { name: 'HISTORY.md' })).toEqual([]);
});

test('the list says what each file is for, how large it is and whether it can be edited', async () => {
  await write('SOUL.md', 'Kind.\n');
  const all = await world.assistant.call('filesList', {});
  expect(all.map(({ name }) => name)).toEqual([
    'SOUL.md',
    'AGENTS.md',
    'USER.md',
    'TOOLS.md',
    'HEARTBEAT.md',
    'MEMORY.md',
    'HISTORY.md',
  ]);
  expect(all[0]).toMatchObject({ size: 6, writable: true, maxCharacters: 20_000, changedAt: expect.any(Number) });
  expect(all.at(-1)).toMatchObject({ writable: false });
  expect(all.every(({ description }) => /^[A-Z].*\.$/u.test(description))).toBe(true);
});

test('a version that is not there gets one sentence that names the file', async () => {
  expect((await failureOf(world.assistant.call('filesRestore', { name: 'USER.md', id: '../../x' }))).message).toBe(
    'There is no version "../../x" of USER.md.',
  );
});
