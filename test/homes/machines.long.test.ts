import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createAssistant } from '../../src/app.ts';
import { connectAssistant } from '../../src/core/gateway/control.ts';
import { Postgres } from '../../src/host/homes/postgres.ts';
import { describeWith } from '../support/test-with.ts';
import { systemClock, type Clock } from '../../src/core/util/clock.ts';
import { silentLog, type Logger } from '../../src/core/util/log.ts';
import { CommandLine } from '../cli/command-line.ts';
import { postgresPrograms, startPostgres, type Server } from '../support/postgres.ts';
import { recordingLog as recordingLines } from '../support/recording-log.ts';
import { tempFolder } from '../support/temp.ts';
import { waitFor } from '../support/wait.ts';
import { OWNER } from '../support/world.ts';
import { connectHome, startMachines } from './machines-world.ts';

const programs = postgresPrograms();
const SIX = ['ada', 'bob', 'cleo', 'dora', 'emil', 'fred'];

describeWith('PostgreSQL')('gateways of many homes', () => {
  let server: Server;
  beforeAll(async () => {
    server = await startPostgres(programs ?? '');
  });
  afterAll(async () => server?.[Symbol.asyncDispose]());

  test('share the homes, and take over at once those of one that stops', async () => {
    const store = `${await server.database()}&leaseSeconds=30`;
    await using world = await startMachines(store, SIX);
    const a = await world.machine('a');
    await a.runs(6);
    for (const { name } of world.homes) await world.asks(name, `said-${name}1`, `re: said-${name}1`);
    const b = await world.machine('b');
    const there = await b.runs(3);
    const here = await a.runs(3);
    expect([...here, ...there].toSorted()).toEqual(SIX);
    for (const { name } of world.homes) await world.asks(name, `said-${name}2`, `re: said-${name}2`);
    const began = performance.now();
    await a.stop();
    await b.runs(6);
    // Without waiting for the end of a lease of 30 s.
    expect(performance.now() - began).toBeLessThan(25_000);
    for (const { name } of world.homes) await world.asks(name, `said-${name}3`, `re: said-${name}3`);
    for (const { name, answers } of world.homes)
      expect(answers()).toEqual([1, 2, 3].map((n) => `re: said-${name}${n}`));
  });

  test('give back what has not stopped when the time for that is over, and another one runs it at once', async () => {
    const store = `${await server.database()}&leaseSeconds=60`;
    await using world = await startMachines(store, ['ada', 'bob']);
    const log = recordingLines();
    // All but the time of the stop is as ever.
    const timer: Clock['timer'] = (ms, callback, options) =>
      systemClock.timer(ms === 8_500 ? 0 : ms, callback, options);
    const a = await world.machine('a', { log, clock: { ...systemClock, timer } });
    await a.runs(2);
    for (const name of ['ada', 'bob']) await world.asks(name, `said-${name}1`, `re: said-${name}1`);
    const began = performance.now();
    await a.stop();
    expect(log.lines.map(({ message }) => message)).toContain('homes: not all stopped in time, they are given back');
    const b = await world.machine('b');
    await b.runs(2);
    expect(performance.now() - began).toBeLessThan(40_000);
    for (const name of ['ada', 'bob']) await world.asks(name, `said-${name}2`, `re: said-${name}2`);
    // That the first was delivered may not be known, as after a crash.
    for (const { name, answers } of world.homes)
      expect(answers().filter((text) => !text.includes('↻'))).toEqual([`re: said-${name}1`, `re: said-${name}2`]);
  });

  test('restart and mend one home by itself alone', async () => {
    const store = `${await server.database()}&leaseSeconds=4`;
    await using world = await startMachines(store, ['ada', 'bob']);
    const a = await world.machine('a');
    await a.runs(2);
    const started = async (name: string): Promise<number> => {
      await using home = await connectHome(a, name);
      return (await home?.call('info', {}))?.startedAt ?? 0;
    };
    const before = { ada: await started('ada'), bob: await started('bob') };
    world.home('ada').telegram.userSays(OWNER, '/restart');
    await waitFor(async () => (await started('ada')) > before.ada, { what: 'ada started anew' });
    await a.runs(2);
    await world.asks('ada', 'said-after', 're: said-after');
    expect(await started('bob')).toBe(before.bob);
    // One that cannot be read is a sentence, and the other homes do not wait for it.
    const file = join(a.folder, 'homes', 'ada', 'config.json');
    const good = await readFile(file, 'utf8');
    await writeFile(file, '{ "agent": }');
    await waitFor(() =>
      world
        .home('ada')
        .answers()
        .some((text) => text.includes('config.json')),
    );
    await a.stop();
    const again = await world.machine('a');
    await waitFor(async () =>
      (await again.assistant.call('info', {})).homes?.some(({ detail }) => detail?.includes('a value is missing')),
    );
    await again.runs(1);
    expect((await again.assistant.call('info', {})).homes).toEqual([
      expect.objectContaining({ name: 'ada', state: 'failed', detail: expect.stringContaining('config.json:1:12') }),
      expect.objectContaining({ name: 'bob', state: 'running' }),
    ]);
    await world.asks('bob', 'said-meanwhile', 're: said-meanwhile');
    await writeFile(file, good);
    await again.runs(2);
    await world.asks('ada', 'said-mended', 're: said-mended');
  });

  test('have a changed setting and a new skill of a home in the database when the command says that it is done', async () => {
    const store = `${await server.database()}&leaseSeconds=30`;
    await using world = await startMachines(store, ['ada']);
    await using postgres = await Postgres.open(store, { clock: systemClock });
    const a = await world.machine('a');
    await a.runs(1);
    const home = join(a.folder, 'homes', 'ada');
    const run = async (...words: readonly string[]): Promise<CommandLine> => {
      const line = new CommandLine({ home });
      line.connect = (path) => connectAssistant(path, systemClock);
      expect(await line.run(...words)).toBe(0);
      return line;
    };
    const set = async (zone: string): Promise<string> => (await run('config', 'set', 'agent.timezone', zone)).out;
    const add = async (name: string): Promise<CommandLine> => {
      const folder = join(world.folder, 'skills', name);
      await mkdir(folder, { recursive: true });
      await writeFile(join(folder, 'SKILL.md'), `---\nname: ${name}\ndescription: Folds napkins.\n---\nFold.\n`);
      return await run('skills', 'add', folder, '--yes');
    };
    for (const zone of ['Europe/Vienna', 'Asia/Tokyo', 'America/Lima']) {
      expect(await set(zone)).toContain(`agent.timezone is set in ${join(home, 'config.json')}.`);
      const [stored] = await postgres.query("SELECT sha256 FROM assistant.files WHERE path = 'config.json'");
      const file = await readFile(join(home, 'config.json'));
      expect(stored?.['sha256']).toBe(createHash('sha256').update(file).digest('hex'));
    }
    await add('napkins');
    const paths = await postgres.query("SELECT path FROM assistant.files WHERE path LIKE '%napkins%'");
    expect(paths).toEqual([{ path: 'workspace/skills/napkins/SKILL.md' }]);
    await server.kill();
    const [printed, added] = await Promise.all([set('UTC'), add('towels')]).finally(() => server.start());
    expect(printed).toContain('⚠ The database does not have it yet;');
    expect(added.err).toContain('⚠ The database does not have it yet;');
  });

  test('keep what belongs to one home from the others: messages, keys, files', async () => {
    const store = `${await server.database()}&leaseSeconds=4`;
    await using world = await startMachines(store, ['ada', 'bob']);
    const lines: string[] = [];
    const a = await world.machine('a', { log: recordingLog(lines) });
    await a.runs(2);
    await world.asks('ada', 'said-adasecret', 're: said-adasecret');
    await world.asks('bob', 'said-bobsecret', 're: said-bobsecret');
    world.model.reply(
      { calls: [{ name: 'read_file', arguments: { path: join(a.folder, 'homes/ada/config.json') } }] },
      'done',
    );
    await world.asks('bob', 'said-look', 'done');
    await a.stop();
    for (const [mine, other] of [
      ['ada', 'bob'],
      ['bob', 'ada'],
    ] as const) {
      const text = await allText(join(a.folder, 'homes', mine));
      expect(text).toContain(`said-${mine}secret`);
      expect(text).not.toContain(`said-${other}secret`);
      expect(text).not.toContain(world.home(other).key);
      expect(world.home(mine).answers().join()).not.toContain(`${other}secret`);
    }
    const log = lines.join('\n');
    expect(log).toContain('"home":"ada"');
    for (const { key } of world.homes) expect(log).not.toContain(key);
  });

  test('run a scheduled job once, whichever of them has the home', async () => {
    const store = `${await server.database()}&leaseSeconds=4`;
    await using world = await startMachines(store, ['ada']);
    const a = await world.machine('a');
    await a.runs(1);
    world.model.reply(
      { calls: [{ name: 'cron', arguments: { action: 'add', when: 'in 12s', text: 'Tea is ready.' } }] },
      'noted',
    );
    await world.asks('ada', 'said-remind', 'noted');
    const b = await world.machine('b');
    await a.stop();
    await b.runs(1);
    const reminders = (): readonly string[] =>
      world
        .home('ada')
        .answers()
        .filter((text) => text.includes('Tea is ready.'));
    await waitFor(() => reminders().length > 0);
    const c = await world.machine('c');
    await b.stop();
    await c.runs(1);
    await world.asks('ada', 'said-more', 're: said-more');
    expect(reminders()).toHaveLength(1);
  });
});

