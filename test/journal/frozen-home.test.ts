import { execFile } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gunzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { CommandLine } from '../cli/command-line.ts';
import {
  contentsOf,
  FROZEN,
  HOMES,
  readManifest,
  unpackFrozenHome,
  type HomeContents,
  type KeptMessage,
  type Manifest,
} from '../support/frozen-home.ts';
import { postgresPrograms, startPostgres } from '../support/postgres.ts';
import { SkippingClock } from '../support/skipping-clock.ts';
import { tempFolder } from '../support/temp.ts';
import { describeWith } from '../support/test-with.ts';
import { waitFor } from '../support/wait.ts';
import { chatOf, OWNER, startWorld, type World } from '../support/world.ts';

describe('the frozen home', () => {
  test('holds everything that its manifest lists', async () => {
    const manifest = await readManifest();
    await using folder = await tempFolder();
    await unpackFrozenHome(folder.path);
    for (const name of ['main', 'kim'] as const) {
      expect(await contentsOf(join(folder.path, HOMES[name]))).toEqual(manifest.homes[name]);
    }
  });

  test('is opened by an assistant that answers and loses nothing in it', async () => {
    const manifest = await readManifest();
    await using world = await startWorld({
      clock: new SkippingClock(manifest.madeAt),
      script: (model) => model.setHandler(() => 'I am still here.'),
      furnish: async (home) => {
        const path = join(home, 'config.json');
        const own = JSON.parse(await readFile(path, 'utf8'));
        await unpackFrozenHome(home);
        const { agents } = JSON.parse(await readFile(path, 'utf8'));
        // The servers of the life that filled it are gone: its channels and models are this world's.
        await writeFile(path, JSON.stringify({ ...own, agents }), { mode: 0o600 });
      },
    });
    await answers(world);
    await world.assistant[Symbol.asyncDispose]();
    for (const name of ['main', 'kim'] as const) {
      expectKept(await contentsOf(join(world.home, HOMES[name])), { before: manifest.homes[name], manifest });
    }
  });
});

const programs = postgresPrograms();
describeWith('PostgreSQL')('the frozen home in PostgreSQL', () => {
  test('is opened by an assistant that answers and loses nothing in it', async () => {
    const manifest = await readManifest();
    await using server = await startPostgres(programs ?? '');
    const store = await server.database();
    await using folder = await tempFolder();
    const dump = join(folder.path, 'dump.sql');
    await writeFile(dump, gunzipSync(await readFile(join(FROZEN, 'postgres.sql.gz'))));
    const flags = ['-q', '-v', 'ON_ERROR_STOP=1', '-f', dump, store];
    await promisify(execFile)(join(programs ?? '', 'psql'), flags, { timeout: 60_000 });
    await using world = await startWorld({
      clock: new SkippingClock(manifest.madeAt),
      script: (model) => model.setHandler(() => 'I am still here.'),
    });
    const home = join(folder.path, 'home');
    await mkdir(home, { mode: 0o700 });
    const own = JSON.parse(await readFile(join(world.home, 'config.json'), 'utf8'));
    await writeFile(join(home, 'config.json'), JSON.stringify({ ...own, store }), { mode: 0o600 });
    await world.restart(home);
    await answers(world);
    await world.assistant[Symbol.asyncDispose]();
    const line = new CommandLine({ home });
    expect(await line.run('store', 'migrate', '--to', 'local'), line.err).toBe(0);
    expectKept(await contentsOf(home), { before: manifest.homes.main, manifest });
  });
});

async function answers(world: World): Promise<void> {
  world.telegram.userSays(OWNER, 'Are you still there?');
  await waitFor(() => chatOf(world).includes('I am still here.'), { timeoutMs: 60_000, what: 'an answer' });
}

function expectKept(
  now: HomeContents,
  { before, manifest }: { readonly before: HomeContents; readonly manifest: Manifest },
): void {
  for (const [table, count] of Object.entries(before.rows)) {
    if (table in manifest.mayEnd) continue;
    expect(now.rows[table] ?? 0, `rows of ${table}`).toBeGreaterThanOrEqual(count);
  }
  for (const [kind, count] of Object.entries(before.entries)) {
    expect(now.entries[kind] ?? 0, `entries of the kind ${kind}`).toBeGreaterThanOrEqual(count);
  }
  const open = new Set(before.openTurns.map(({ id }) => id));
  for (const [key, messages] of Object.entries(before.conversations)) {
    const entries = new Set(messages.map(({ entryId }) => entryId));
    // An open turn goes on, and what it had said so far is closed by the program; what people said in it stays.
    const stays = ({ turn, message }: KeptMessage): boolean => !open.has(turn) || message.role === 'user';
    const kept = (now.conversations[key] ?? []).filter(({ entryId }) => entries.has(entryId));
    expect(kept.filter(stays), key).toEqual(messages.filter(stays));
  }
  // A question ends when the person writes something else in its chat.
  const elsewhere = before.openQuestions.filter(({ session }) => session !== `telegram:${OWNER}`);
  expect(now.openQuestions).toEqual(elsewhere);
  expect(now.facts).toEqual(before.facts);
  expect(now.people).toEqual(before.people);
  expect(now.jobs).toEqual(before.jobs);
}
