import { readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { PROGRAM } from '../support/extensions.ts';
import { openStores, type Stores } from '../../src/core/stores/stores.ts';
import { ensureHome, homePaths } from '../../src/core/config/home.ts';
import { loadConfig } from '../../src/core/config/load.ts';
import { Starts } from '../../src/core/journal/starts.ts';
import { probeDisk } from '../../src/core/storage/files.ts';
import { StorageHealth } from '../../src/core/storage/storage-health.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { createIds } from '../../src/core/util/ids.ts';
import { silentLog } from '../../src/core/util/log.ts';
import { systemRandom } from '../../src/core/util/random.ts';
import { fillUp, mountSmallDisk, whyNoSmallDisks } from '../support/small-disk.ts';
import { tempFolder } from '../support/temp.ts';
import { waitFor } from '../support/wait.ts';

const why = whyNoSmallDisks();
if (why !== null) process.stderr.write(`small disks are not tested: ${why}\n`);

interface World extends AsyncDisposable {
  readonly stores: Stores;
  readonly storage: StorageHealth;
  readonly search: string;
  fill(): Promise<void>;
  free(): Promise<void>;
}

/** The stores of a home on a disk of 8 MB, as the daemon opens them. */
async function storesOnSmallDisk(): Promise<World> {
  await using stack = new AsyncDisposableStack();
  const folder = stack.use(await tempFolder());
  stack.use(mountSmallDisk(folder.path, 8));
  const paths = homePaths(join(folder.path, 'home'));
  await ensureHome(paths);
  const startedAt = systemClock.now();
  const { config } = await loadConfig({ program: PROGRAM, home: paths.home, env: {}, overrides: {} });
  const storage = stack.use(
    new StorageHealth({
      journal: paths.state,
      clock: systemClock,
      log: silentLog,
      startedAt,
      probe: (room) => probeDisk(paths.probe, room),
    }),
  );
  const newId = createIds(systemClock, systemRandom);
  const redact = (text: string): string => text;
  const common = { program: PROGRAM, paths, clock: systemClock, random: systemRandom, newId, log: silentLog, config };
  const base = { ...common, startedAt, redact, boot: null, storage };
  const stores = await openStores(base, stack, {
    onSyncFailure: () => {},
    kept: null,
    starts: new Starts(null, systemClock),
  });
  const ballast = join(folder.path, 'ballast');
  stack.defer(() => rm(ballast, { force: true }));
  const owned = stack.move();
  return {
    stores,
    storage,
    search: paths.search,
    fill: () => fillUp(ballast),
    free: () => rm(ballast, { force: true }),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** More than what a disk has left in blocks that are begun already. */
const LONG = 'words '.repeat(20_000);
const BYTES = Buffer.from(LONG);

const WRITES: Readonly<Record<string, (stores: Stores) => Promise<unknown>>> = {
  'the audit log': async ({ audit }) => {
    for (let n = 0; n < 3; n += 1)
      await audit.record({
        turn: null,
        session: null,
        who: null,
        role: 'owner',
        origin: 'user',
        what: LONG.slice(0, 7_000),
        decision: 'allowed',
        reason: null,
        approval: null,
      });
  },
  'the copies for /undo': ({ changes }) =>
    changes.recordChange({
      sessionKey: 's',
      turnId: 't',
      callId: 'c',
      path: '/x',
      before: { bytes: BYTES, mode: 0o600 },
      after: null,
    }),
  'MEMORY.md': async ({ memory }) => memory.replace(LONG, { ifHash: (await memory.read()).hash, reason: 'test' }),
  'HISTORY.md': ({ memory }) => memory.appendHistory([{ at: 0, text: LONG }]),
  'the marks of untrusted files': ({ marks }) => marks.record([{ path: 'x'.repeat(20_000) }], 'outside'),
  'long results': ({ spill }) => spill.put('s', 'c', LONG),
  photos: ({ media }) => media.put(BYTES),
  'parts of prompts': ({ promptParts }) => promptParts.keep(['a'.repeat(64)], () => [LONG]),
  'a tape': async ({ sessions }) => (await sessions.open('s')).append([{ kind: 'reset', turn: null, reason: LONG }]),
};

describe.skipIf(why !== null)('a full disk is known from the first write that it refuses,', () => {
  test.each(Object.keys(WRITES))('also when that is of %s', async (name) => {
    await using world = await storesOnSmallDisk();
    await world.fill();
    await Promise.resolve(WRITES[name]?.(world.stores)).catch(() => {});
    await waitFor(() => world.storage.state.state === 'full', { what: 'the report' });
    await world.free();
    await waitFor(() => world.storage.state.state === 'ok');
  });

  test('also when that is of the search index, which stays and finds what it has', { timeout: 180_000 }, async () => {
    await using world = await storesOnSmallDisk();
    const { memory, search } = world.stores;
    const find = (text: string): ReturnType<typeof search.search> => search.search({ text, limit: 3, scope: 'all' });
    await memory.appendHistory([{ at: 0, text: 'A zeppelin over Lisbon' }]);
    expect(await find('zeppelin')).toHaveLength(1);
    const before = await stat(world.search);
    // More than the room that its log has begun already.
    await memory.appendHistory(
      Array.from({ length: 300 }, (_, n) => ({ at: n, text: `Word${n} ${LONG.slice(0, 1_000)}` })),
    );
    await memory.appendHistory([{ at: 1, text: 'A submarine under Porto' }]);
    await world.fill();
    expect(await find('zeppelin')).toHaveLength(1);
    await waitFor(() => world.storage.state.state === 'full', { what: 'the report' });
    await world.free();
    await waitFor(() => world.storage.state.state === 'ok');
    expect(await find('submarine')).toHaveLength(1);
    expect((await stat(world.search)).ino).toBe(before.ino);
    expect((await readFile(world.search)).length).toBeGreaterThan(0);
  });
});
