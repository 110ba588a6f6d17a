import { existsSync } from 'node:fs';
import { copyFile, lstat, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Postgres } from '../../src/host/homes/postgres.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { CommandLine } from '../cli/command-line.ts';
import { postgresPrograms, startPostgres, type Server } from '../support/postgres.ts';
import { waitFor } from '../support/wait.ts';
import { chatOf, OWNER, startWorld, type World } from '../support/world.ts';

const programs = postgresPrograms();

describe.skipIf(programs === undefined)('rows of PostgreSQL that name a place outside the home', () => {
  let server: Server;
  beforeAll(async () => {
    server = await startPostgres(programs ?? '');
  });
  afterAll(async () => server?.[Symbol.asyncDispose]());

  /** Opens a home in another folder, after these statements were run on its rows; returns where. */
  async function opened(world: World, ...statements: readonly string[]): Promise<string> {
    const url = await server.database();
    await world.assistant[Symbol.asyncDispose]();
    expect(await new CommandLine().run('store', 'migrate', '--to', url, '--home', world.home)).toBe(0);
    await using postgres = await Postgres.open(url, { clock: systemClock });
    for (const text of statements) await postgres.query(text);
    const other = join(world.home, '..', 'other', 'home');
    await mkdir(other, { recursive: true, mode: 0o700 });
    await copyFile(join(world.home, 'config.json'), join(other, 'config.json'));
    await world.restart(other);
    return other;
  }
  const file = (path: string): string =>
    `INSERT INTO assistant.files (home, path, size, mode, sha256, chunks, target, revision)
     SELECT name, '${path}', 0, 384, encode(sha256(''), 'hex'), '{}', NULL, 1 FROM assistant.homes`;
  const link = (path: string, target: string): string =>
    `INSERT INTO assistant.files (home, path, size, mode, sha256, chunks, target, revision)
     SELECT name, '${path}', 0, 511, '', '{}', '${target}', 1 FROM assistant.homes`;

  test.each(['../OUTSIDE', '../../OUTSIDE', 'workspace/../../OUTSIDE', 'workspace//../../OUTSIDE', './../OUTSIDE'])(
    'the file %s is not written, and the start says which row it is',
    async (path) => {
      await using world = await startWorld();
      await expect(opened(world, file(path))).rejects.toThrow('would be written outside the home');
      for (const up of ['..', '../..']) expect(existsSync(join(world.home, up, 'OUTSIDE'))).toBe(false);
      expect(existsSync(join(world.home, '..', 'other', 'OUTSIDE'))).toBe(false);
      await world.restart(world.home).catch(() => {});
    },
  );

  test.each([
    ['workspace/etc', '/etc'],
    ['workspace/up', '../../..'],
    ['workspace/deep/up', '../../../../x'],
  ])('the link %s to %s is not made, and the home is opened without it', async (path, target) => {
    await using world = await startWorld();
    const home = await opened(world, link(path, target));
    world.model.reply('hello again');
    world.telegram.userSays(OWNER, 'and here?');
    await waitFor(() => chatOf(world).includes('hello again'));
    await expect(lstat(join(home, path))).rejects.toThrow('ENOENT');
  });

  test('a link inside the home is made', async () => {
    await using world = await startWorld();
    const home = await opened(world, link('workspace/notes', 'memory'));
    expect((await lstat(join(home, 'workspace/notes'))).isSymbolicLink()).toBe(true);
  });
});
