import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { connectAssistant } from '../../src/core/gateway/control.ts';
import { Postgres } from '../../src/host/homes/postgres.ts';
import { describeWith } from '../support/test-with.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { CommandLine } from '../cli/command-line.ts';
import { postgresPrograms, startPostgres, type Server } from '../support/postgres.ts';
import { tempFolder } from '../support/temp.ts';
import { waitFor } from '../support/wait.ts';
import { chatOf, OWNER, startWorld, type World } from '../support/world.ts';

const programs = postgresPrograms();

interface Report {
  readonly running: boolean;
  readonly store?: Readonly<Record<string, unknown>>;
  readonly fleet?: {
    readonly trouble: string | null;
    readonly gateways: readonly Readonly<Record<string, unknown>>[];
    readonly homes: readonly Readonly<Record<string, unknown>>[];
  };
}

/** A world whose config.json names the database. */
const storedWorld = (store: string): Promise<World> =>
  startWorld({
    furnish: async (home) => {
      const path = join(home, 'config.json');
      const settings = JSON.parse(await readFile(path, 'utf8')) as object;
      await writeFile(path, JSON.stringify({ ...settings, store }), { mode: 0o600 });
    },
  });

/** What `assistant status` says in a folder, for people and for programs. */
async function statusOf(home: string): Promise<{ readonly text: string; readonly facts: Report }> {
  const line = new CommandLine({ home });
  line.connect = (path) => connectAssistant(path, systemClock);
  expect(await line.run('status'), line.err).toBe(0);
  const text = line.out;
  line.out = '';
  expect(await line.run('status', '--json'), line.err).toBe(0);
  return { text, facts: JSON.parse(line.out) as Report };
}

describeWith('PostgreSQL')('assistant status of a home that PostgreSQL keeps', () => {
  let server: Server;
  beforeAll(async () => {
    server = await startPostgres(programs ?? '');
  });
  afterAll(async () => server?.[Symbol.asyncDispose]());

  test('says where it runs, what waits, which gateways there are, and which homes someone has to look after', async () => {
    const store = await server.database();
    await using world = await storedWorld(store);
    world.model.reply('one');
    world.telegram.userSays(OWNER, 'first');
    await waitFor(() => chatOf(world).includes('one'));
    await using postgres = await Postgres.open(store, { clock: systemClock });
    await postgres.query(
      `INSERT INTO assistant.homes (name, schema, oldest_reader, lease_until, kept_by, kept_at) VALUES
        ('bob', 1, 0, clock_timestamp() - interval '5 min', NULL, NULL),
        ('carol', 1, 0, NULL, 'x', '/srv/homes/carol on host-2'),
        ('dora', 1, 9999, NULL, NULL, NULL)`,
    );
    await waitFor(async () => (await world.assistant.call('info', {})).store?.behind.since === null);
    const { text, facts } = await statusOf(world.home);
    expect(text).toMatch(
      /^stored {4}home: this gateway runs it, for certain for \d+ s more \(epoch 1\); the database has everything$/mu,
    );
    expect(text).toMatch(/^written {3}\d+ transactions, \d+\.\d MB, by this process$/mu);
    expect(text).toMatch(/^gateway {3}\/.+ on .+: version \S+, runs home, load \d+\.\d$/mu);
    expect(text).toMatch(/^stored {4}bob: no gateway has run it for 5 min$/mu);
    expect(text).toMatch(/^stored {4}carol: an old copy, the home itself is at \/srv\/homes\/carol on host-2$/mu);
    expect(text).toMatch(/^stored {4}dora: no gateway runs it, and needs a newer version than this one$/mu);
    expect(facts.store).toMatchObject({ home: 'home', epoch: 1, isHeld: true });
    expect(facts.fleet?.trouble).toBeNull();
    expect(facts.fleet?.gateways).toMatchObject([{ isAlive: true, only: 'home', homes: 1 }]);
    expect(facts.fleet?.homes.map(({ name, isHeld }) => [name, isHeld])).toEqual([
      ['bob', false],
      ['carol', false],
      ['dora', false],
      ['home', true],
    ]);
  });

  test('says which other gateway runs it where none runs here', async () => {
    const store = await server.database();
    await using world = await storedWorld(store);
    await using folder = await tempFolder();
    const home = join(folder.path, 'home');
    await mkdir(home, { mode: 0o700 });
    await writeFile(join(home, 'config.json'), JSON.stringify({ store }), { mode: 0o600 });
    const { text, facts } = await statusOf(home);
    expect(text).toMatch(/^not running$/mu);
    expect(text).toContain(`stored    home: ${world.home} on `);
    expect(text).toMatch(/^stored {4}home: .+ runs it, lease for \d+ s more, written \d+ s ago$/mu);
    expect(facts).toMatchObject({ running: false, fleet: { homes: [{ name: 'home', isHeld: true }] } });
    expect(facts).not.toHaveProperty('store');
  });

  test('says in one sentence that the database has no homes yet, or does not answer', async () => {
    await using folder = await tempFolder();
    const says = async (store: string): Promise<string> => {
      await writeFile(join(folder.path, 'config.json'), JSON.stringify({ store }), { mode: 0o600 });
      return (await statusOf(folder.path)).text;
    };
    expect(await says(await server.database())).toMatch(
      /^database {2}The database has no homes of this version yet: the first start of a gateway makes what is missing\.$/mu,
    );
    expect(await says('postgres://assistant:secret@127.0.0.1:9/x')).toMatch(
      /^database {2}PostgreSQL cannot be reached: .*ECONNREFUSED.*\.$/mu,
    );
    await using other = await startPostgres(programs ?? '');
    const url = await other.database();
    other.freeze();
    try {
      const began = performance.now();
      expect(await says(url)).toMatch(/^database {2}PostgreSQL cannot be reached: no answer within 5 s\.$/mu);
      // Twice, with and without --json, and what a busy machine takes.
      expect(performance.now() - began).toBeLessThan(20_000);
    } finally {
      other.thaw();
    }
  });

  test('says nothing of it where the folder alone has the home', async () => {
    const { text, facts } = await statusOf(new CommandLine().home);
    expect(text).not.toMatch(/^(?:stored|database|gateway)/mu);
    expect(Object.keys(facts)).not.toContain('fleet');
  });
});
