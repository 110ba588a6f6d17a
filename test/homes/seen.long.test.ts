import { TABLES } from '../support/extensions.ts';
import { cp, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createAssistant } from '../../src/app.ts';
import { tablesAfter } from '../../src/host/homes/journal-tables.ts';
import { Postgres } from '../../src/host/homes/postgres.ts';
import { describeWith } from '../support/test-with.ts';
import { installSchema } from '../../src/host/homes/schema.ts';
import { journalMigrations } from '../../src/core/journal/schema.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { silentLog } from '../../src/core/util/log.ts';
import { runCommand } from '../support/command-run.ts';
import { postgresPrograms, startPostgres, type Server } from '../support/postgres.ts';
import { tempFolder } from '../support/temp.ts';
import { waitFor } from '../support/wait.ts';
import { startMachines } from './machines-world.ts';

const programs = postgresPrograms();

interface Row {
  readonly id: string;
  readonly state: string;
  readonly evidence: string;
  readonly remedy: string | null;
}

/** What the doctor says in a folder, of checks whose ids begin like this. */
async function rowsOf(folder: string, prefix = '', ...words: readonly string[]): Promise<readonly Row[]> {
  const { out } = await runCommand(['doctor', '--json', ...words], folder);
  return (JSON.parse(out) as { readonly checks: readonly Row[] }).checks.filter(({ id }) => id.startsWith(prefix));
}

const said = (rows: readonly Row[], id: string): readonly string[] =>
  rows.filter((row) => row.id === id).map(({ state, evidence }) => `${state}: ${evidence}`);

/** The folder of a machine in which nothing was started. */
async function machineFolder(parent: string, store: string): Promise<string> {
  const folder = join(parent, 'machine');
  await mkdir(folder, { mode: 0o700 });
  await writeFile(join(folder, 'config.json'), JSON.stringify({ store, homes: { enabled: true } }), { mode: 0o600 });
  return folder;
}

