import { join } from 'node:path';
import { mkdir } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { startFakeOpenAi } from '../support/fake-openai.ts';
import { startFakeTelegram } from '../support/fake-telegram.ts';
import { postgresPrograms, startPostgres } from '../support/postgres.ts';
import { describeWith } from '../support/test-with.ts';
import { tempFolder } from '../support/temp.ts';
import { waitFor } from '../support/wait.ts';
import { Gateway } from './gateway-program.ts';
import { startProxy } from './proxy.ts';

const programs = postgresPrograms();
const OWNER = 42;
/** A process that starts on a busy machine renews a shorter one so late that it tells its owner. */
const LEASE_SECONDS = 6;
const AWAY =
  /^The database that keeps this home \(setting store\) takes no writes \(PostgreSQL cannot be reached: .+\)\. To see what is wrong: .+\. The assistant continues its start by itself as soon as the database answers\.$/u;
const MACHINE_AWAY =
  /^The database of the setting store does not answer: PostgreSQL cannot be reached: .+\. This gateway waits, and starts its homes by itself when it is back\.$/u;
/** So often /health is asked while a gateway waits. */
const ASKED = 100;

/** What /health said each time that it was asked during some attempts to start, and 0 where nobody listened. */
async function healthDuring(gateway: Gateway): Promise<readonly number[]> {
  await waitFor(async () => (await gateway.health()).status, { what: '/health' });
  const seen: number[] = [];
  await waitFor(async () => {
    seen.push(
      await gateway.health().then(
        ({ status }) => status,
        () => 0,
      ),
    );
    return seen.length === ASKED;
  });
  return [...new Set(seen)];
}

/** All the time in /health, and to systemd in the first word. */
async function saysThatItWaits(gateway: Gateway, sentence: RegExp): Promise<void> {
  expect(await healthDuring(gateway)).toEqual([503]);
  expect((await gateway.health()).body).toMatchObject({ status: 'degraded', storage: 'no-database' });
  await waitFor(async () => (await gateway.told()).length > 0, { what: 'a word to systemd' });
  const [ready = ''] = await gateway.told();
  expect(ready.startsWith('READY=1|STATUS=')).toBe(true);
  expect(ready.split('STATUS=')[1]?.split('|')[0]).toMatch(sentence);
}

const linesWith = ({ log }: Gateway, pattern: RegExp): readonly string[] =>
  log.split('\n').filter((line) => pattern.test(line));

