import { existsSync } from 'node:fs';
import { mkdir, readdir, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test } from 'vitest';
import { Tape } from '../../src/core/session/tape.ts';
import { tapeName } from '../../src/core/session/tape-name.ts';

import { countingIds, plainTurn } from '../session/tapes.ts';
import { apiOf } from '../support/api-world.ts';
import { recordingLog } from '../support/recording-log.ts';
import { SkippingClock } from '../support/skipping-clock.ts';
import { waitFor } from '../support/wait.ts';
import { chatOf, OWNER, startWorld, type World, type WorldOptions } from '../support/world.ts';

const DAY_MS = 86_400_000;
const QUIET = { heartbeat: { enabled: false } };
const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

/** A world whose days pass when a test says so, each time with a sweep. */
async function agingWorld(options: WorldOptions = {}): Promise<{
  readonly world: World;
  readonly clock: SkippingClock;
  /** So many days pass, and it is swept; the rows of a statement are read in between two processes. */
  readonly pass: (days: number) => Promise<void>;
  readonly rows: (sql: string) => Promise<readonly Record<string, unknown>[]>;
}> {
  const clock = new SkippingClock();
  const log = recordingLog();
  const world = await startWorld({ clock, log, config: QUIET, ...options });
  const path = join(world.home, 'state.db');
  return {
    world,
    clock,
    pass: async (days) => {
      // What was answered is marked as delivered before time moves on.
      await world.restart();
      clock.skip(days * DAY_MS);
      // The sweep that this set off may have begun before the last rows were settled: another one sees them all.
      for (let n = 0; n < 2; n += 1) {
        const before = log.lines.filter(({ message }) => message === 'sweep: done').length;
        clock.skip(3_700_000);
        const done = (): boolean => log.lines.filter(({ message }) => message === 'sweep: done').length > before;
        await waitFor(done, { what: 'a sweep' });
      }
    },
    rows: async (sql) => {
      await world.assistant[Symbol.asyncDispose]();
      try {
        using db = new DatabaseSync(path, { readOnly: true });
        return db.prepare(sql).all();
      } finally {
        await world.restart();
      }
    },
  };
}

const answered = (world: World, count: number): Promise<unknown> =>
  waitFor(() => chatOf(world).length >= count, { what: `${count} replies` });

describe('what is kept how long', () => {
  test('a message keeps its text for 30 days and its row for 90; a repetition of it is known for 400', async () => {
    const { world, pass, rows } = await agingWorld();
    await using _ = world;
    world.model.setHandler(() => 'Yes.');
    const { updateId } = world.telegram.userSays(OWNER, 'remember the key under the mat');
    await answered(world, 1);
    const texts = "SELECT payload FROM inbound UNION ALL SELECT payload FROM outbound WHERE kind = 'answer'";
    const parts = 'SELECT text FROM parts';
    await pass(29);
    expect((await rows(texts)).map(({ payload }) => typeof payload)).toEqual(['string', 'string']);
    await pass(2);
    expect((await rows(texts)).map(({ payload }) => payload)).toEqual([null, null]);
    expect(await rows(parts)).toEqual([{ text: '' }]);
    await pass(60);
    expect(
      await rows('SELECT id FROM inbound UNION ALL SELECT id FROM turns UNION ALL SELECT id FROM outbound'),
    ).toEqual([]);
    expect(await rows(parts)).toEqual([]);
    expect(await rows('SELECT length(key) AS bytes FROM dedupe')).toEqual([{ bytes: 16 }]);

    world.telegram.duplicateUpdate(updateId, { asNew: true });
    world.telegram.userSays(OWNER, 'and this is new');
    await answered(world, 2);
    expect(world.model.requests).toHaveLength(2);
    // Taken again it would be in the same turn.
    const asked = JSON.stringify(world.model.requests[1]?.body);
    expect(asked.match(/remember the key under the mat/gu)).toHaveLength(1);

    await pass(320);
    expect(await rows('SELECT 1 FROM dedupe WHERE at < (SELECT max(at) FROM dedupe)')).toEqual([]);
  });

  test('what was used adds up after it was folded into hours and days', async () => {
    const { world, pass, rows } = await agingWorld();
    await using _ = world;
    world.model.setHandler(() => 'Yes.');
    for (const [n, words] of ['one', 'two', 'three'].entries()) {
      world.telegram.userSays(OWNER, words);
      await answered(world, n + 1);
    }
    const sums = 'SELECT sum(calls) AS calls, sum(input) AS input, sum(output) AS output FROM usage';
    const total = "SELECT calls, input, output FROM usage_total WHERE session = ''";
    const [before] = await rows(sums);
    expect(before).toMatchObject({ calls: 3 });
    await pass(91);
    expect(await rows('SELECT DISTINCT span FROM usage')).toEqual([{ span: 'hour' }]);
    expect(await rows(sums)).toEqual([before]);
    await pass(300);
    expect(await rows('SELECT DISTINCT span FROM usage')).toEqual([{ span: 'day' }]);
    expect(await rows(sums)).toEqual([before]);
    expect(await rows(total)).toEqual([before]);
    world.telegram.userSays(OWNER, '/usage');
    await answered(world, 4);
    const everywhere = /Everywhere: ([\d,]+) tokens in.*?, ([\d,]+) out, (\d+) calls/u.exec(chatOf(world).at(-1) ?? '');
    expect(everywhere?.slice(1).map((text) => Number(text.replaceAll(',', '')))).toEqual([
      before?.['input'],
      before?.['output'],
      3,
    ]);
  });

  test('an owner who was silent for months is still told what they have to decide', async () => {
    const { world, pass } = await agingWorld();
    await using _ = world;
    world.model.setHandler(() => 'Hello.');
    world.telegram.userSays(OWNER, 'hello');
    await answered(world, 1);
    await pass(120);
    await mkdir(join(world.workspace, 'cron'), { recursive: true });
    const job = { id: 'tea', text: 'Tea!', every: '1h', chat: `telegram:${OWNER}` };
    await writeFile(join(world.workspace, 'cron', 'jobs.json'), JSON.stringify({ version: 1, jobs: [job] }));
    await world.restart();
    await waitFor(() => chatOf(world).some((text) => text.includes('have not approved')), { what: 'the question' });
  });
});