describeWith('PostgreSQL')('what a person sees of several machines', () => {
  let server: Server;
  beforeAll(async () => {
    server = await startPostgres(programs ?? '');
  });
  afterAll(async () => server?.[Symbol.asyncDispose]());

  test('status and doctor tell the homes of a machine, all gateways, and what no gateway runs', async () => {
    const url = await server.database();
    await using world = await startMachines(`${url}&leaseSeconds=30`, ['ada', 'bob']);
    const a = await world.machine('a');
    await a.runs(2);
    await world.asks('ada', 'said-one', 're: said-one');
    await using postgres = await Postgres.open(url, { clock: systemClock });
    // One home is left to a gateway of its own, of another version; another needs a newer program; one gateway is gone, one has stopped.
    await postgres.query(
      `INSERT INTO assistant.homes (name, schema, oldest_reader, lease_until) VALUES
        ('dora', 1, 9999, NULL), ('zed', 1, 0, clock_timestamp() - interval '5 min')`,
    );
    await postgres.query(
      `INSERT INTO assistant.gateways (owner, name, version, only_home, max, schema, started_at, seen_until, is_leaving) VALUES
        ('w', '/srv/done on host-4', '0.0.1', NULL, 9, 1, now(), clock_timestamp() - interval '1 hour', true),
        ('x', '/srv/zed on host-2', '0.0.1', 'zed', 1, 1, now(), clock_timestamp() + interval '1 hour', false),
        ('y', '/srv/old on host-3', '0.0.1', NULL, 9, 1, now(), clock_timestamp() - interval '1 hour', false)`,
    );
    const place = `${a.folder} on ${hostname()}`;
    const idle = /^home {6}ada: running, no turn, the database has everything$/mu;
    const status = await waitFor(async () => {
      const { out } = await runCommand(['status'], a.folder);
      return idle.test(out) && out.includes('2 waiting') ? out : null;
    });
    expect(status).toMatch(/^running, process \d+, version \S+, for \d+ min$/mu);
    expect(status).toContain(`machine   ${a.folder}\n`);
    expect(status).toMatch(/^homes {5}2 running, 2 waiting$/mu);
    expect(status).toMatch(/^home {6}bob: running, no turn, the database has everything$/mu);
    expect(status).toContain(`gateway   ${place}: version `);
    expect(status).toMatch(/, 2 of at most 1000 homes, load \d+\.\d$/mu);
    expect(status).toMatch(/^gateway {3}\/srv\/zed on host-2: version 0\.0\.1, waits for zed$/mu);
    expect(status).toMatch(/^gateway {3}\/srv\/old on host-3: gone \(version 0\.0\.1\)$/mu);
    expect(status).toMatch(/^gateway {3}\/srv\/done on host-4: stopped \(version 0\.0\.1\)$/mu);
    expect(status).toMatch(/^versions {2}side by side: 0\.0\.1 \(1 gateway\), \S+ \(1 gateway\)$/mu);
    expect(status).toMatch(/^stored {4}zed: no gateway has run it for 5 min$/mu);
    expect(status).toMatch(/^stored {4}dora: no gateway runs it, and needs a newer version than this one$/mu);
    expect(status).not.toMatch(/^(?:model|channel)/mu);
    const json: unknown = JSON.parse((await runCommand(['status', '--json'], a.folder)).out);
    expect(json).toMatchObject({
      homes: [
        { name: 'ada', state: 'running', turns: 0, behind: { commits: 0, since: null } },
        { name: 'bob', state: 'running', turns: 0 },
        { name: 'dora', state: 'waiting' },
        { name: 'zed', state: 'waiting' },
      ],
      fleet: { trouble: null },
    });

    const before = await readdir(a.folder);
    const rows = await rowsOf(a.folder, '', '--fix');
    expect(await readdir(a.folder)).toEqual(before);
    expect(
      rows.map(({ id }) => id).filter((id) => /^(?:models|channels|safety|sandbox|messages|agents)/u.test(id)),
    ).toEqual([]);
    expect(said(rows, 'home.workspace')).toEqual([]);
    expect(said(rows, 'database.homes')).toEqual([
      expect.stringMatching(/^ok: The home ada is running, its lease holds for \d+ s more\.$/u),
      expect.stringMatching(/^ok: The home bob is running, its lease holds for \d+ s more\.$/u),
    ]);
    expect(said(rows, 'database.free')).toEqual(['warning: No gateway has run the home zed for 5 min.']);
    expect(said(rows, 'database.newer')).toEqual([
      'failed: The home dora was written by a newer version, which this one cannot read.',
    ]);
    expect(said(rows, 'database.versions')).toEqual([
      expect.stringMatching(/^note: Gateways of 2 versions run side by side, .*0\.0\.1 \(\/srv\/zed on host-2\)/u),
    ]);
    expect(said(rows, 'database.gone')).toEqual([
      'note: The gateway /srv/old on host-3 (version 0.0.1) ended without stopping in order, or cannot reach the database.',
    ]);
    expect(said(rows, 'gateway.running')).toEqual([expect.stringContaining(' with 2 homes')]);
  });

  test('a home that cannot start is a line of status and a failure of the doctor, once', async () => {
    const url = await server.database();
    await using world = await startMachines(`${url}&leaseSeconds=30`, ['ada', 'bob']);
    const first = await world.machine('a');
    await first.runs(2);
    await world.asks('ada', 'said-one', 're: said-one');
    const config = join(first.folder, 'homes', 'ada', 'config.json');
    await writeFile(config, '{ "agent": }');
    const hasSaid = (): boolean =>
      world
        .home('ada')
        .answers()
        .some((text) => text.includes('config.json'));
    await waitFor(hasSaid);
    await first.stop();
    const a = await world.machine('a');
    await a.runs(1);
    const failed = /^home {6}ada: failed \(.*a value is missing.*\)$/mu;
    const status = await waitFor(async () => {
      const { out } = await runCommand(['status'], a.folder);
      return failed.test(out) ? out : null;
    });
    expect(status).toMatch(/^homes {5}1 failed, 1 running$/mu);
    expect(status.split('a value is missing').length).toBe(2);
    const found = (await rowsOf(a.folder)).filter(({ evidence }) => evidence.includes('a value is missing'));
    expect(found).toMatchObject([
      {
        id: 'database.homes',
        state: 'failed',
        evidence: expect.stringContaining('The home ada does not run here: '),
        remedy: expect.stringContaining('doctor --agent ada'),
      },
    ]);
    // The process that has its lock runs the other homes too, so no one is told to kill it.
    const own = JSON.parse((await runCommand(['doctor', '--json', '--agent', 'ada'], a.folder)).out) as {
      readonly checks: readonly Row[];
    };
    expect(own.checks.filter(({ id }) => id === 'home.lock')).toMatchObject([
      {
        state: 'note',
        evidence: expect.stringContaining(`The gateway of ${a.folder} has the home`),
        remedy: expect.stringContaining(`status --home ${a.folder}`),
      },
    ]);
  });

  test('--agent names a home of the machine, and says where one runs that does not run there', async () => {
    const url = await server.database();
    await using world = await startMachines(`${url}&leaseSeconds=30`, ['ada', 'bob']);
    const a = await world.machine('a');
    await a.runs(2);
    const b = await world.machine('b');
    const [there = ''] = await b.runs(1);
    const [here = ''] = await a.runs(1);
    const asked = await runCommand(['chat', '-m', 'said-hello', '--agent', here], a.folder);
    expect(asked).toMatchObject({ code: 0, out: 're: said-hello\n' });
    expect(await runCommand(['chat', '-m', 'hi', '--agent', there], a.folder)).toMatchObject({
      code: 1,
      err: `The gateway ${b.folder} on ${hostname()} runs the home ${there}. Run the command on that machine.\n`,
    });
    const nobody = await runCommand(['status', '--agent', 'mia'], a.folder);
    expect(nobody).toMatchObject({
      code: 2,
      err: expect.stringContaining(`The database has no home "mia". Here run: ${here}.`),
    });
    expect((await runCommand(['sessions', '--agent', '../..'], a.folder)).code).toBe(2);
    const running = await runCommand(['status', '--agent', here], a.folder);
    expect(running.out).toMatch(new RegExp(`^stored {4}${here}: this gateway runs it, for certain for `, 'mu'));
  });

  test('--agent shows the copy of a home that no gateway runs, and how to start its gateway', async () => {
    const store = await server.database();
    await using world = await startMachines(`${store}&leaseSeconds=30`, ['ada']);
    const a = await world.machine('a');
    await a.runs(1);
    await a.stop();
    const named = ['--agent', 'ada'];
    const { out } = await runCommand(['status', ...named], a.folder);
    expect(out).toContain(`home      ${join(a.folder, 'homes', 'ada')}\n`);
    expect(out).toMatch(new RegExp(`^start {5}the gateway of its machine: .+ --home ${a.folder}$`, 'mu'));
    expect(out).toMatch(/^stored {4}ada: no gateway has run it for \d+ s, written \d+ s ago$/mu);
    const row = (await rowsOf(join(a.folder, 'homes', 'ada'))).find(({ id }) => id === 'gateway.running');
    expect(row?.remedy).toMatch(new RegExp(` --home ${a.folder}$`, 'u'));
    expect(await runCommand(['chat', '-m', 'hi', ...named], a.folder)).toMatchObject({
      code: 1,
      err: expect.stringContaining('is the copy of a home'),
    });
    // Its gateway was killed, and the lease did not end yet.
    await using postgres = await Postgres.open(store, { clock: systemClock });
    const { owner } = JSON.parse(await readFile(join(a.folder, 'store.json'), 'utf8')) as { readonly owner: string };
    await postgres.query(`UPDATE assistant.homes SET owner = $1, lease_until = clock_timestamp() + interval '1 min'`, [
      owner,
    ]);
    expect((await runCommand(['status', ...named], a.folder)).code).toBe(0);
    const other = await machineFolder(world.folder, store);
    expect(await runCommand(['status', ...named], other)).toMatchObject({
      code: 1,
      err: `The gateway ${a.folder} on ${hostname()} runs the home ada. Run the command on that machine.\n`,
    });
    await postgres.query('UPDATE assistant.homes SET owner = NULL, lease_until = clock_timestamp()');
    expect(await runCommand(['status', ...named], other)).toMatchObject({
      code: 1,
      err: expect.stringContaining(`No gateway runs the home ada now, and ${other} has no copy of it.`),
    });
    await writeFile(
      join(other, 'config.json'),
      JSON.stringify({ store: 'postgres://x@/x?host=/nowhere', homes: { enabled: true } }),
    );
    expect(await runCommand(['status', ...named], other)).toMatchObject({
      code: 1,
      err: expect.stringMatching(/has no copy of the home ada\. PostgreSQL cannot be reached: /u),
    });
  });

  test('a machine in which no gateway runs shows 1,000 homes in a few lines, and all as JSON, and nothing is made there', async () => {
    const store = await server.database();
    await using postgres = await Postgres.open(store, { clock: systemClock });
    await installSchema(postgres, tablesAfter(journalMigrations, TABLES));
    await postgres.query(
      `INSERT INTO assistant.homes (name, schema, oldest_reader, lease_until)
       SELECT 'home-' || to_char(n, 'FM0000'), 1, 0, clock_timestamp() - interval '3 hours' FROM generate_series(1, 1000) n`,
    );
    await using folder = await tempFolder();
    const machine = await machineFolder(folder.path, store);
    const { out } = await runCommand(['status'], machine);
    expect(out).toMatch(/^not running\nmachine {3}/u);
    expect(out).toMatch(/^start {5}.+ --home \S+\/machine$/mu);
    expect(out).toMatch(/^stored {4}home-0001: no gateway has run it for 3 h$/mu);
    expect(out).toMatch(/^ {10}… and 980 more, which --json lists$/mu);
    expect(out.split('\n').length).toBeLessThan(30);
    const { fleet } = JSON.parse((await runCommand(['status', '--json'], machine)).out) as {
      readonly fleet: { readonly homes: readonly unknown[] };
    };
    expect(fleet.homes).toHaveLength(1_000);
    const rows = await rowsOf(machine, 'database.', '--fix');
    const free = said(rows, 'database.free');
    expect([free.length, free[0], free[20]]).toEqual([
      21,
      'warning: No gateway has run the home home-0001 for 3 h, and no gateway of many homes is alive.',
      'note: … and 980 more, which status --json lists.',
    ]);
    for (const words of [['sessions'], ['chat', '-m', 'hi'], ['memory'], ['init', '--yes']])
      expect(await runCommand(words, machine)).toMatchObject({
        code: 1,
        err: `${machine} is the folder of a machine with many homes. Name one of them: --agent NAME. None runs here now.\n`,
      });
    expect(await readdir(machine)).toEqual(['config.json']);
  });

  test('doctor in the folder of a home says who runs it and its lag, and finds a folder that was copied', async () => {
    const store = await server.database();
    await using folder = await tempFolder();
    const home = join(folder.path, 'one', 'alice');
    await mkdir(home, { recursive: true, mode: 0o700 });
    await writeFile(join(home, 'config.json'), JSON.stringify({ store, heartbeat: { enabled: false } }));
    await using assistant = await createAssistant({
      home,
      environment: { HOME: folder.path },
      serve: 'gateway',
      port: 0,
      log: silentLog,
    });
    await waitFor(async () => (await assistant.call('info', {})).store?.behind.since === null);
    expect(said(await rowsOf(home), 'database.holder')).toEqual([
      expect.stringMatching(/^ok: This gateway runs the home alice, its lease holds for \d+ s more\.$/u),
    ]);
    const copy = join(folder.path, 'two', 'alice');
    await mkdir(copy, { recursive: true, mode: 0o700 });
    for (const name of ['config.json', 'store.json']) await cp(join(home, name), join(copy, name));
    expect(await readFile(join(copy, 'store.json'), 'utf8')).toContain('"owner"');
    const rows = await rowsOf(copy, 'database.');
    const place = (at: string): string => `${at} on ${hostname()}`;
    expect(said(rows, 'database.owner')).toEqual([
      `failed: One folder was copied from the other: ${place(home)} has the same id as ${place(copy)}, so their gateways take the home alice from each other.`,
    ]);
    expect(said(rows, 'database.holder')).toEqual([
      expect.stringMatching(/^ok: .+ runs the home alice, its lease holds for \d+ s more; it last wrote \d+ s ago\.$/u),
    ]);
    expect(said(await rowsOf(home), 'database.owner')).toEqual(['ok: No other gateway has the id of this folder.']);
  });
});
