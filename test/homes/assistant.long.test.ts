import { copyFile, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { spawn, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Postgres } from '../../src/host/homes/postgres.ts';
import { describeWith } from '../support/test-with.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { childEnvironment } from '../support/child-environment.ts';
import { startFakeOpenAi } from '../support/fake-openai.ts';
import { startFakeTelegram, type FakeTelegram } from '../support/fake-telegram.ts';
import type { FakeModel } from '../support/fake-model.ts';
import { postgresPrograms, startPostgres, type Server } from '../support/postgres.ts';
import { tempFolder } from '../support/temp.ts';
import { waitFor } from '../support/wait.ts';
import { startProxy } from './proxy.ts';
import { chatOf, OWNER, startWorld, type World } from '../support/world.ts';

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
const programs = postgresPrograms();

/** Says it in the owner's chat and resolves with the reply. */
async function says(world: World, text: string): Promise<string | undefined> {
  const before = chatOf(world).length;
  world.telegram.userSays(OWNER, text);
  await waitFor(() => chatOf(world).length > before, { what: `the reply to ${text}` });
  return chatOf(world).at(-1);
}

describeWith('PostgreSQL')('an assistant whose home PostgreSQL keeps', () => {
  let server: Server;
  beforeAll(async () => {
    server = await startPostgres(programs ?? '');
  });
  afterAll(async () => server?.[Symbol.asyncDispose]());

  test('continues in an empty folder what it began in another one: conversation, memory and files', async () => {
    const store = await server.database();
    await using world = await startWorld({ config: { store } });
    world.model.reply('hello there');
    expect(await says(world, 'my name is Ada')).toBe('hello there');
    world.model.reply(
      { calls: [{ name: 'write_file', arguments: { path: 'plan.txt', content: 'the plan' } }] },
      'written',
    );
    expect(await says(world, 'write the plan')).toBe('written');
    const other = join(world.home, '..', 'other', 'home');
    await mkdir(other, { recursive: true, mode: 0o700 });
    await copyFile(join(world.home, 'config.json'), join(other, 'config.json'));
    await world.restart(other);
    world.model.reply('Ada');
    expect(await says(world, 'what is my name?')).toBe('Ada');
    expect(JSON.stringify(world.model.requests.at(-1)?.body)).toContain('my name is Ada');
    expect(await readFile(join(other, 'workspace', 'plan.txt'), 'utf8')).toBe('the plan');
    expect(await readdir(join(other, 'sessions'))).toEqual(await readdir(join(world.home, 'sessions')));
    await world.restart();
    world.model.reply('still Ada');
    expect(await says(world, 'and now?')).toBe('still Ada');
    expect(JSON.stringify(world.model.requests.at(-1)?.body)).toContain('what is my name?');
  });

  test('answers nothing while PostgreSQL is away, and everything after', async () => {
    const store = `${await server.database()}&leaseSeconds=2`;
    await using world = await startWorld({ config: { store } });
    world.model.reply('one');
    expect(await says(world, 'first')).toBe('one');
    await server.kill();
    // The model may be asked again, because its first answer could not be written.
    world.model.setHandler(() => 'two');
    const before = chatOf(world).length;
    world.telegram.userSays(OWNER, 'second');
    const known = async (): Promise<boolean> =>
      (await world.assistant.call('info', {})).warnings.some((one) => one.includes('takes no writes'));
    try {
      await waitFor(known, { what: 'the trouble is known' });
    } finally {
      await server.start();
    }
    expect(
      chatOf(world)
        .slice(before)
        .filter((text) => text.includes('two')),
    ).toEqual([]);
    await waitFor(() => chatOf(world).includes('two'), { what: 'the answer' });
    expect(chatOf(world).filter((text) => text === 'two').length).toBe(1);
  });

  test.each(['SIGKILL', 'SIGSTOP'] as const)(
    'is taken over by a gateway that waits when %s ends or freezes the one that runs it',
    async (signal) => {
      const store = `${await server.database()}&leaseSeconds=2`;
      await using folder = await tempFolder();
      await using telegram = await startFakeTelegram();
      await using model = await startFakeOpenAi();
      await using postgres = await Postgres.open(store.replace('&leaseSeconds=2', ''), { clock: systemClock });
      await using first = await startGateway(join(folder.path, 'a', 'home'), { store, telegram, model });
      await first.ready();
      await using second = await startGateway(join(folder.path, 'b', 'home'), { store, telegram, model });
      await second.says('another gateway runs the home');
      const answers = (): readonly string[] => telegram.sentMessages.map((sent) => sent.visibleText);
      model.reply('one');
      telegram.userSays(OWNER, 'first');
      await waitFor(() => answers().includes('one'));
      const unsettled = "SELECT 1 FROM assistant.journal_outbound WHERE state <> 'delivered'";
      await waitFor(async () => (await postgres.query(unsettled)).length === 0);
      first.child.kill(signal);
      model.setHandler(() => 'two');
      telegram.userSays(OWNER, 'second');
      const began = performance.now();
      await waitFor(() => answers().includes('two'));
      const tookMs = performance.now() - began;
      // The lease, and 10 s of a machine that may be busy.
      expect(tookMs).toBeLessThan(2_000 + 10_000);
      if (signal === 'SIGSTOP') {
        first.child.kill('SIGCONT');
        await first.says('another gateway took the home');
        await first.says('another gateway runs the home');
      }
      model.setHandler(() => 'three');
      telegram.userSays(OWNER, 'third');
      await waitFor(() => answers().includes('three'));
      // On a busy machine a lease of 2 s is told of.
      const replies = answers().filter((text) => !/^⚠|^The database of this home/u.test(text));
      expect(replies).toEqual(['one', 'two', 'three']);
      expect(await postgres.query('SELECT epoch FROM assistant.homes')).toEqual([{ epoch: 2 }]);
    },
  );

  test('waits again when another gateway has it before its start has ended', async () => {
    const url = await server.database();
    await using folder = await tempFolder();
    await using sockets = await tempFolder();
    await using proxy = await startProxy(url, sockets.path);
    await using telegram = await startFakeTelegram();
    await using model = await startFakeOpenAi({ handler: () => 'one' });
    const others = { telegram, model, store: `${url}&leaseSeconds=2` };
    {
      await using before = await startGateway(join(folder.path, 'before', 'home'), others);
      await before.ready();
    }
    const written = proxy.stallBefore('INSERT INTO assistant."journal_');
    const late = await startGateway(join(folder.path, 'late', 'home'), {
      ...others,
      store: `${proxy.url}&leaseSeconds=2`,
    });
    await using _late = late;
    await written;
    const next = await startGateway(join(folder.path, 'next', 'home'), others);
    await using _next = next;
    await next.ready();
    proxy.mend();
    await late.says('another gateway took the home');
    await late.says('another gateway runs the home');
    const answers = (): readonly string[] => telegram.sentMessages.map((sent) => sent.visibleText);
    telegram.userSays(OWNER, 'first');
    await waitFor(() => answers().includes('one'));
    model.setHandler(() => 'two');
    next.child.kill('SIGTERM');
    await late.ready();
    telegram.userSays(OWNER, 'second');
    await waitFor(() => answers().includes('two'));
    // On a busy machine there is a notice between them that the database did not answer for so long.
    expect(answers().filter((text) => !text.includes('database'))).toEqual(['one', 'two']);
  });
});

interface Gateway extends AsyncDisposable {
  readonly child: ChildProcess;
  ready(): Promise<void>;
  /** Resolves when its log has this text. */
  says(text: string): Promise<void>;
}

async function startGateway(
  home: string,
  { store, telegram, model }: { store: string; telegram: FakeTelegram; model: FakeModel },
): Promise<Gateway> {
  await mkdir(home, { recursive: true, mode: 0o700 });
  const config = {
    store,
    agent: { model: 'openai/scripted-model' },
    providers: { openai: { apiKey: 'test-key-0001', baseUrl: model.url } },
    channels: { telegram: { token: telegram.token, apiRoot: telegram.apiRoot, allowFrom: [String(OWNER)] } },
  };
  await writeFile(join(home, 'config.json'), JSON.stringify(config), { mode: 0o600 });
  const child = spawn(process.execPath, [MAIN, 'gateway', '--home', home, '--port', '0'], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: childEnvironment({ HOME: join(home, '..') }),
  });
  let log = '';
  child.stderr.on('data', (data: Buffer) => (log += data.toString()));
  const says = async (text: string): Promise<void> => {
    try {
      await waitFor(() => log.includes(text));
    } catch (error) {
      throw new Error(`no ${text} in:\n${log}`, { cause: error });
    }
  };
  return {
    child,
    says,
    ready: () => says('"msg":"ready"'),
    [Symbol.asyncDispose]: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const gone = new Promise((resolve) => child.once('exit', resolve));
      child.kill('SIGKILL');
      await gone;
    },
  };
}
