import { appendFile, readdir, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ChangeLog, sha256, type FileChange } from '../../src/core/storage/change-log.ts';
import { tempFolder } from '../support/temp.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

const DAY_MS = 86_400_000;

function change(overrides: Partial<FileChange> = {}): FileChange {
  return {
    sessionKey: 'telegram:1',
    turnId: 'T1',
    callId: 'T1.1',
    path: '/w/a.txt',
    before: { bytes: Buffer.from('old'), mode: 0o640 },
    after: Buffer.from('new'),
    ...overrides,
  };
}

async function open(): Promise<{ log: ChangeLog; clock: VirtualClock; folder: string } & AsyncDisposable> {
  const { path: folder, [Symbol.asyncDispose]: dispose } = await tempFolder();
  const clock = new VirtualClock();
  return { log: new ChangeLog({ folder, clock }), clock, folder, [Symbol.asyncDispose]: dispose };
}

describe('a change that is recorded', () => {
  test('is read back with a copy of what was there and the hash of what comes', async () => {
    await using world = await open();
    await world.log.recordChange(change());
    expect(await world.log.of('telegram:1', 'T1')).toEqual([
      {
        at: world.clock.now(),
        call: 'T1.1',
        path: '/w/a.txt',
        before: { hash: sha256(Buffer.from('old')), mode: 0o640 },
        after: sha256(Buffer.from('new')),
      },
    ]);
    expect((await world.log.copy(sha256(Buffer.from('old'))))?.toString()).toBe('old');
  });

  test('belongs to its turn and session, in order, also in a new process', async () => {
    await using world = await open();
    for (const callId of ['T1.1', 'T1.2']) await world.log.recordChange(change({ callId }));
    await world.log.recordChange(change({ turnId: 'T2' }));
    await world.log.recordChange(change({ sessionKey: 'telegram:2', callId: 'T1.3' }));
    const later = new ChangeLog({ folder: world.folder, clock: world.clock });
    expect((await later.of('telegram:1', 'T1')).map(({ call }) => call)).toEqual(['T1.1', 'T1.2']);
    expect(await later.of('telegram:1', 'T3')).toEqual([]);
  });

  test('of a new file, a removed file and one too large for a copy says so', async () => {
    await using world = await open();
    await world.log.recordChange(change({ before: null }));
    await world.log.recordChange(change({ before: { bytes: null, mode: 0o600 }, after: null }));
    expect(await world.log.of('telegram:1', 'T1')).toMatchObject([
      { before: null },
      { before: { hash: null, mode: 0o600 }, after: null },
    ]);
    expect(await readdir(join(world.folder, 'copies'))).toEqual([]);
  });

  test('keeps the same bytes once, readable for nobody else', async () => {
    await using world = await open();
    for (const path of ['/w/a', '/w/b']) await world.log.recordChange(change({ path }));
    const copies = await readdir(join(world.folder, 'copies'));
    expect(copies).toHaveLength(1);
    expect((await stat(join(world.folder, 'copies', copies[0] ?? ''))).mode & 0o777).toBe(0o600);
    expect((await stat(join(world.folder, 'turns', 'T1.jsonl'))).mode & 0o777).toBe(0o600);
  });

  test('whatever its turn is called lies in the folder', async () => {
    await using world = await open();
    await world.log.recordChange(change({ turnId: '../../T' }));
    expect(await world.log.of('telegram:1', '../../T')).toHaveLength(1);
    expect(await readdir(join(world.folder, 'turns'))).toHaveLength(1);
  });

  test('is refused where the disk takes nothing', async () => {
    await using world = await open();
    await writeFile(join(world.folder, 'copies'), 'a file in the way');
    await expect(world.log.recordChange(change())).rejects.toThrow();
  });
});

describe('damage', () => {
  test('of a line costs that line', async () => {
    await using world = await open();
    const file = join(world.folder, 'turns', 'T1.jsonl');
    await world.log.recordChange(change());
    await appendFile(file, '{"v":1,"at":');
    await world.log.recordChange(change({ callId: 'T1.2' }));
    expect((await world.log.of('telegram:1', 'T1')).map(({ call }) => call)).toEqual(['T1.1', 'T1.2']);
  });

  test('of a copy is noticed, and the next record of it heals it', async () => {
    await using world = await open();
    const hash = sha256(Buffer.from('old'));
    await world.log.recordChange(change());
    await writeFile(join(world.folder, 'copies', hash), 'rot');
    expect(await world.log.copy(hash)).toBeUndefined();
    await world.log.recordChange(change());
    expect((await world.log.copy(hash))?.toString()).toBe('old');
  });

  test('nothing but a hash names a copy', async () => {
    await using world = await open();
    expect(await world.log.copy('../turns/T1.jsonl')).toBeUndefined();
  });
});

describe('pruning', () => {
  test('takes records and copies of 90 days ago, but no copy that was used since', async () => {
    await using world = await open();
    const { log, clock } = world;
    await log.recordChange(change({ before: { bytes: Buffer.from('used again'), mode: 0o600 } }));
    await log.recordChange(change());
    await clock.advance(60 * DAY_MS);
    await log.recordChange(change({ turnId: 'T2', before: { bytes: Buffer.from('used again'), mode: 0o600 } }));
    await log.prune(clock.now() + 29 * DAY_MS);
    expect(await log.of('telegram:1', 'T1')).toHaveLength(2);
    await log.prune(clock.now() + 31 * DAY_MS);
    expect(await log.of('telegram:1', 'T1')).toEqual([]);
    expect(await log.of('telegram:1', 'T2')).toHaveLength(1);
    expect(await readdir(join(world.folder, 'copies'))).toEqual([sha256(Buffer.from('used again'))]);
  });

  test('does nothing where nothing was ever recorded', async () => {
    await using world = await open();
    await world.log.prune(world.clock.now());
  });

  test('side by side with records loses none of their copies', async () => {
    await using world = await open();
    const { log, clock, folder } = world;
    const bytes = Buffer.from('old');
    await log.recordChange(change());
    const longAgo = new Date(clock.now() - 100 * DAY_MS);
    await utimes(join(folder, 'copies', sha256(bytes)), longAgo, longAgo);
    const turns = Array.from({ length: 20 }, (_, n) => `P${n}`);
    await Promise.all(turns.flatMap((turnId) => [log.recordChange(change({ turnId })), log.prune(clock.now())]));
    expect(await log.copy(sha256(bytes))).toBeDefined();
    for (const turnId of turns) expect(await log.of('telegram:1', turnId)).toHaveLength(1);
  });
});
