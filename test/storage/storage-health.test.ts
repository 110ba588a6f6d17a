import { describe, expect, onTestFinished, test } from 'vitest';
import { classifyFailure } from '../../src/core/storage/storage-failure.ts';
import { storageSentence, type StorageHealth, type StorageState } from '../../src/core/storage/storage-health.ts';
import { AppError } from '../../src/core/util/errors.ts';
import { storageHealth } from '../support/healthy-storage.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

const failure = (code: string): Error => Object.assign(new Error(code), { code });
const sqlite = (errcode: number): Error => Object.assign(new Error('sqlite'), { code: 'ERR_SQLITE_ERROR', errcode });

interface Disk {
  /** What the probe meets; undefined: it works. */
  trouble: Error | undefined;
  readonly asked: number[];
  readonly clock: VirtualClock;
  readonly storage: StorageHealth;
  readonly states: StorageState['state'][];
}

function disk(): Disk {
  const clock = new VirtualClock();
  const asked: number[] = [];
  const states: StorageState['state'][] = [];
  const storage = storageHealth(clock, async (space) => {
    asked.push(space);
    if (made.trouble !== undefined) throw made.trouble;
  });
  storage.onChange(({ state }) => states.push(state));
  onTestFinished(() => storage[Symbol.dispose]());
  const made: Disk = { trouble: undefined, asked, clock, storage, states };
  return made;
}

const signal = new AbortController().signal;

describe('why a write failed', () => {
  test.each([
    ['full', failure('ENOSPC')],
    ['full', failure('EDQUOT')],
    ['full', sqlite(13)],
    ['full', new AppError('database-unusable', 'no', { cause: sqlite(13) })],
    ['read-only', failure('EROFS')],
    ['read-only', sqlite(8 | (1 << 8))],
    ['failing', failure('EIO')],
    ['read-only', new AppError('sync-failed', 'no', { cause: failure('EROFS') })],
    ['failing', new AppError('sync-failed', 'no', { cause: new Error('unknown') })],
    ['failing', failure('EMFILE')],
    ['failing', sqlite(10 | (4 << 8))],
    ['busy', sqlite(5)],
    ['item', sqlite(19)],
    ['bug', new TypeError('x is not a function')],
    ['bug', 'thrown text'],
  ])('is %s for %s', (kind, error) => {
    expect(classifyFailure(error)).toBe(kind);
  });
});

