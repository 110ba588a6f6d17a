import { execFile } from 'node:child_process';
import { chmod, mkdir, readdir, rename, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { replaceDurable } from '../../src/core/storage/files.ts';
import { failureOf } from '../config/temporary-home.ts';
import { VirtualClock } from '../support/virtual-clock.ts';
import { diskError, memoryWorld } from './memory-world.ts';

const FACTS = ['# Memory', '', '- is called Ming', '- likes tea', '- lives in Berlin', '- has a cat', ''].join('\n');

describe('reading', () => {
  test('a missing file is an empty memory', async () => {
    await using world = await memoryWorld();
    expect(await world.store.read()).toMatchObject({ text: '' });
    expect(await world.store.log()).toEqual([]);
  });

  test('byte-order mark and line ends of other systems are not part of the text', async () => {
    await using world = await memoryWorld();
    await world.edit('\ufeff- a\r\n- b\r\n');
    expect((await world.store.read()).text).toBe('- a\n- b\n');
  });

  test.each([
    ['a folder', async (path: string) => void (await mkdir(path, { recursive: true })), 'is a folder instead'],
    ['a pipe', async (path: string) => void (await promisify(execFile)('mkfifo', [path])), 'is not an ordinary file'],
    ['bytes that are no text', (path: string) => writeFile(path, Buffer.from([0x2d, 0xff, 0xfe, 0x0a])), 'not UTF-8'],
    ['a link that leads nowhere', (path: string) => symlink('none', path), 'is a broken link'],
    ['a link in circles', (path: string) => symlink('MEMORY.md', path), 'is a broken link'],
    ['something huge', (path: string) => writeFile(path, 'x'.repeat(1_100_000)), 'more than 1 MiB'],
  ])('%s is one clear sentence for every use, and is never overwritten', async (_name, damage, sentence) => {
    await using world = await memoryWorld();
    await world.put(FACTS);
    await world.put(`${FACTS}- more\n`);
    const [version] = await world.store.log();
    await rm(world.memory);
    await damage(world.memory);
    const before = await readdir(dirname(world.memory), { withFileTypes: true });
    for (const use of [
      () => world.store.read(),
      () => world.store.show(),
      () => world.store.replace('- new', { ifHash: '', reason: 'test' }),
      () => world.store.change({ fact: 'new' }),
      () => world.store.restore(version?.id ?? ''),
    ]) {
      const error = await failureOf(use());
      expect(error.code).toBe('memory-unreadable');
      expect(error.message).toContain(sentence);
      expect(error.message).toContain(world.memory);
      expect(error.message).not.toContain('\n');
    }
    expect(await readdir(dirname(world.memory), { withFileTypes: true })).toEqual(before);
    // Once it is moved away, an earlier version can be taken.
    await rename(world.memory, `${world.memory}.away`);
    await world.store.restore(version?.id ?? '');
    expect(await world.text()).toBe(FACTS);
  });

  test.skipIf(process.getuid?.() === 0)('a file that may not be read is one clear sentence', async () => {
    await using world = await memoryWorld();
    await world.edit(FACTS);
    await chmod(world.memory, 0o000);
    expect((await failureOf(world.store.change({ fact: 'new' }))).message).toContain('may not be read by this user');
  });
});

describe('replacing', () => {
  test('writes the text, private, and keeps the old one as a version', async () => {
    await using world = await memoryWorld();
    await world.put(FACTS);
    const { hash } = await world.store.read();
    await world.clock.advance(60_000);
    const result = await world.store.replace(`${FACTS}- plays chess`, { ifHash: hash, reason: 'consolidation' });
    expect(result).toEqual({ ok: true, hash: (await world.store.read()).hash });
    expect(await world.text()).toBe(`${FACTS}- plays chess\n`);
    expect((await stat(world.memory)).mode & 0o777).toBe(0o600);
    const [version, ...others] = await world.store.log();
    expect(others).toEqual([]);
    expect(version).toEqual({
      id: '20261121T051100000Z',
      at: Date.UTC(2026, 10, 21, 5, 11),
      reason: 'consolidation',
      size: FACTS.length,
      kind: 'kept',
    });
    expect((await world.store.show(version?.id)).text).toBe(FACTS);
    const [file = ''] = await world.versionFiles();
    expect((await stat(join(world.versions, file))).mode & 0o777).toBe(0o600);
    expect(await readdir(dirname(world.memory))).toEqual(['MEMORY.md']);
  });

  test('is refused when a person edited the file after it was read', async () => {
    await using world = await memoryWorld();
    await world.edit(FACTS);
    const { hash } = await world.store.read();
    await world.edit(`${FACTS}- by hand\n`);
    expect(await world.store.replace(FACTS, { ifHash: hash, reason: 'test' })).toEqual({ ok: false, why: 'changed' });
    expect(await world.text()).toBe(`${FACTS}- by hand\n`);
    expect(await world.store.log()).toEqual([]);
  });

  test('is refused when a person edits the file while the old version is being kept', async () => {
    let onKeep: (() => Promise<void>) | undefined;
    await using world = await memoryWorld({
      replace: async (path, data) => {
        await replaceDurable(path, data);
        if (!path.endsWith('MEMORY.md')) await onKeep?.();
      },
    });
    await world.edit(FACTS);
    const { hash } = await world.store.read();
    onKeep = () => world.edit(`${FACTS}- by hand\n`);
    const result = await world.store.replace(`${FACTS}- new\n`, { ifHash: hash, reason: 'test' });
    expect(result).toEqual({ ok: false, why: 'changed' });
    // A single fact is added to what the person wrote.
    onKeep = async () => {
      onKeep = undefined;
      await world.edit(`${FACTS}- by hand\n- again\n`);
    };
    await world.store.change({ fact: 'new' });
    expect(await world.text()).toBe(`${FACTS}- by hand\n- again\n- new\n`);
  });

  test('of two at once from the same text one is told that it changed', async () => {
    await using world = await memoryWorld();
    await world.edit(FACTS);
    const { hash } = await world.store.read();
    const results = await Promise.all(
      ['- one\n', '- two\n'].map((line) => world.store.replace(FACTS + line, { ifHash: hash, reason: line })),
    );
    expect(results.map(({ ok }) => ok)).toEqual([true, false]);
    expect(results[1]).toEqual({ ok: false, why: 'changed' });
    expect(await world.text()).toBe(`${FACTS}- one\n`);
  });

  test('facts that are written at once are all there, once', async () => {
    await using world = await memoryWorld();
    const facts = Array.from({ length: 12 }, (_, i) => `fact number ${i}`);
    await Promise.all([...facts, ...facts].map((fact) => world.store.change({ fact })));
    expect((await world.text()).match(/fact number \d+/gu)?.toSorted()).toEqual(facts.toSorted());
  });

  test('by the same text changes nothing and keeps no version', async () => {
    await using world = await memoryWorld();
    await world.put(FACTS);
    await world.put(FACTS);
    expect(await world.store.log()).toEqual([]);
  });

  test('25 times keeps the last 20 versions, newest first', async () => {
    await using world = await memoryWorld();
    for (let n = 0; n <= 25; n += 1) await world.put(`- fact ${n}\n`, `reason ${n}`);
    const log = await world.store.log();
    expect(log.map(({ reason }) => reason)).toEqual(Array.from({ length: 20 }, (_, i) => `reason ${25 - i}`));
    expect((await world.store.show(log.at(-1)?.id)).text).toBe('- fact 5\n');
    expect(await world.versionFiles()).toHaveLength(20);
  });

  test('keeps the order of versions when the clock goes back', async () => {
    await using world = await memoryWorld();
    await world.put('- 0\n');
    await world.put('- 1\n', 'first');
    world.clock = new VirtualClock(0);
    const store = world.open();
    const { hash } = await store.read();
    await store.replace('- 2\n', { ifHash: hash, reason: 'second' });
    expect((await store.log()).map(({ reason, at }) => [reason, at])).toEqual([
      ['second', 0],
      ['first', Date.UTC(2026, 10, 21, 5, 10)],
    ]);
  });

  test('a link to the file stays a link', async () => {
    await using world = await memoryWorld();
    const real = join(dirname(world.versions), 'notes.md');
    await world.edit(FACTS, real);
    await mkdir(dirname(world.memory), { recursive: true });
    await symlink(real, world.memory);
    await world.put('- new\n');
    expect(await world.text(real)).toBe('- new\n');
    expect(await readdir(dirname(world.memory))).toEqual(['MEMORY.md']);
  });
});

describe('a rewrite that loses more than half', () => {
  const long = Array.from({ length: 10 }, (_, i) => `- fact ${i}`).join('\n');

  test.each([
    ['half of the facts', long.split('\n').slice(0, 5).join('\n'), true],
    ['less than half of the facts', long.split('\n').slice(0, 4).join('\n'), false],
    ['as many facts with less than half of the words', long.replaceAll('fact ', ''), false],
    ['nothing', '', false],
    ['headings and comments only', `# Memory\n## Facts\n<!--\n${long}\n-->\n---\n`, false],
    ['the same fact again and again', '- fact 1\n'.repeat(10), false],
    ['all facts in another form', `# Memory\n\n${long.replaceAll('- ', '* ')}`, true],
  ])('that leaves %s', async (_name, text, ok) => {
    await using world = await memoryWorld();
    await world.edit(long);
    const { hash } = await world.store.read();
    const result = await world.store.replace(text, { ifHash: hash, reason: 'test' });
    expect(result).toEqual(ok ? { ok: true, hash: expect.any(String) } : { ok: false, why: 'shrinks' });
    expect(await world.text()).toBe(ok ? `${text}\n` : long);
  });

  test('is done when the owner agreed', async () => {
    await using world = await memoryWorld();
    await world.edit(long);
    const { hash } = await world.store.read();
    expect(await world.store.replace('', { ifHash: hash, reason: 'test', allowShrink: true })).toMatchObject({
      ok: true,
    });
    expect(await world.text()).toBe('');
  });

  test('takes nothing from a memory that holds no facts yet', async () => {
    await using world = await memoryWorld();
    await world.edit('# Memory\n\n<!-- Lasting facts about the person and their world, one line each. -->\n');
    const { hash } = await world.store.read();
    expect(await world.store.replace('- a\n', { ifHash: hash, reason: 'test' })).toMatchObject({ ok: true });
  });

  test('is kept as a proposal, which can be restored', async () => {
    await using world = await memoryWorld();
    await world.edit(long);
    const id = await world.store.propose('- less', 'consolidation');
    expect(await world.store.propose('- less', 'consolidation')).toBe(id);
    expect(await world.store.log()).toMatchObject([{ id, kind: 'proposed', reason: 'consolidation' }]);
    expect(await world.text()).toBe(long);
    expect(await world.store.restore(id)).toMatchObject({ id, kind: 'proposed' });
    expect(await world.text()).toBe('- less\n');
    const [kept] = await world.store.log();
    expect(kept).toMatchObject({ kind: 'kept', reason: `restore of ${id}` });
    expect((await world.store.show(kept?.id)).text).toBe(long);
  });

  test('proposed again and again takes no room from the versions that were kept', async () => {
    await using world = await memoryWorld();
    for (let n = 0; n <= 3; n += 1) await world.put(`- fact ${n}\n`);
    for (let n = 0; n < 30; n += 1) await world.store.propose(`- proposal ${n}`, 'test');
    const kinds = (await world.store.log()).map(({ kind }) => kind);
    expect(kinds.filter((kind) => kind === 'kept')).toHaveLength(3);
    expect(kinds.filter((kind) => kind === 'proposed')).toHaveLength(5);
  });
});

describe('versions', () => {
  test('a restore can be undone', async () => {
    await using world = await memoryWorld();
    await world.put('- old\n');
    await world.put('- new\n');
    const [old] = await world.store.log();
    await world.store.restore(old?.id ?? '');
    const [undo] = await world.store.log();
    await world.store.restore(undo?.id ?? '');
    expect(await world.text()).toBe('- new\n');
  });

  test.each(['', 'x', '../../workspace/memory/MEMORY', '20260101T000000000Z'])('there is none named %j', async (id) => {
    await using world = await memoryWorld();
    await world.put('- a\n');
    for (const use of [() => world.store.show(id), () => world.store.restore(id)]) {
      expect((await failureOf(use())).code).toBe('memory-version');
    }
  });

  test('keep texts and reasons that look like their own header', async () => {
    await using world = await memoryWorld();
    const text = '<!-- {"at":1,"reason":"x","kind":"proposed"} -->\n- a\n';
    await world.put(text);
    await world.put('- b\n', 'because\n--> of "this"');
    const [version] = await world.store.log();
    expect(version).toMatchObject({ kind: 'kept', reason: 'because --> of "this"' });
    expect((await world.store.show(version?.id)).text).toBe(text);
  });

  test('a damaged one is shown as it is, and files that are none stay untouched', async () => {
    await using world = await memoryWorld();
    await mkdir(world.versions, { recursive: true });
    await writeFile(join(world.versions, '20260101T000000000Z.md'), 'just text');
    await writeFile(join(world.versions, 'notes.txt'), 'mine');
    await writeFile(join(world.versions, '.20260101T000000001Z.md.7.1.tmp'), 'left behind');
    for (let n = 0; n < 25; n += 1) {
      if (n === 3) expect((await world.store.show('20260101T000000000Z')).text).toBe('just text');
      await world.put(`- ${n}\n`);
    }
    const files = await world.versionFiles();
    expect(files).toHaveLength(21);
    expect(files).toContain('notes.txt');
  });
});

describe('the disk', () => {
  test('a crash after the old version was kept leaves the old memory, and the next try keeps no second copy', async () => {
    await using world = await memoryWorld();
    await world.edit(FACTS);
    const dying = world.open({
      replace: (path, data) =>
        path.endsWith('MEMORY.md') ? Promise.reject(new Error('died here')) : replaceDurable(path, data),
    });
    const { hash } = await dying.read();
    await expect(dying.replace('- new', { ifHash: hash, reason: 'a', allowShrink: true })).rejects.toThrow('died here');
    expect(await world.text()).toBe(FACTS);
    const again = world.open();
    await again.replace('- new', { ifHash: hash, reason: 'a', allowShrink: true });
    expect(await world.text()).toBe('- new\n');
    expect(await again.log()).toHaveLength(1);
  });

  test.each([
    ['for the version', (path: string) => !path.endsWith('MEMORY.md')],
    ['for the memory', (path: string) => path.endsWith('MEMORY.md')],
  ])('that is full %s leaves all as it was, says so, and heals', async (_name, full) => {
    let isFull = true;
    await using world = await memoryWorld({
      replace: async (path, data) => {
        if (isFull && full(path)) throw diskError('ENOSPC');
        await replaceDurable(path, data);
      },
    });
    await world.edit(FACTS);
    const error = await failureOf(world.store.change({ fact: 'plays chess' }));
    expect(error.code).toBe('memory-unwritable');
    expect(error.message).toBe(`${world.memory} could not be changed: the disk is full. What was there is as it was.`);
    expect(await world.text()).toBe(FACTS);
    isFull = false;
    await world.store.change({ fact: 'plays chess' });
    expect(await world.text()).toBe(`${FACTS}- plays chess\n`);
    expect(await world.store.log()).toHaveLength(1);
  });

  test('a folder of versions that is in the way leaves the memory as it was', async () => {
    await using world = await memoryWorld();
    await world.edit(FACTS);
    await world.edit('a file', dirname(world.versions));
    expect((await failureOf(world.store.change({ fact: 'x' }))).code).toBe('memory-unwritable');
    expect(await world.text()).toBe(FACTS);
  });

  test('a memory over 1 MiB is not written', async () => {
    await using world = await memoryWorld();
    const { hash } = await world.store.read();
    const huge = world.store.replace('x'.repeat(1_100_000), { ifHash: hash, reason: 'test' });
    expect((await failureOf(huge)).code).toBe('memory-too-large');
  });
});