describe('files', () => {
  test('a photo lies on the disk once for all transcripts, is shown again after a restart, and goes after 30 days', async () => {
    const { world, pass } = await agingWorld();
    await using _ = world;
    world.model.setHandler(() => 'A dot.');
    world.telegram.addFile('p1', PNG, 'photos/p1.jpg');
    world.telegram.userSays(OWNER, '', { text: undefined, photo: [{ file_id: 'p1', file_size: PNG.length }] });
    await answered(world, 1);
    const media = join(world.home, 'media');
    const all = await readdir(media, { recursive: true, withFileTypes: true });
    const names = all.filter((entry) => entry.isFile()).map(({ name }) => name);
    // One for all transcripts, and a copy for the tools of its session.
    expect(names.filter((name) => /^[0-9a-f]{64}$/u.test(name))).toHaveLength(1);
    expect(names.filter((name) => name.endsWith('.jpg'))).toHaveLength(1);
    expect(names).toHaveLength(2);
    await world.restart();
    world.telegram.userSays(OWNER, 'which colour?');
    await answered(world, 2);
    expect(JSON.stringify(world.model.requests.at(-1)?.body)).toContain(PNG.toString('base64'));
    await pass(31);
    const left = await readdir(media, { recursive: true, withFileTypes: true });
    expect(left.filter((entry) => entry.isFile())).toEqual([]);
  });

  test('the tape of a job that ran for months loses its oldest turns, and the job still knows what it said last', async () => {
    const clock = new SkippingClock();
    await using world = await startWorld({ clock, config: { ...QUIET, agent: { timezone: 'Europe/Vienna' } } });
    const job = { action: 'add', when: 'every 1h', text: 'look at the mail', kind: 'agent' };
    world.model.reply({ calls: [{ name: 'cron', arguments: job }] }, 'I will.');
    world.telegram.userSays(OWNER, 'look at my mail each hour');
    await answered(world, 1);
    await world.assistant[Symbol.asyncDispose]();
    const path = join(world.home, 'sessions', tapeName('cron:look-at-the-mail'));
    const tape = await Tape.open({
      path,
      key: 'cron:look-at-the-mail',
      quarantine: join(world.home, 'quarantine'),
      clock,
      newId: countingIds(),
      log: recordingLog(),
    });
    const MAIL = 'mail '.repeat(2_000);
    for (let n = 0; n < 900; n += 1) {
      await tape.append(plainTurn(`run-${n}`, `Scheduled task. ${MAIL}`, `Nothing new, look ${n}.`), 'lazy');
    }
    await tape.close();
    expect((await stat(path)).size).toBeGreaterThan(8_500_000);
    await world.restart();
    world.model.setHandler(() => 'One letter.');
    clock.skip(3_700_000);
    await waitFor(() => chatOf(world).at(-1)?.includes('One letter.') === true, { what: 'the run' });
    const size = await stat(path).then((facts) => facts.size);
    expect(size).toBeGreaterThan(4_000_000);
    expect(size).toBeLessThan(4_500_000);
    const request = JSON.stringify(world.model.requests.at(-1)?.body);
    expect(request).toContain('Nothing new, look 899.');
    expect(request).not.toContain('Nothing new, look 890.');
  });

  test('parts of prompts that no conversation names go with the sweep of each day, while the process runs', async () => {
    const { world, clock, pass } = await agingWorld();
    await using _ = world;
    world.model.setHandler(() => 'Hello.');
    world.telegram.userSays(OWNER, 'hello');
    await answered(world, 1);
    const folder = join(world.home, 'prompts');
    const named = await readdir(folder);
    await pass(2);
    const left = join(folder, 'f'.repeat(64));
    await writeFile(left, 'an old layer');
    const old = new Date(Date.now() - 2 * DAY_MS);
    await utimes(left, old, old);
    for (const name of named) await utimes(join(folder, name), old, old);
    clock.skip(DAY_MS);
    await waitFor(() => !existsSync(left), { what: 'the part is gone' });
    expect((await readdir(folder)).toSorted()).toEqual(named.toSorted());
  });

  test('a conversation of a program that names no session goes after a day, with the words of its messages', async () => {
    const { world, pass, rows } = await agingWorld();
    await using _ = world;
    world.model.setHandler(() => 'Under the mat.');
    const api = await apiOf(world);
    const ask = { model: 'assistant', messages: [{ role: 'user', content: 'Where is the key?' }] };
    await api.post('/v1/chat/completions', ask);
    await api.post('/v1/chat/completions', ask, { 'X-Assistant-Session': 'kept' });
    const tapes = async (): Promise<readonly string[]> => readdir(join(world.home, 'sessions'));
    const texts = "SELECT count(*) AS n FROM inbound WHERE channel = 'api' AND payload IS NOT NULL";
    expect([(await tapes()).length, await rows(texts)]).toEqual([2, [{ n: 2 }]]);
    await pass(1);
    expect([await tapes(), await rows(texts)]).toEqual([[tapeName('api:kept')], [{ n: 1 }]]);
  });

  test('long results go after 7 days, damaged data after 90, tapes of subagents and of jobs that are gone after 90; those of people stay', async () => {
    const { world, pass } = await agingWorld();
    await using _ = world;
    world.model.setHandler(() => 'Hello.');
    world.telegram.userSays(OWNER, 'hello');
    await answered(world, 1);
    const put = async (...names: readonly string[]): Promise<string> => {
      const path = join(world.home, ...names);
      await mkdir(join(path, '..'), { recursive: true });
      await writeFile(path, 'x');
      return path;
    };
    const spill = await put('spill', 'telegram-42', 'call.txt');
    const damaged = await put('quarantine', 'tape.jsonl.12');
    const task = await put('sessions', tapeName('subagent:telegram%3A42:01T.1'));
    const job = await put('sessions', tapeName('cron:long-gone'));
    const there = (): readonly boolean[] => [spill, damaged, task, job].map((path) => existsSync(path));
    await pass(6);
    expect(there()).toEqual([true, true, true, true]);
    await pass(2);
    expect(there()).toEqual([false, true, true, true]);
    expect(existsSync(join(spill, '..'))).toBe(false);
    await pass(83);
    expect(there()).toEqual([false, false, false, false]);
    expect(existsSync(join(world.home, 'sessions', tapeName(`telegram:${OWNER}`)))).toBe(true);
  });
});

test('/status tells the owner how large each store is and what went last', async () => {
  const { world, pass } = await agingWorld();
  await using _ = world;
  world.model.setHandler(() => 'Hello.');
  world.telegram.userSays(OWNER, 'hello');
  await answered(world, 1);
  await pass(31);
  world.telegram.userSays(OWNER, '/status');
  await answered(world, 2);
  expect(chatOf(world).at(-1)).toMatch(
    /Storage: [\d.]+ MB \(.*journal [\d.]+ MB.*\); cleaned up within the last hour/u,
  );
  expect((await world.assistant.call('info', {})).storage).toMatch(/^[\d.]+ MB \(/u);
});
