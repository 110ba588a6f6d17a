import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Sessions } from '../../src/core/session/sessions.ts';
import { StoredTapes, type TapeStore } from '../../src/core/session/stored-tapes.ts';
import { tapeName } from '../../src/core/session/tape-name.ts';
import { createIds } from '../../src/core/util/ids.ts';
import { systemRandom } from '../../src/core/util/random.ts';
import { VirtualClock } from '../support/virtual-clock.ts';
import { memoryLog, plainTurn, testClock } from './tapes.ts';

/** How the next write of the store fails: not at all, without an effect, or after it took effect. */
type Fault = 'none' | 'before' | 'after';

class MemoryStore implements TapeStore {
  readonly tapes = new Map<string, Buffer>();
  next: Fault = 'none';
  largest = 0;

  list = async (): Promise<readonly { key: string; size: number }[]> =>
    Array.from(this.tapes, ([key, bytes]) => ({ key, size: bytes.length }));
  read = async (part: { key: string; from: number; length: number }): Promise<Uint8Array> => {
    this.largest = Math.max(this.largest, part.length);
    return this.content(part.key).subarray(part.from, part.from + part.length);
  };
  write = async (part: { key: string; at: number; bytes: Uint8Array }): Promise<void> => {
    const fault = this.next;
    this.next = 'none';
    const before = this.content(part.key);
    expect(part.at).toBeLessThanOrEqual(before.length);
    this.largest = Math.max(this.largest, part.bytes.length);
    if (fault === 'before') throw new Error('no way');
    this.tapes.set(part.key, Buffer.concat([before.subarray(0, part.at), part.bytes]));
    if (fault === 'after') throw new Error('the line broke');
  };
  remove = async (key: string): Promise<void> => void this.tapes.delete(key);

  content(key: string): Buffer {
    return this.tapes.get(key) ?? Buffer.alloc(0);
  }
}

/** The sessions of a home, of which `store` keeps the tapes too. */
class Home implements AsyncDisposable {
  readonly folder: string;
  readonly store: MemoryStore;
  sessions: Sessions;

  private constructor(folder: string, store: MemoryStore) {
    this.folder = folder;
    this.store = store;
    this.sessions = this.#make();
  }

  static async open(store: MemoryStore): Promise<Home> {
    const home = new Home(await mkdtemp(join(tmpdir(), 'stored-')), store);
    await home.#join();
    return home;
  }

  async restart(): Promise<void> {
    await this.sessions.close();
    this.sessions = this.#make();
    await this.#join();
  }

  async tape(key: string): Promise<Buffer> {
    return await readFile(join(this.folder, 'sessions', tapeName(key)));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.sessions.close();
    await rm(this.folder, { recursive: true, force: true });
  }

  #make(): Sessions {
    const newId = createIds(testClock, systemRandom);
    const log = memoryLog();
    return new Sessions({
      directory: join(this.folder, 'sessions'),
      quarantine: this.folder,
      clock: testClock,
      newId,
      log,
    });
  }

  #join(): Promise<void> {
    const { folder, store } = this;
    const directory = join(folder, 'sessions');
    const parts = { store, owner: 'a test', directory, quarantine: folder, clock: testClock, log: memoryLog() };
    return this.sessions.keepIn(new StoredTapes(parts));
  }
}

const step = fc.oneof(
  fc.record({ does: fc.constant('append' as const), fault: fc.constantFrom<Fault>('none', 'before', 'after') }),
  fc.record({ does: fc.constantFrom('lazy' as const, 'drop' as const, 'rest' as const, 'restart' as const) }),
);

describe('a tape that a store keeps too', () => {
  test('is the same in both after each append that resolves, whatever failed before', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 12 }), async (steps) => {
        await using home = await Home.open(new MemoryStore());
        let turn = 0;
        for (const one of steps) {
          const session = await home.sessions.open('k');
          turn += 1;
          const drafts = plainTurn(`t${String(turn).padStart(3, '0')}`, 'a question', 'an answer '.repeat(turn));
          if (one.does === 'append') {
            home.store.next = one.fault;
            const written = await session.append(drafts).then(
              () => true,
              () => false,
            );
            expect(written).toBe(one.fault === 'none');
            if (written) expect(home.store.content('k').equals(await home.tape('k'))).toBe(true);
          } else if (one.does === 'lazy') {
            await session.append(drafts.slice(0, 1), 'lazy');
          } else if (one.does === 'drop') {
            await session.dropOldest(600);
          } else if (one.does === 'rest') {
            await session.rest();
          } else {
            await home.restart();
          }
        }
        await (await home.sessions.open('k')).append([]);
        const tape = await home.tape('k');
        expect(home.store.content('k').equals(tape)).toBe(true);
        const lines = tape.toString('utf8').split('\n');
        expect(new Set(lines).size).toBe(lines.length);
        await using elsewhere = await Home.open(home.store);
        expect((await elsewhere.tape('k')).equals(tape)).toBe(true);
      }),
      { numRuns: 60 },
    );
  });

  test('longer than one call may carry goes in parts of at most 4 MiB, both ways', async () => {
    const store = new MemoryStore();
    await using home = await Home.open(store);
    await (await home.sessions.open('k')).append(plainTurn('t1', 'much', 'x'.repeat(9_000_000)));
    await using elsewhere = await Home.open(store);
    expect((await elsewhere.tape('k')).equals(await home.tape('k'))).toBe(true);
    expect(store.largest).toBe(4 * 1024 * 1024);
  });

  test('waits no longer than 30 s for its store', async () => {
    const clock = new VirtualClock();
    const store = new MemoryStore();
    store.list = () => new Promise(() => {});
    const parts = { store, owner: 'the plugin "x"', directory: '/nowhere', quarantine: '/nowhere', log: memoryLog() };
    const fetched = expect(new StoredTapes({ ...parts, clock }).fetch()).rejects.toThrow(
      'the plugin "x" failed to list: list took longer than 30000 ms',
    );
    await clock.advance(30_000);
    await fetched;
  });

  test('is not completed by a store that gives too little', async () => {
    const store = new MemoryStore();
    await using home = await Home.open(store);
    await (await home.sessions.open('k')).append(plainTurn('t1', 'q', 'a'));
    store.read = async () => new Uint8Array(3);
    await expect(Home.open(store)).rejects.toThrow(/^a test failed to read: its result must be \d+ bytes, but/u);
  });
});
