import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { AppendFile } from '../../src/core/storage/append-file.ts';
import { FakeDisk } from './fake-disk.ts';

let folder: string;
let path: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'append-'));
  path = join(folder, 'lines');
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const line = (text: string): Buffer => Buffer.from(`${text}\n`);
const content = (): Promise<string> => readFile(path, 'utf8');

describe('an append file', () => {
  test('makes its file private and only when something is appended', async () => {
    const file = new AppendFile(path);
    await expect(stat(path)).rejects.toThrow('ENOENT');
    await file.append(line('one'));
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect(file.size).toBe(4);
    await file.close();
  });

  test('shares one write and one sync among appends issued together, in order', async () => {
    const disk = new FakeDisk();
    const file = new AppendFile(path, { open: disk.open });
    await Promise.all(['a', 'b', 'c'].map((text) => file.append(line(text))));
    expect([disk.writes, disk.syncs]).toEqual([1, 1]);
    const first = file.append(line('d'));
    const later = new Promise((resolve) => {
      setImmediate(() => resolve(Promise.all(['e', 'f', 'g'].map((text) => file.append(line(text))))));
    });
    await Promise.all([first, later]);
    expect(disk.syncs).toBeLessThanOrEqual(3);
    expect(await content()).toBe('a\nb\nc\nd\ne\nf\ng\n');
    await file.close();
  });

  test('goes on after short writes', async () => {
    const disk = new FakeDisk();
    disk.longestWrite = 2;
    const file = new AppendFile(path, { open: disk.open });
    await file.append(line('abcdefg'));
    expect(await content()).toBe('abcdefg\n');
    await file.close();
  });

  test('takes back what a full disk cut short and works again when there is room', async () => {
    const disk = new FakeDisk();
    const file = new AppendFile(path, { open: disk.open });
    await file.append(line('kept'));
    disk.space = 3;
    await expect(file.append(line('too long'))).rejects.toThrow('ENOSPC');
    expect(await content()).toBe('kept\n');
    disk.space = 100;
    await file.append(line('after'));
    expect(await content()).toBe('kept\nafter\n');
    await file.close();
  });

  test('rejects every append of a failed group and takes them all back when the sync fails', async () => {
    const disk = new FakeDisk();
    const file = new AppendFile(path, { open: disk.open });
    disk.failing.add('datasync');
    const results = await Promise.allSettled(['a', 'b'].map((text) => file.append(line(text))));
    expect(results.map((result) => result.status)).toEqual(['rejected', 'rejected']);
    expect(await content()).toBe('');
    disk.failing.clear();
    await file.append(line('c'));
    expect(await content()).toBe('c\n');
    await file.close();
  });

  test('writes anew what was appended lazily when the sync that was to cover it fails, since the disk may have dropped it', async () => {
    const disk = new FakeDisk();
    const file = new AppendFile(path, { open: disk.open });
    await file.append(line('old'));
    await file.append(line('lazy one'), 'lazy');
    await file.append(line('lazy two'), 'lazy');
    disk.failing.add('datasync');
    await expect(file.append(line('lost'))).rejects.toThrow('EIO');
    expect(await content()).toBe('old\nlazy one\nlazy two\n');
    disk.failing.clear();
    await file.append(line('new'));
    expect(await content()).toBe('old\nlazy one\nlazy two\nnew\n');
    expect(disk.platter.toString()).toBe('old\nlazy one\nlazy two\nnew\n');
    await file.close();
  });

  test('writes lazy appends anew as soon as the disk lets it, when it could not at once', async () => {
    const disk = new FakeDisk();
    const file = new AppendFile(path, { open: disk.open });
    await file.append(line('old'));
    await file.append(line('lazy'), 'lazy');
    disk.failing.add('datasync').add('truncate');
    await expect(file.append(line('lost'))).rejects.toThrow('EIO');
    disk.failing.clear();
    await file.append(line('new'));
    expect(disk.platter.toString()).toBe('old\nlazy\nnew\n');
    await file.close();
  });

  test('starts on a new line when the remains of a failed append could not be taken back', async () => {
    const disk = new FakeDisk();
    const file = new AppendFile(path, { open: disk.open });
    await file.append(line('kept'));
    disk.space = 3;
    disk.failing.add('truncate');
    await expect(file.append(line('too long'))).rejects.toThrow('ENOSPC');
    disk.space = 100;
    await file.append(line('after'));
    expect(await content()).toBe('kept\ntoo\nafter\n');
    expect(file.size).toBe((await content()).length);
    await file.close();
  });

  test('puts its header first, also when the append that carried it failed', async () => {
    const disk = new FakeDisk();
    const file = new AppendFile(path, { open: disk.open, header: () => line('header') });
    disk.failing.add('write');
    await expect(file.append(line('one'))).rejects.toThrow('EIO');
    disk.failing.clear();
    await file.append(line('two'));
    await file.append(line('three'));
    expect(await content()).toBe('header\ntwo\nthree\n');
    await file.close();
  });

  test('leaves what was in the file alone and ends a line that has no newline', async () => {
    await writeFile(path, 'old\nhalf');
    const file = new AppendFile(path, { header: () => line('header') });
    await file.append(line('new'));
    expect(await content()).toBe('old\nhalf\nnew\n');
    await file.close();
  });

  test('gives its handle back at rest and opens again for the next append', async () => {
    const disk = new FakeDisk();
    const file = new AppendFile(path, { open: disk.open });
    const pending = file.append(line('a'));
    await file.rest();
    await pending;
    expect([disk.opened, disk.closed]).toEqual([1, 1]);
    await file.append(line('b'));
    await file.close();
    expect([disk.opened, disk.closed]).toEqual([2, 2]);
    expect(await content()).toBe('a\nb\n');
    await expect(file.append(line('c'))).rejects.toThrow('closed');
  });

  test('holds exactly the acknowledged lines, in order, whatever the disk does', async () => {
    const step = fc.record({
      texts: fc.array(fc.stringMatching(/^[a-z]{1,9}$/u), { minLength: 1, maxLength: 4 }),
      room: fc.oneof(fc.constant(Number.POSITIVE_INFINITY), fc.nat(20)),
      longestWrite: fc.integer({ min: 1, max: 12 }),
      syncFails: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 8 }), async (steps) => {
        await rm(path, { force: true });
        const disk = new FakeDisk();
        const file = new AppendFile(path, { open: disk.open });
        const acknowledged: string[] = [];
        for (const { texts, room: space, longestWrite, syncFails } of steps) {
          Object.assign(disk, { room: space, longestWrite });
          if (syncFails) disk.failing.add('datasync');
          else disk.failing.clear();
          const results = await Promise.allSettled(texts.map((text) => file.append(line(text))));
          acknowledged.push(...texts.filter((_, i) => results[i]?.status === 'fulfilled'));
        }
        await file.close();
        const lines = (await content().catch(() => '')).split('\n').slice(0, -1);
        expect(lines).toEqual(acknowledged);
      }),
      { numRuns: 60 },
    );
  });
});