describeWith('PostgreSQL')('gateways that start while the database is away', () => {
  test.each(['refuses', 'does not answer'] as const)(
    'wait and say so when it %s, and one of them answers by itself when it is back, without a notice from each',
    async (how) => {
      await using server = await startPostgres(programs ?? '');
      await using folder = await tempFolder();
      await using telegram = await startFakeTelegram();
      await using model = await startFakeOpenAi({ handler: () => 'answered' });
      const texts = (): readonly string[] => telegram.sentMessages.map(({ visibleText }) => visibleText);
      const config = {
        agent: { model: 'openai/scripted-model' },
        providers: { openai: { apiKey: 'test-key-0001', baseUrl: model.url } },
        channels: { telegram: { token: telegram.token, apiRoot: telegram.apiRoot, allowFrom: [String(OWNER)] } },
        heartbeat: { enabled: false },
      };
      const places = ['db', 'one', 'two'].map((name) => join(folder.path, name));
      for (const place of places) await mkdir(place);
      const [sockets = '', one = '', two = ''] = places;
      await using proxy = await startProxy(await server.database(), sockets);
      const store = `${proxy.url}&leaseSeconds=${LEASE_SECONDS}`;
      {
        // Who ran the home once knows its owner.
        await using before = await Gateway.start(one, store, config);
        await before.is('ok');
        telegram.userSays(OWNER, 'hello');
        await waitFor(() => texts().includes('answered'), { what: 'an answer' });
        before.child.kill('SIGTERM');
        expect(await before.ended()).toBe(0);
      }
      const before = texts().length;
      if (how === 'refuses') proxy.cut();
      else proxy.stall();
      await using first = await Gateway.start(one, store, config);
      await using second = await Gateway.start(two, store, config);
      telegram.userSays(OWNER, 'are you there?');
      for (const gateway of [first, second]) {
        await saysThatItWaits(gateway, AWAY);
        const status = JSON.parse((await gateway.run('status', '--json')).out) as { waiting?: string };
        expect(status.waiting).toMatch(AWAY);
        expect((await gateway.run('chat', '-m', 'hello')).err.trim()).toMatch(AWAY);
      }
      if (how === 'refuses') {
        // Some more attempts, of which nothing is said.
        const asked = proxy.refused;
        await waitFor(() => proxy.refused > asked + 4, { what: 'more attempts' });
      }
      for (const gateway of [first, second]) {
        expect(linesWith(gateway, /waits until the database answers/u)).toHaveLength(1);
        expect(linesWith(gateway, /cannot be written|can be written again/u)).toEqual([]);
      }
      expect(telegram.unconfirmed).toHaveLength(1);
      proxy.mend();
      await waitFor(() => texts().length > before && texts().at(-1) === 'answered', { what: 'the answer' });
      await Promise.any([first.is('ok'), second.is('ok')]);
      await Promise.any([first.is('waiting'), second.is('waiting')]);
      await waitFor(() => telegram.unconfirmed.length === 0, { what: 'what was answered is acknowledged' });
      // Nobody's start was given up.
      expect([first.child.exitCode, second.child.exitCode]).toEqual([null, null]);
      expect(texts().slice(before)).toEqual(['answered']);
    },
  );

  test.each(['refuses', 'does not answer'] as const)(
    'end within 9 s when they are stopped meanwhile and it %s',
    async (how) => {
      await using server = await startPostgres(programs ?? '');
      await using folder = await tempFolder();
      const places = ['db', 'one', 'two'].map((name) => join(folder.path, name));
      for (const place of places) await mkdir(place);
      const [sockets = '', one = '', two = ''] = places;
      await using proxy = await startProxy(await server.database(), sockets);
      if (how === 'refuses') proxy.cut();
      else proxy.stall();
      await using home = await Gateway.start(one, proxy.url);
      await using machine = await Gateway.start(two, proxy.url, { homes: { enabled: true } });
      for (const gateway of [home, machine]) {
        await waitFor(async () => (await gateway.told()).length > 0, { what: 'a word to systemd' });
        const began = performance.now();
        gateway.child.kill('SIGTERM');
        expect(await gateway.ended()).toBe(0);
        expect(performance.now() - began).toBeLessThan(9_000);
      }
    },
  );

  test('wait as machines of many homes too, and share these when it is back', async () => {
    await using server = await startPostgres(programs ?? '');
    await using folder = await tempFolder();
    const places = ['db', 'before', 'one', 'two'].map((name) => join(folder.path, name));
    for (const place of places) await mkdir(place);
    const [sockets = '', before = '', one = '', two = ''] = places;
    await using proxy = await startProxy(await server.database(), sockets);
    const store = `${proxy.url}&leaseSeconds=${LEASE_SECONDS}`;
    {
      await using gateway = await Gateway.start(before, store);
      await gateway.is('ok');
      gateway.child.kill('SIGTERM');
      await gateway.ended();
    }
    proxy.cut();
    await using first = await Gateway.start(one, store, { homes: { enabled: true } });
    await using second = await Gateway.start(two, store, { homes: { enabled: true } });
    for (const gateway of [first, second]) {
      await saysThatItWaits(gateway, MACHINE_AWAY);
      expect((await gateway.run('status')).out).toContain('The database of the setting store does not answer');
    }
    const asked = proxy.refused;
    await waitFor(() => proxy.refused > asked + 4, { what: 'more attempts' });
    for (const gateway of [first, second]) {
      expect(linesWith(gateway, /waits until the database answers/u)).toHaveLength(1);
      expect(gateway.child.exitCode).toBe(null);
    }
    proxy.mend();
    const running = async (): Promise<number> => {
      const both = await Promise.all([first.health(), second.health()]);
      return both.reduce((sum, { body }) => sum + (body['homes'] as { running: number }).running, 0);
    };
    await waitFor(async () => (await running()) === 1, { what: 'the home runs on one of them' });
    for (const gateway of [first, second]) await gateway.is('ok');
    expect([first.child.exitCode, second.child.exitCode]).toEqual([null, null]);
  });
});
