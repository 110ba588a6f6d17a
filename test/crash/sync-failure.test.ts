import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'vitest';
import { testUnless } from '../support/test-with.ts';
import { builtProgram } from '../support/built-program.ts';
import { CHATS, prepareHome, stopSoftly } from '../support/crash-process.ts';
import { diskEnvironment, whyNoDiskLibrary } from '../support/disk-library.ts';
import { startFakeOpenAi } from '../support/fake-openai.ts';
import { startFakeTelegram, type FakeTelegram } from '../support/fake-telegram.ts';
import { tempFolder } from '../support/temp.ts';
import { waitFor } from '../support/wait.ts';

const program = await builtProgram();
const diskTest = testUnless(await whyNoDiskLibrary(), { concurrent: true });

interface World extends AsyncDisposable {
  readonly telegram: FakeTelegram;
  readonly gateway: ChildProcess;
  readonly log: () => string;
  /** How many requests the model has got. */
  readonly modelCalls: () => number;
  /** The next sync of a file whose name ends so fails. */
  readonly failNext: () => Promise<void>;
}

/** `modelMs`: how long the model thinks. */
async function gatewayOnFailingDisk({
  on,
  modelMs = 0,
}: {
  readonly on: string;
  readonly modelMs?: number;
}): Promise<World> {
  await using stack = new AsyncDisposableStack();
  const folder = stack.use(await tempFolder());
  const telegram = stack.use(await startFakeTelegram());
  const model = stack.use(
    await startFakeOpenAi({
      handler: ({ view }) => ({ delayMs: modelMs, text: `answer to ${view.lastUserText.split('\n').at(-1)}` }),
    }),
  );
  const home = join(folder.path, 'home');
  await prepareHome(home, telegram, model.url, 'openai', 'info');
  const trigger = join(folder.path, 'fail');
  const disk = await diskEnvironment({ home, fail: { trigger, on } });
  const env = program.environment({ HOME: folder.path, ASSISTANT_HOME: home, ...disk });
  const gateway = spawn(process.execPath, [program.launcher, 'gateway', '--port', '0'], {
    env,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  stack.defer(() => stopSoftly(gateway));
  let log = '';
  gateway.stderr.on('data', (chunk) => (log += String(chunk)));
  await waitFor(() => log.includes('"msg":"ready"'), { timeoutMs: 90_000, what: 'the start' });
  const owned = stack.move();
  return {
    telegram,
    gateway,
    log: () => log,
    modelCalls: () => model.requests.length,
    failNext: () => writeFile(trigger, ''),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

diskTest(
  'a sync that fails confirms nothing: no acknowledgement leaves, the process begins anew, and nothing is lost or doubled',
  { timeout: 180_000 },
  async () => {
    await using world = await gatewayOnFailingDisk({ on: 'state.db-wal' });
    const { telegram, gateway, log } = world;
    const chat = CHATS[0] ?? 0;
    const answers = (): readonly string[] => telegram.sentMessages.map(({ visibleText }) => visibleText);
    telegram.userSays(chat, 'one');
    await waitFor(() => answers().includes('answer to one'), { timeoutMs: 90_000, what: 'the first answer' });
    // Whatever is still to be synced of the first turn.
    await new Promise((resolve) => setTimeout(resolve, 500));
    await world.failNext();
    const { updateId } = telegram.userSays(chat, 'two');
    await waitFor(() => answers().some((text) => text.includes('answer to two')), {
      timeoutMs: 90_000,
      what: 'the answer of the process after it',
    });
    const confirmed = telegram.calls.findIndex(
      ({ method, payload }) => method === 'getUpdates' && Number(payload['offset'] ?? 0) > updateId,
    );
    const starts = telegram.calls.flatMap(({ method }, n) => (method === 'getMe' ? [n] : []));
    expect(starts).toHaveLength(2);
    expect(confirmed).toBeGreaterThan(starts[1] ?? Infinity);
    expect(gateway.exitCode).toBeNull();
    expect(log()).toContain('The disk did not confirm a write');
    expect(answers().filter((text) => text.includes('answer to'))).toEqual(['answer to one', 'answer to two']);
  },
);

diskTest(
  'a sync that fails as a turn closes lets no answer out: the process begins anew and the answer comes once',
  { timeout: 180_000 },
  async () => {
    await using world = await gatewayOnFailingDisk({ on: 'state.db-wal', modelMs: 1_500 });
    const { telegram, gateway, log } = world;
    telegram.userSays(CHATS[0] ?? 0, 'one');
    // The claim is synced by its timer long before the model answers.
    await waitFor(() => telegram.unconfirmed.length === 0, { timeoutMs: 90_000, what: 'the acknowledgement' });
    await new Promise((resolve) => setTimeout(resolve, 700));
    await world.failNext();
    const answers = (): readonly string[] =>
      // Beside the notice of the disk.
      telegram.sentMessages
        .map(({ visibleText }) => visibleText.replace('↻ ', ''))
        .filter((text) => !text.startsWith('⚠'));
    await waitFor(() => answers().length > 0, { timeoutMs: 90_000, what: 'the answer' });
    expect(log()).toContain('The disk did not confirm a write');
    // An answer that waits may leave before the new process says that it is ready.
    await waitFor(() => log().split('"msg":"ready"').length === 3, { timeoutMs: 90_000, what: 'the second start' });
    expect(gateway.exitCode).toBeNull();
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(answers()).toEqual(['answer to one']);
  },
);

diskTest(
  'a sync that fails while another conversation waits for the model ends its turn too, and both answers come after the new start',
  { timeout: 180_000 },
  async () => {
    await using world = await gatewayOnFailingDisk({ on: 'state.db-wal', modelMs: 6_000 });
    const { telegram, gateway, log } = world;
    const [first = 0, second = 0] = CHATS;
    telegram.userSays(first, 'one');
    await waitFor(() => world.modelCalls() === 1, { timeoutMs: 90_000, what: 'the first request' });
    await world.failNext();
    telegram.userSays(second, 'two');
    const answers = (): readonly string[] =>
      telegram.sentMessages
        .map(({ visibleText }) => visibleText.replace('↻ ', ''))
        .filter((text) => text.startsWith('answer'))
        .toSorted();
    await waitFor(() => answers().length === 2, { timeoutMs: 90_000, what: 'both answers' });
    expect(log()).toContain('The disk did not confirm a write');
    await waitFor(() => log().split('"msg":"ready"').length === 3, { timeoutMs: 90_000, what: 'the second start' });
    expect(gateway.exitCode).toBeNull();
    expect(answers()).toEqual(['answer to one', 'answer to two']);
  },
);

diskTest(
  'a sync that fails in a process that nothing starts anew ends it with a sentence and an exit code',
  { timeout: 180_000 },
  async () => {
    await using folder = await tempFolder();
    await using model = await startFakeOpenAi({ handler: () => 'hello' });
    const home = join(folder.path, 'home');
    await mkdir(home, { mode: 0o700 });
    const provider = { openai: { apiKey: 'test-key-0001', baseUrl: model.url } };
    await writeFile(join(home, 'config.json'), JSON.stringify({ agent: { model: 'openai/x' }, providers: provider }));
    const trigger = join(folder.path, 'fail');
    const disk = await diskEnvironment({ home, fail: { trigger, on: 'state.db-wal' } });
    const chat = (): Promise<{ stdout: string }> =>
      promisify(execFile)(process.execPath, [program.launcher, 'chat', '-m', 'hi'], {
        env: program.environment({ HOME: folder.path, ASSISTANT_HOME: home, ...disk }),
        timeout: 120_000,
      });
    expect((await chat()).stdout).toContain('hello');
    model.setHandler(async () => {
      await writeFile(trigger, '');
      return 'hello again';
    });
    await expect(chat()).rejects.toMatchObject({ code: 1, stderr: expect.stringContaining('did not confirm a write') });
    model.setHandler(() => 'hello at last');
    expect((await chat()).stdout).toContain('hello at last');
  },
);
