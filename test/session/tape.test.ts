import { appendFile, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { EntryDraft, TapeEntry } from '../../src/core/session/entry.ts';
import { Tape, type TapeOptions } from '../../src/core/session/tape.ts';
import { keyOfTapeName, tapeName } from '../../src/core/session/tape-name.ts';
import { FakeDisk } from '../storage/fake-disk.ts';
import { countingIds, memoryLog, note, plainTurn, testClock, user } from './tapes.ts';

let folder: string;
let options: TapeOptions;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tape-'));
  options = {
    path: join(folder, 'tape.jsonl'),
    key: 'terminal:local',
    quarantine: join(folder, 'quarantine'),
    clock: testClock,
    newId: countingIds(),
    log: memoryLog(),
  };
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function entries(tape: Tape): Promise<readonly TapeEntry[]> {
  const found: TapeEntry[] = [];
  for await (const entry of tape.entriesBackwards()) found.unshift(entry);
  return found;
}

async function texts(): Promise<readonly string[]> {
  const tape = await Tape.open(options);
  const found = await entries(tape);
  await tape.close();
  return found.flatMap((entry) => (entry.kind === 'note' ? [entry.text] : []));
}

const kept = async (): Promise<readonly string[]> =>
  Promise.all(
    (await readdir(options.quarantine).catch(() => [])).map((name) => readFile(join(options.quarantine, name), 'utf8')),
  );

describe('a tape', () => {
  test('begins with its session and gives back what was appended', async () => {
    const tape = await Tape.open(options);
    expect(await entries(tape)).toEqual([]);
    const written = await tape.append([...plainTurn('t1', 'hello', 'hi'), note('done')]);
    expect(written.map((entry) => entry.id)).toContain('end-t1');
    expect(written[0]).toMatchObject({ v: 1, at: testClock.now(), kind: 'turn-start' });
    const read = await entries(tape);
    expect(read[0]).toMatchObject({ kind: 'session', key: 'terminal:local' });
    expect(read.slice(1)).toEqual(written);
    await tape.close();
  });

  test('loses whole turns from its beginning when it is twice as long as asked for, and goes on', async () => {
    const tape = await Tape.open(options);
    for (let n = 0; n < 40; n += 1) await tape.append(plainTurn(`t${n}`, `question ${n} ${'x'.repeat(500)}`, 'yes'));
    const { size } = await stat(options.path);
    expect(await tape.dropOldest(Math.ceil(size / 2))).toBe(0);
    expect((await stat(options.path)).size).toBe(size);
    const went = await tape.dropOldest(Math.floor(size / 4));
    await tape.append([note('after')]);
    const left = await entries(tape);
    expect(left[0]).toMatchObject({ kind: 'session', key: 'terminal:local' });
    const turns = [...new Set(left.flatMap(({ turn }) => turn ?? []))];
    expect(left[1]).toMatchObject({ kind: 'turn-start', turn: turns[0] });
    expect(turns.at(-1)).toBe('t39');
    expect(turns.length).toBeGreaterThan(6);
    expect(turns.length).toBeLessThanOrEqual(10);
    expect(went).toBeGreaterThan(size / 2);
    await tape.close();
    expect(await texts()).toEqual(['after']);
    expect(await kept()).toEqual([]);
  });

  test('refuses an entry that could not be read back before writing anything', async () => {
    const tape = await Tape.open(options);
    const broken = { ...plainTurn('t', 'q', 'a')[3], iterations: Number.NaN } as EntryDraft;
    await expect(tape.append([note('before'), broken])).rejects.toThrow('turn-end entry');
    await tape.append([note('after')]);
    await tape.close();
    expect(await texts()).toEqual(['after']);
  });

  test('cuts a torn last line and keeps its bytes', async () => {
    await appendLines(note('one'));
    await appendFile(options.path, '{"v":1,"id":"torn","at":1,"ki');
    await appendLines(note('two'));
    expect(await texts()).toEqual(['one', 'two']);
    expect(await kept()).toEqual(['{"v":1,"id":"torn","at":1,"ki']);
  });

  test('after a power loss begins behind the last entry before a gap, and keeps the rest', async () => {
    const gap = '\0'.repeat(40);
    const tape = await Tape.open(options);
    await tape.append([...plainTurn('t1', 'hello', 'hi')]);
    await tape.append([{ kind: 'turn-start', turn: 't2', sources: ['m2'], role: 'owner', origin: 'user' }], 'lazy');
    await tape.close();
    const whole = await readFile(options.path, 'utf8');
    const behind = `${JSON.stringify({ v: 1, id: 'late', at: 1, ...user('t2', 'words') })}\n`;
    await appendFile(options.path, `${gap}\n${behind}`);
    const careless = await Tape.open(options);
    expect((await entries(careless)).map(({ id }) => id)).toContain('late');
    await careless.close();
    const careful = await Tape.open({ ...options, mayHaveLost: true });
    expect((await entries(careful)).map(({ id }) => id)).not.toContain('late');
    await careful.close();
    expect(await readFile(options.path, 'utf8')).toBe(whole);
    expect(await kept()).toContain(`${gap}\n${behind}`);
  });

  test('after a power loss a gap in front of a model call ends the tape too', async () => {
    const gap = '\0'.repeat(40);
    const tape = await Tape.open(options);
    await tape.append([...plainTurn('t1', 'hello', 'hi')]);
    await tape.append([{ kind: 'turn-start', turn: 't2', sources: ['m2'], role: 'owner', origin: 'user' }], 'lazy');
    await tape.close();
    const whole = await readFile(options.path, 'utf8');
    await appendFile(options.path, `${gap}\n`);
    const later = await Tape.open(options);
    // As a turn records a model call: together with what the model said, and not yet durable.
    await later.append([{ kind: 'note', turn: 't2', text: 'model call' }, user('t2', 'words')], 'lazy');
    await later.close();
    await (await Tape.open({ ...options, mayHaveLost: true })).close();
    expect(await readFile(options.path, 'utf8')).toBe(whole);
  });

  test('makes durable what would else be taken for a sign that all before it is durable', async () => {
    const disk = new FakeDisk();
    const tape = await Tape.open({ ...options, openAppend: disk.open });
    await tape.append([note('only written')], 'lazy');
    expect(disk.syncs).toBe(0);
    const [, , , end] = plainTurn('t1', 'hello', 'hi');
    await tape.append(end === undefined ? [] : [end], 'lazy');
    expect(disk.syncs).toBe(1);
    await tape.close();
  });

  test('after a power loss keeps what was durable behind a line that was damaged long ago', async () => {
    const tape = await Tape.open(options);
    await tape.append([...plainTurn('t1', 'hello', 'hi')]);
    await tape.close();
    await appendFile(options.path, 'damaged long ago\n');
    const later = await Tape.open(options);
    await later.append([...plainTurn('t2', 'again', 'hi')]);
    await later.append([{ kind: 'turn-start', turn: 't3', sources: ['m3'], role: 'owner', origin: 'user' }], 'lazy');
    await later.close();
    const whole = await readFile(options.path, 'utf8');
    await (await Tape.open({ ...options, mayHaveLost: true })).close();
    expect(await readFile(options.path, 'utf8')).toBe(whole);
  });

  test('starts a new line after a torn one that could not be kept', async () => {
    await writeFile(options.path, 'torn');
    await writeFile(options.quarantine, 'a file where the folder should be');
    await appendLines(note('two'));
    expect(await texts()).toEqual(['two']);
    expect((await readFile(options.path, 'utf8')).startsWith('torn\n')).toBe(true);
  });

  test('copies damaged lines to the quarantine once and serves the rest', async () => {
    await appendLines(note('one'));
    await appendFile(options.path, 'no json\n{"v":1,"id":"x","kind":"unheard-of"}\n\n');
    await appendLines(note('two'));
    expect(await texts()).toEqual(['one', 'two']);
    expect(await texts()).toEqual(['one', 'two']);
    expect([...(await kept())].sort()).toEqual(['no json', '{"v":1,"id":"x","kind":"unheard-of"}']);
  });

  test('goes on after a full disk as if nothing had been', async () => {
    const disk = new FakeDisk();
    options = { ...options, openAppend: disk.open };
    const tape = await Tape.open(options);
    disk.space = 10;
    await expect(tape.append([note('never')])).rejects.toThrow('ENOSPC');
    disk.space = 100_000;
    await tape.append([note('one')]);
    disk.space = 50;
    await expect(tape.append([note('lost'), note('with it')])).rejects.toThrow('ENOSPC');
    disk.space = 100_000;
    disk.longestWrite = 7;
    await tape.append([note('two')]);
    await tape.close();
    expect(await texts()).toEqual(['one', 'two']);
    expect(await kept()).toEqual([]);
    expect((await readFile(options.path, 'utf8')).match(/"session"/gu)).toHaveLength(1);
  });

  test('writes several appends of one moment with one sync', async () => {
    const disk = new FakeDisk();
    const tape = await Tape.open({ ...options, openAppend: disk.open });
    await Promise.all(['a', 'b', 'c'].map((text) => tape.append([note(text)])));
    expect(disk.syncs).toBe(1);
    await tape.close();
    expect(await texts()).toEqual(['a', 'b', 'c']);
  });

  test('cut anywhere gives the entries whose lines are whole, and takes more', async () => {
    const written = await appendLines(...plainTurn('t1', 'héllo', 'hi'), user('t2', 'more 😀'));
    const whole = await readFile(options.path);
    await fc.assert(
      fc.asyncProperty(fc.nat(whole.length), async (size) => {
        await writeFile(options.path, whole.subarray(0, size));
        const lines = whole.subarray(0, size).toString('latin1').split('\n').length - 1;
        const tape = await Tape.open(options);
        const [added] = await tape.append([note('next')]);
        const read = await entries(tape);
        await tape.close();
        const expected = lines === 0 ? [read[0]] : [read[0], ...written.slice(0, lines - 1)];
        expect(read).toEqual([...expected, added]);
        expect(read[0]?.kind).toBe('session');
      }),
      { numRuns: 60 },
    );
  });

  async function appendLines(...drafts: readonly EntryDraft[]): Promise<readonly TapeEntry[]> {
    const tape = await Tape.open(options);
    const written = await tape.append(drafts);
    await tape.close();
    return written;
  }
});

describe('the name of a tape', () => {
  test('is plain for ordinary keys', () => {
    expect(tapeName('telegram:12345')).toBe('telegram%3a12345.jsonl');
    expect(tapeName('slack:C01:17.5')).toBe('slack%3a%4301%3a17.5.jsonl');
    expect(tapeName('../etc')).toBe('%2e.%2fetc.jsonl');
  });

  test('is short, safe and different for different keys, also where capitals do not count', () => {
    const names = new Map<string, string>();
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.string({ unit: 'binary' }), fc.string({ minLength: 100 })), (key) => {
        const name = tapeName(key);
        expect(name).toMatch(/^[a-z0-9_%=-][a-z0-9_%=.-]{0,155}\.jsonl$/u);
        expect(names.get(name) ?? key).toBe(key);
        names.set(name, key);
        const back = keyOfTapeName(name);
        if (back !== null) expect(back).toBe(key);
      }),
    );
    expect(tapeName('chat:A').toLowerCase()).not.toBe(tapeName('chat:a').toLowerCase());
    expect(keyOfTapeName('notes.txt')).toBeUndefined();
    expect(keyOfTapeName('Not%20Ours.jsonl')).toBeUndefined();
  });
});