describe('the state of the storage', () => {
  test('waits for a full disk as long as that takes, and writes then', async () => {
    const world = disk();
    world.trouble = failure('ENOSPC');
    let tries = 0;
    const written = world.storage.untilWritten(
      async () => {
        tries += 1;
        if (world.trouble !== undefined) throw world.trouble;
        return 'written';
      },
      { signal, what: 'test' },
    );
    await world.clock.advance(6 * 3_600_000);
    expect(world.storage.state).toMatchObject({ state: 'full', reason: 'ENOSPC' });
    expect(tries).toBe(1);
    world.trouble = undefined;
    await world.clock.advance(15_000);
    expect(await written).toBe('written');
    expect(world.states).toEqual(['full', 'ok']);
  });

  test('is asked at once when a write went through that does not wait for it', async () => {
    const world = disk();
    world.trouble = new AppError('home-store-failed', 'PostgreSQL cannot be reached');
    world.storage.failed(world.trouble);
    await world.clock.advance(60_000);
    expect(world.states).toEqual(['no-database']);
    world.trouble = undefined;
    world.storage.recovers();
    await world.clock.advance(1);
    expect(world.states).toEqual(['no-database', 'ok']);
  });

  test('keeps its beginning while the trouble changes its kind', async () => {
    const world = disk();
    world.trouble = failure('EIO');
    world.storage.failed(failure('EIO'));
    const { since } = world.storage.state;
    await world.clock.advance(500);
    world.trouble = failure('EROFS');
    await world.clock.advance(5_000);
    expect(world.storage.state).toMatchObject({ state: 'read-only', since });
    world.trouble = undefined;
    await world.clock.advance(15_000);
    expect(world.states).toEqual(['failing', 'read-only', 'ok']);
  });

  test('is told as what a look at the disk finds, when a write only says that it failed', async () => {
    const world = disk();
    world.trouble = failure('EROFS');
    world.storage.failed(sqlite(10 | (3 << 8)));
    expect(world.storage.state.state).toBe('failing');
    await world.clock.advance(100);
    world.storage.failed(sqlite(10 | (3 << 8)));
    expect(world.storage.state.state).toBe('read-only');
    expect(world.states).toEqual(['read-only']);
  });

  test('is not in trouble because of one file that cannot be written while the disk takes everything else', async () => {
    const world = disk();
    await world.storage.look();
    expect(world.states).toEqual([]);
    world.trouble = failure('ENOSPC');
    await Promise.all([world.storage.look(), world.storage.look()]);
    expect(world.states).toEqual(['full']);
    expect(world.asked).toHaveLength(2);
  });

  test('is told as failing when the look at the disk hangs', async () => {
    const world = disk();
    const hanging = storageHealth(world.clock, () => new Promise(() => {}));
    const states: string[] = [];
    hanging.onChange(({ state }) => states.push(state));
    hanging.failed(failure('EIO'));
    await world.clock.advance(1_900);
    expect(states).toEqual([]);
    await world.clock.advance(200);
    expect(states).toEqual(['failing']);
  });

  test('is not asked ever faster, and for more room, when a disk is full again at once', async () => {
    const world = disk();
    for (let n = 0; n < 9; n += 1) {
      world.storage.failed(failure('ENOSPC'));
      await world.clock.advance(15_000);
    }
    expect(world.asked).toEqual([128, 256, 512, 1_024, 2_048, 4_096, 4_096, 4_096, 4_096].map((kib) => kib * 1_024));
  });

  test('asks for the room that a failed write says it needs', async () => {
    const world = disk();
    world.storage.failed(new AppError('no-room', 'too little', { facts: { needsBytes: 40_000_000 } }));
    await world.clock.advance(2_000);
    expect(world.asked).toEqual([40_000_000]);
  });

  test('throws what one file refuses again and again while the disk takes everything else', async () => {
    const world = disk();
    let tries = 0;
    const written = world.storage.untilWritten(
      async () => {
        tries += 1;
        throw failure('EIO');
      },
      { signal, what: 'test' },
    );
    written.catch(() => {});
    await world.clock.advance(120_000);
    await expect(written).rejects.toThrow('EIO');
    expect(tries).toBe(5);
  });

  test('counts the tries of a failure that is not the disk’s, and throws it', async () => {
    const world = disk();
    let tries = 0;
    const written = world.storage.untilWritten(
      async () => {
        tries += 1;
        throw new TypeError('a defect');
      },
      { signal, what: 'test' },
    );
    written.catch(() => {});
    await world.clock.advance(60_000);
    await expect(written).rejects.toThrow('a defect');
    expect(tries).toBe(5);
    expect(world.states).toEqual([]);
  });

  test('stays failing after a sync that failed: a probe that works proves nothing then', async () => {
    const world = disk();
    world.storage.failed(new AppError('sync-failed', 'the disk did not confirm a write'));
    await world.clock.advance(3_600_000);
    expect(world.storage.state.state).toBe('failing');
    expect(world.asked).toEqual([]);
  });

  test('ends the waiting with the signal’s reason', async () => {
    const world = disk();
    world.trouble = failure('ENOSPC');
    const stop = new AbortController();
    const written = world.storage.untilWritten(() => Promise.reject(failure('ENOSPC')), {
      signal: stop.signal,
      what: 'test',
    });
    written.catch(() => {});
    await world.clock.advance(1_000);
    stop.abort(new Error('the process is stopping'));
    await expect(written).rejects.toThrow('the process is stopping');
  });

  test('is one sentence with the place and the next step', () => {
    const state: StorageState = { state: 'full', since: 0, reason: 'ENOSPC: no space left on device, write' };
    expect(storageSentence(state, '/home/a')).toBe(
      'The disk of /home/a is full (ENOSPC: no space left on device, write). Free some space there: df -h /home/a shows how much is left.',
    );
    expect(storageSentence({ state: 'ok', since: 0, reason: null }, '/home/a')).toBeNull();
  });
});
