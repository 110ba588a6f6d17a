import { appendFile, mkdir, mkdtemp, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { StoredImage } from '../../src/core/providers/provider.ts';
import type { EntryDraft } from '../../src/core/session/entry.ts';
import { foldHistory } from '../../src/core/session/history.ts';
import { Sessions, type SessionsOptions } from '../../src/core/session/sessions.ts';
import { tapeName } from '../../src/core/session/tape-name.ts';
import { createIds } from '../../src/core/util/ids.ts';
import { systemRandom } from '../../src/core/util/random.ts';
import { FakeDisk } from '../storage/fake-disk.ts';
import { collectGarbage } from '../support/collect-garbage.ts';
import { VirtualClock } from '../support/virtual-clock.ts';
import { problemsOf } from './legality.ts';
import { orderlyTape } from './random-tapes.ts';
import {
  anchor,
  assistant,
  memoryLog,
  note,
  plainTurn,
  reset,
  result,
  retract,
  stamp,
  testClock,
  trim,
  turnEnd,
  turnStart,
  user,
} from './tapes.ts';

let folder: string;
let options: SessionsOptions & { log: ReturnType<typeof memoryLog> };
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sessions-'));
  options = {
    directory: join(folder, 'sessions'),
    quarantine: join(folder, 'quarantine'),
    clock: testClock,
    newId: createIds(testClock, systemRandom),
    log: memoryLog(),
  };
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const pathOf = (key: string): string => join(options.directory, tapeName(key));
const linesOf = async (key: string): Promise<readonly string[]> => (await readFile(pathOf(key), 'utf8')).split('\n');

describe('a session', () => {
  test('remembers what was said across a restart', async () => {
    const first = new Sessions(options);
    const session = await first.open('k');
    await session.append(plainTurn('t1', 'hello', 'hi'));
    const history = session.history();
    expect(history.messages).toHaveLength(2);
    await first.close();
    const second = new Sessions(options);
    expect((await second.open('k')).history()).toEqual(history);
    await second.close();
  });

  test('has no file before something is appended', async () => {
    const sessions = new Sessions(options);
    const session = await sessions.open('k');
    expect([session.window, session.turn('t1'), session.history().messages]).toEqual([[], [], []]);
    expect(await sessions.list()).toEqual([]);
    await sessions.close();
  });

  test('does not write an entry whose id it has', async () => {
    const sessions = new Sessions(options);
    const session = await sessions.open('k');
    const [once] = await session.append([{ ...note('first'), id: 'fixed' }]);
    const again = await session.append([note('other'), { ...note('second'), id: 'fixed' }]);
    expect(again.map((entry) => entry.id === 'fixed')).toEqual([false, true]);
    expect(again[1]).toEqual(once);
    expect((await linesOf('k')).filter((line) => line.includes('fixed'))).toHaveLength(1);
    await sessions.close();
  });

  test('names an image that is there without reading it, and looks for it once, not after each append', async () => {
    const asked: string[] = [];
    const read = vi.fn<() => Promise<string>>();
    const image = (hash: string): StoredImage => {
      asked.push(hash);
      return { size: 2, read };
    };
    const sessions = new Sessions({ ...options, image });
    const session = await sessions.open('k');
    const shown = { type: 'image', mediaType: 'image/png', hash: 'h1' } as const;
    await session.append([turnStart('t1'), { ...user('t1', ''), content: [shown] } as EntryDraft]);
    const first = (): unknown => session.history().messages[0]?.message;
    expect(first()).toMatchObject({ content: [{ type: 'image', mediaType: 'image/png', hash: 'h1', size: 2 }] });
    await session.append([turnEnd('t1', 'seen')]);
    expect(first()).toMatchObject({ content: [{ type: 'image', hash: 'h1' }] });
    expect(asked).toEqual(['h1']);
    expect(read).not.toHaveBeenCalled();
    await sessions.close();
  });

  test('keeps its history when the disk is full, and goes on after', async () => {
    const disk = new FakeDisk();
    const sessions = new Sessions({ ...options, openAppend: disk.open });
    const session = await sessions.open('k');
    await session.append(plainTurn('t1', 'hello', 'hi'));
    disk.space = 20;
    await expect(session.append([user('t2', 'lost')])).rejects.toThrow('ENOSPC');
    expect(session.history().messages).toHaveLength(2);
    disk.space = 10_000;
    await session.append([user('t2', 'kept')]);
    expect(session.history().messages).toHaveLength(3);
    await sessions.close();
    const again = new Sessions(options);
    expect((await again.open('k')).history()).toEqual(session.history());
    await again.close();
  });

  test('forgets what is out of the history but not its newest turn', async () => {
    const sessions = new Sessions(options);
    const session = await sessions.open('k');
    for (const n of [1, 2, 3]) await session.append(plainTurn(`t${n}`, `question ${n}`, `answer ${n}`));
    await session.append([trim({ dropUpTo: 'end-t1' })]);
    expect(session.turn('t1').map((entry) => entry.id)).toEqual(['end-t1']);
    expect(session.window[0]?.id).toBe('end-t1');
    await session.append([anchor('two turns', 'end-t2')]);
    expect(session.history().messages).toHaveLength(3);
    await session.append([turnStart('t4'), user('t4', 'start over'), reset()]);
    expect(session.window).toHaveLength(1);
    expect(session.turn('t4')).toHaveLength(2);
    expect(session.turn('t3')).toHaveLength(0);
    await sessions.close();
  });

  test('a trim takes the summary in force along', async () => {
    const sessions = new Sessions(options);
    const session = await sessions.open('k');
    await session.append([...plainTurn('t1', 'one', '1'), anchor('about one', 'end-t1', { private: true })]);
    await session.append([...plainTurn('t2', 'two', '2'), ...plainTurn('t3', 'three', '3')]);
    for (const dropUpTo of ['end-t2', 'end-t2', 'end-t3']) {
      const [written] = await session.append([trim({ dropUpTo })]);
      expect(written).toMatchObject({ summary: 'about one', private: true });
      expect(session.history()).toMatchObject({ private: true, summary: { text: 'about one', upTo: dropUpTo } });
    }
    expect(session.history().messages).toHaveLength(1);
    await sessions.close();
  });

  test('a trim takes the summary along that is appended together with it', async () => {
    const sessions = new Sessions(options);
    const session = await sessions.open('k');
    await session.append([...plainTurn('t1', 'one', '1'), ...plainTurn('t2', 'two', '2')]);
    await session.append([
      anchor('about one', 'end-t1'),
      ...plainTurn('t3', 'three', '3'),
      trim({ dropUpTo: 'end-t3' }),
    ]);
    expect(session.history().summary).toMatchObject({ text: 'about one', upTo: 'end-t3' });
    await sessions.close();
  });

  test('finds a turn from before the restart, also behind a reset', async () => {
    const before = new Sessions(options);
    const tape = [...plainTurn('t1', 'one', '1'), ...plainTurn('t2', 'two', '2')];
    await (await before.open('k')).append([...tape, reset(), ...plainTurn('t3', 'three', '3')]);
    await before.close();
    const sessions = new Sessions(options);
    const session = await sessions.open('k');
    expect([session.turn('t3').length, session.turn('t1').length]).toEqual([4, 0]);
    const appending = session.append([note('meanwhile')]);
    await sessions.open('k', { turn: 't1' });
    await appending;
    expect(session.turn('t1')).toHaveLength(4);
    expect(session.turn('t2')).toHaveLength(4);
    expect(session.window.map((entry) => entry.kind)).toEqual([
      'reset',
      'turn-start',
      'message',
      'message',
      'turn-end',
      'note',
    ]);
    expect(await sessions.open('k', { turn: 'never' })).toBe(session);
    await sessions.close();
  });

  test('keeps nothing of what it read on the way to a turn that is not there', async () => {
    const before = new Sessions(options);
    await (await before.open('k')).append([...plainTurn('t1', 'one', '1'), reset(), ...plainTurn('t2', 'two', '2')]);
    await before.close();
    const sessions = new Sessions(options);
    const session = await sessions.open('k', { turn: 'never' });
    expect(session.turn('t1')).toHaveLength(0);
    expect(session.turn('t2')).toHaveLength(4);
    expect(session.history().messages).toHaveLength(2);
    await sessions.open('k', { turn: 't1' });
    expect(session.turn('t1')).toHaveLength(4);
    await sessions.close();
  });

  test('does not look on the disk for a turn that has not begun', async () => {
    const sessions = new Sessions(options);
    const session = await sessions.open('k');
    const [early, ran, late] = [options.newId(), options.newId(), options.newId()];
    expect(await sessions.open('k', { turn: early })).toBe(session);
    await session.append(plainTurn(ran, 'hello', 'hi'));
    await rm(pathOf('k'));
    await mkdir(pathOf('k'));
    await sessions.open('k', { turn: ran });
    await sessions.open('k', { turn: late });
    await expect(sessions.open('k', { turn: early })).rejects.toThrow('EISDIR');
    await sessions.close();
  });

  test('says which entry last changed earlier messages, also after a restart', async () => {
    const first = new Sessions(options);
    const session = await first.open('k');
    await session.append(plainTurn('t1', 'hello', 'hi'));
    expect(session.turningPoint).toBeUndefined();
    const [retracted] = await session.append([retract('t1')]);
    await session.append(plainTurn('t2', 'hello again', 'hi'));
    expect(session.turningPoint).toBe(retracted?.id);
    await first.close();
    const second = new Sessions(options);
    expect((await second.open('k')).turningPoint).toBe(retracted?.id);
    await second.close();
  });

  test('is the same in memory, read again, and folded from the whole tape', async () => {
    let run = 0;
    await fc.assert(
      fc.asyncProperty(orderlyTape, fc.integer({ min: 1, max: 6 }), fc.nat(5000), async (drafts, group, cut) => {
        run += 1;
        const key = `run-${run}`;
        const writing = new Sessions(options);
        const session = await writing.open(key);
        for (let at = 0; at < drafts.length; at += group) {
          await session.append(drafts.slice(at, at + group));
          const { messages } = foldHistory(stamp(drafts.slice(0, at + group)).toReversed());
          expect(session.history().messages.map((item) => item.message)).toEqual(messages.map((item) => item.message));
        }
        await writing.close();
        const reading = new Sessions(options);
        expect((await reading.open(key)).history()).toEqual(session.history());
        await reading.close();

        const { length } = await readFile(pathOf(key));
        await truncate(pathOf(key), Math.max(0, length - cut));
        const torn = new Sessions(options);
        const reopened = await torn.open(key);
        expect(problemsOf(reopened.history().messages.map((item) => item.message))).toEqual([]);
        await torn.close();
      }),
      { numRuns: 80 },
    );
  });
});

describe('the sessions', () => {
  test('give everybody who opens a key the same session, however many are open', async () => {
    const disk = new FakeDisk();
    const sessions = new Sessions({ ...options, maxOpen: 2, openAppend: disk.open });
    const [a, same] = await Promise.all([sessions.open('a'), sessions.open('a')]);
    expect(same).toBe(a);
    await a.append([note('1')]);
    const pending = a.append([note('2')]);
    for (const key of ['b', 'c', 'd']) await (await sessions.open(key)).append([note(key)]);
    await pending;
    expect(await sessions.open('a')).toBe(a);
    await Promise.all([a.append([note('3')]), (await sessions.open('a')).append([note('4')])]);
    expect(disk.opened - disk.closed).toBeLessThanOrEqual(3);
    await sessions.close();
    expect(disk.opened).toBe(disk.closed);
    const texts = (await linesOf('a')).flatMap((line) => /"text":"(\d)"/u.exec(line)?.[1] ?? []);
    expect(texts).toEqual(['1', '2', '3', '4']);
  });

  test('that were not used for ten minutes are closed and leave memory; what was said is read again', async () => {
    const disk = new FakeDisk();
    const clock = new VirtualClock();
    const sessions = new Sessions({ ...options, clock, openAppend: disk.open });
    const talk = async (key: string): Promise<{ readonly said: string; readonly session: WeakRef<object> }> => {
      const session = await sessions.open(key);
      await session.append([user('t1', `hello ${key}`)]);
      return { said: JSON.stringify(session.history()), session: new WeakRef(session) };
    };
    const silent = await talk('silent');
    await clock.advance(300_000);
    const busy = await talk('busy');
    await clock.advance(300_000);
    await expect.poll(() => disk.opened - disk.closed).toBe(1);
    await expect.poll(() => (collectGarbage(), silent.session.deref() === undefined)).toBe(true);
    expect(busy.session.deref()).toBe(await sessions.open('busy'));
    await clock.advance(600_000);
    await expect.poll(() => disk.opened - disk.closed).toBe(0);
    expect(JSON.stringify((await sessions.open('silent')).history())).toBe(silent.said);
    await sessions.close();
  });

  test('lists what has a tape, long keys too, and nothing else', async () => {
    const sessions = new Sessions(options);
    const keys = ['telegram:1', `api:${'Ü'.repeat(100)}`];
    for (const key of keys) await (await sessions.open(key)).append([note('x')]);
    await writeFile(join(options.directory, 'README'), 'not a tape');
    const listed = await sessions.list();
    expect(listed.map((item) => item.key).sort()).toEqual(keys.toSorted());
    expect(listed.every((item) => item.size > 0 && item.path.startsWith(options.directory))).toBe(true);
    await sessions.close();
  });

  test('are of no use once closed', async () => {
    const sessions = new Sessions(options);
    const session = await sessions.open('k');
    const pending = session.append([note('in time')]);
    await sessions.close();
    await pending;
    await expect(session.append([note('late')])).rejects.toThrow('closed');
    await expect(sessions.open('k')).rejects.toThrow('closed');
  });

  test('can be opened again after a failure', async () => {
    await writeFile(options.directory, 'a file where the folder should be');
    const sessions = new Sessions(options);
    await expect(sessions.open('k')).rejects.toThrow('EEXIST');
    await rm(options.directory);
    await (await sessions.open('k')).append([note('x')]);
    await sessions.close();
  });
});

describe('a tape of 100,000 entries', () => {
  test('is opened by reading less than a megabyte after a trim, an anchor or a reset', async () => {
    const preparing = new Sessions(options);
    await (await preparing.open('k')).append([note('first')]);
    await preparing.close();
    const lines: string[] = [];
    for (let n = 0; n < 25_000; n += 1) lines.push(...stampedLines(n));
    await appendFile(pathOf('k'), lines.join(''));
    const ends = [
      trim({ dropUpTo: 'end-t24950', stubUpTo: 'end-t24990' }),
      anchor('much was said', 'end-t24960'),
      reset(),
    ];
    for (const [at, end] of ends.entries()) {
      const sessions = new Sessions(options);
      const session = await sessions.open('k');
      await session.append([end]);
      await sessions.close();
      options.log.lines.length = 0;
      const again = new Sessions(options);
      const reopened = await again.open('k');
      expect(reopened.history()).toEqual(session.history());
      expect(reopened.history().messages.length).toBe([123, 99, 0][at]);
      expect(options.log.lines[0]?.fields['bytes']).toBeLessThan(1_000_000);
      await again.close();
    }
  });

  function stampedLines(n: number): readonly string[] {
    const turn = `t${n}`;
    const filler = 'word '.repeat(40);
    const drafts =
      n % 2 === 0
        ? plainTurn(turn, filler, filler)
        : [user(turn, filler), assistant(turn, '', [`${turn}.1`]), result(turn, `${turn}.1`, filler), turnEnd(turn)];
    return stamp(drafts).map((entry, i) => `${JSON.stringify({ ...entry, id: idOf(entry.kind, n, i) })}\n`);
  }

  const idOf = (kind: string, n: number, i: number): string => (kind === 'turn-end' ? `end-t${n}` : `n${n}-${i}`);
});