describe('the folder of a machine', () => {
  test.each([
    [{ homes: { enabled: true } }, 'no database is named that keeps the homes. Set store to its address.'],
    [
      { homes: { enabled: true }, store: 'postgres://x@localhost/x', channels: {}, agent: {} },
      'is the folder of a machine, and channels, agent there would be for nobody. Take them out;',
    ],
  ])('with %j is refused in one sentence', async (config, sentence) => {
    await using folder = await tempFolder();
    await writeFile(join(folder.path, 'config.json'), JSON.stringify(config));
    const starting = createAssistant({ home: folder.path, environment: {}, serve: 'gateway', port: 0, log: silentLog });
    await expect(starting).rejects.toMatchObject({ exitCode: 78, message: expect.stringContaining(sentence) });
  });

  test('that has a home of its own is refused', async () => {
    await using folder = await tempFolder();
    const config = { homes: { enabled: true }, store: 'postgres://x@localhost/x' };
    await writeFile(join(folder.path, 'config.json'), JSON.stringify(config));
    await writeFile(join(folder.path, 'state.db'), '');
    const starting = createAssistant({ home: folder.path, environment: {}, serve: 'gateway', port: 0, log: silentLog });
    await expect(starting).rejects.toMatchObject({
      exitCode: 78,
      message: expect.stringContaining('has a home of its own'),
    });
  });
});

/** Every file below a folder, one after the other. */
async function allText(folder: string): Promise<string> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return (await Promise.all(files.map((file) => readFile(file, 'latin1')))).join('\n');
}

/** A log whose lines are JSON. */
function recordingLog(lines: string[], fixed: object = {}): Logger {
  const write = (message: string, fields: object = {}): void =>
    void lines.push(JSON.stringify({ message, ...fixed, ...fields }));
  return {
    debug: write,
    info: write,
    warn: write,
    error: write,
    with: (fields) => recordingLog(lines, { ...fixed, ...fields }),
  };
}
