import { hostname } from 'node:os';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Postgres } from '../../src/host/homes/postgres.ts';
import { describeWith } from '../support/test-with.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { postgresPrograms, startPostgres, type Server } from '../support/postgres.ts';
import { tempFolder } from '../support/temp.ts';
import { waitFor } from '../support/wait.ts';
import { Gateway } from './gateway-program.ts';

const programs = postgresPrograms();
/** Says which gateway has the home of all of these. */
const runs = ({ home }: { readonly home: string }): string =>
  `The gateway ${home} on ${hostname()} runs the home alice.`;

describeWith('PostgreSQL')('a gateway whose home another one runs', () => {
  let server: Server;
  beforeAll(async () => {
    server = await startPostgres(programs ?? '');
  });
  afterAll(async () => server?.[Symbol.asyncDispose]());

  test('says so in /health, to systemd and on the command line until it takes the home over', async () => {
    const store = `${await server.database()}&leaseSeconds=2`;
    await using one = await tempFolder();
    await using two = await tempFolder();
    await using first = await Gateway.start(one.path, store);
    await first.is('ok');
    await using second = await Gateway.start(two.path, store);
    await second.is('waiting');
    const waits = `${runs(first)} This one waits, and takes over by itself when the home is free.`;
    expect(await second.health()).toMatchObject({ status: 200, body: { waiting: waits, storage: 'ok', channels: {} } });
    // Told by a process of its own, after /health listens.
    await waitFor(async () => (await second.told()).length > 0, { what: 'a word to systemd' });
    expect((await second.told())[0]).toBe(`READY=1|STATUS=${waits}|WATCHDOG=1`);
    await waitFor(async () => (await second.told()).filter((line) => line === 'WATCHDOG=1').length > 2);
    const status = await second.run('status');
    expect(status.code).toBe(0);
    expect(status.out).toMatch(/^waits, process \d+/u);
    expect(status.out).toContain(waits);
    expect(JSON.parse((await second.run('status', '--json')).out)).toMatchObject({ running: true, waiting: waits });
    expect(await second.run('chat', '-m', 'hello')).toEqual({ code: 1, out: '', err: `${waits}\n` });
    expect(JSON.parse((await first.run('status', '--json')).out)).not.toHaveProperty('waiting');
    // A reload while it waits is no end.
    second.child.kill('SIGHUP');
    first.child.kill('SIGTERM');
    expect(await first.ended()).toBe(0);
    await second.is('ok');
    await waitFor(async () => (await second.told()).some((line) => line.includes('STATUS=demo/scripted')));
    expect(await second.health()).toMatchObject({ status: 200 });
    expect((await second.health()).body).not.toHaveProperty('waiting');
    expect((await second.run('chat', '-m', 'hello')).code).toBe(0);
  });

  test('is not waited for by a command that would run the assistant itself', async () => {
    const store = `${await server.database()}&leaseSeconds=2`;
    await using one = await tempFolder();
    await using two = await tempFolder();
    await using first = await Gateway.start(one.path, store);
    await first.is('ok');
    await using second = await Gateway.start(two.path, store);
    await second.is('waiting');
    second.child.kill('SIGTERM');
    expect(await second.ended()).toBe(0);
    expect(await second.run('chat', '-m', 'hello')).toEqual({
      code: 1,
      out: '',
      err: `${runs(first)} Talk to the assistant there, or in its chats.\n`,
    });
  });

  test('ends with exit code 78 and a sentence when a folder has the home', async () => {
    const url = await server.database();
    const store = `${url}&leaseSeconds=2`;
    await using one = await tempFolder();
    await using two = await tempFolder();
    await using first = await Gateway.start(one.path, store);
    await first.is('ok');
    await using second = await Gateway.start(two.path, store);
    await second.is('waiting');
    await using postgres = await Postgres.open(url, { clock: systemClock });
    // As `assistant store migrate --to local` does.
    await postgres.query("UPDATE assistant.homes SET kept_by = 'someone', kept_at = '/srv/alice'");
    first.child.kill('SIGTERM');
    expect(await second.ended()).toBe(78);
    expect(second.log).toContain('The home alice is in /srv/alice, and the database has no more than an older');
  });
});
