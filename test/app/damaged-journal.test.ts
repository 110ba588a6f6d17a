import { closeSync, openSync, rmSync, statSync, truncateSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test } from 'vitest';
import { OWNER, startSmallDisk, type SmallDiskWorld } from '../support/small-disk.ts';
import { waitFor } from '../support/wait.ts';

const PATIENT = { timeoutMs: 60_000 };

/** Writes other bytes over the middle of the file, as a broken disk or another program would. */
function damage(path: string): void {
  const { size } = statSync(path);
  const file = openSync(path, 'r+');
  writeSync(file, Buffer.alloc(size / 2, 'not a page '), 0, size / 2, 4_096 * Math.floor(size / 4 / 4_096));
  closeSync(file);
}

async function startsServing(world: SmallDiskWorld): Promise<void> {
  world.start();
  await waitFor(async () => (await world.health())?.status === 200, PATIENT);
}

describe('a state.db that is damaged while the gateway runs', () => {
  test(
    'is told in /health, in the log and once to the owner, and no message is lost',
    { timeout: 180_000 },
    async () => {
      await using world = await startSmallDisk({ disk: 'switched' });
      const path = join(world.home, 'state.db');
      await startsServing(world);
      world.telegram.userSays(OWNER, 'before');
      await waitFor(() => world.chat().includes('Answer to before'), PATIENT);
      const backup = join(world.home, '..', 'backup.tar.gz');
      expect(await world.run('backup', '--out', backup)).toMatchObject({ code: 0 });
      damage(path);
      await waitFor(async () => (await world.health())?.status === 503, PATIENT);
      world.telegram.userSays(OWNER, 'meanwhile');
      const sentence = `${path} is damaged`;
      const next = `To go back to a backup: assistant restore BACKUP --home ${world.home}.`;
      await waitFor(() => world.chat().length === 2, PATIENT);
      expect(world.chat()[1]).toContain(`⚠ ${sentence} (`);
      expect(world.chat()[1]).toContain(next);
      const health: unknown = await (await fetch(`${world.address}/health`)).json();
      expect(health).toMatchObject({ status: 'degraded', storage: 'damaged', trouble: expect.stringContaining(next) });
      expect((await world.run('status')).said).toContain(sentence);
      expect((await world.run('doctor', '--offline')).said).toContain(sentence);
      const lines = world
        .log()
        .split('\n')
        .filter((line) => line.includes('the journal is damaged'));
      expect(lines.map((line): unknown => JSON.parse(line))).toEqual([
        expect.objectContaining({ level: 50, path, reason: expect.any(String) }),
      ]);
      await world.stop();

      expect(await world.run('restore', backup, '--yes')).toMatchObject({ code: 0 });
      await startsServing(world);
      await waitFor(() => world.chat().includes('Answer to meanwhile'), PATIENT);
      expect(world.chat().filter((text) => text.includes(sentence))).toHaveLength(1);
    },
  );
});

test(
  'a write-ahead log that is removed while the gateway runs is told to the owner, and the gateway starts anew with all that it knew',
  { timeout: 180_000 },
  async () => {
    await using world = await startSmallDisk({ disk: 'switched' });
    await startsServing(world);
    world.telegram.userSays(OWNER, 'before');
    await waitFor(() => world.chat().includes('Answer to before'), PATIENT);
    rmSync(join(world.home, 'state.db-wal'));
    await waitFor(() => world.log().includes('state.db-wal was removed or replaced'), PATIENT);
    await waitFor(() => world.log().split('"msg":"ready"').length === 3, { ...PATIENT, what: 'the next start' });
    world.telegram.userSays(OWNER, 'after');
    await waitFor(() => world.chat().includes('Answer to after'), PATIENT);
    const notice =
      /^⚠ I had to restart: .*state\.db-wal was removed or replaced while the assistant had it open\. What it held is saved/u;
    await waitFor(() => world.chat().some((text) => notice.test(text)), PATIENT);
    using journal = new DatabaseSync(join(world.home, 'state.db'), { readOnly: true });
    expect(journal.prepare("SELECT count(*) AS n FROM turns WHERE outcome = 'answered'").get()).toEqual({ n: 2 });
  },
);

test.each([
  ['emptied', (path: string) => truncateSync(path, 0)],
  ['overwritten with zeros', (path: string) => writeFileSync(path, Buffer.alloc(4_096), { flag: 'r+' })],
])(
  'a write-ahead log that is %s while the gateway runs is told in /health and to the owner within seconds',
  { timeout: 180_000 },
  async (_how, spoil) => {
    await using world = await startSmallDisk({ disk: 'switched' });
    await startsServing(world);
    world.telegram.userSays(OWNER, 'before');
    await waitFor(() => world.chat().includes('Answer to before'), PATIENT);
    // The log is looked at every 5 s.
    await delay(6_000);
    spoil(join(world.home, 'state.db-wal'));
    await waitFor(async () => (await world.health())?.status === 503, PATIENT);
    await waitFor(() => world.chat().some((text) => /state\.db is damaged/u.test(text)), PATIENT);
  },
);
