import { mkdirSync, writeFileSync } from 'node:fs';
import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { connectAssistant } from '../../src/core/gateway/control.ts';
import { probeSandbox } from '../../src/core/security/enclosure/probe.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { systemRandom } from '../../src/core/util/random.ts';
import { CommandLine } from '../cli/command-line.ts';
import { ServiceMachine } from '../service/fake-systemd.ts';
import { ageHome } from '../support/aged-home.ts';
import { startFakeDiscord } from '../support/fake-discord.ts';
import { startFakeOllama } from '../support/fake-ollama.ts';
import { startFakeOpenAi } from '../support/fake-openai.ts';
import { startFakeSlack } from '../support/fake-slack.ts';
import { startFakeTelegram } from '../support/fake-telegram.ts';
import { tempFolder } from '../support/temp.ts';
import { startWorld } from '../support/world.ts';
import { doctor, faults, furnishedHome, withJournal, type Report, type Row } from './doctor-home.ts';

const KEY = 'sk-test-key-of-a-healthy-home';
/** Where this machine has no sandbox, that is no false alarm. */
let hasSandbox = false;

beforeAll(async () => {
  await using folder = await tempFolder();
  const probe = await probeSandbox({ folder: folder.path, clock: systemClock, random: systemRandom });
  hasSandbox = probe.available;
});

function alarms(report: Report): readonly Row[] {
  return faults(report).filter(
    ({ id }) => (hasSandbox || id !== 'sandbox.works') && (process.getuid?.() !== 0 || id !== 'program.root'),
  );
}

/** Settings of a provider that is there and takes the key. */
function openAi(url: string): Readonly<Record<string, unknown>> {
  return {
    agent: { model: 'openai/scripted-model' },
    providers: { openai: { baseUrl: url, apiKey: '${OPENAI_API_KEY}' } },
  };
}

describe('assistant doctor with a server at home', () => {
  test.each([
    [2_048, true, [['failed', /loads only 2048 tokens of qwen3, too few for any use\.$/u]]],
    [
      8_192,
      false,
      [
        ['warning', /loads only 8192 tokens of qwen3, so there are fewer tools/u],
        ['warning', /can't use tools here/u],
      ],
    ],
    [32_768, true, []],
  ] as const)('of llama.cpp with %i tokens (tools: %s) it says what is missing', async (n_ctx, tools, expected) => {
    const props = { default_generation_settings: { n_ctx }, chat_template_caps: { supports_tools: tools } };
    await using model = await startFakeOpenAi({ models: ['qwen3'], pages: { '/props': props } });
    const { line } = await furnishedHome({
      agent: { model: 'local/qwen3' },
      providers: { local: { baseUrl: model.url } },
    });
    const found = alarms(await doctor(line)).map(({ state, evidence }) => [state, evidence]);
    expect(found).toEqual(expected.map(([state, evidence]) => [state, expect.stringMatching(evidence)]));
  });
});

describe('assistant doctor raises no alarm in a healthy home', () => {
  test('of the demo', async () => {
    const { line } = await furnishedHome();
    const report = await doctor(line);
    expect(alarms(report)).toEqual([]);
    expect(report).toMatchObject({ code: 0, ok: true });
  });

  test('with nothing but a key', async () => {
    await using model = await startFakeOpenAi({ apiKey: KEY });
    const { line } = await furnishedHome(openAi(model.url));
    line.env = { ...line.env, OPENAI_API_KEY: KEY };
    const report = await doctor(line);
    expect(alarms(report)).toEqual([]);
    expect(report.checks).toContainEqual({
      id: 'provider.key',
      state: 'ok',
      evidence: 'openai takes the key.',
      remedy: null,
    });
    expect(report.checks.find(({ id }) => id === 'program.clock')).toMatchObject({ state: 'ok' });
  });

  test('and says where the texts of the memory go', async () => {
    const embeddings = { baseUrl: 'http://127.0.0.1:9000/v1', apiKey: 'key-of-vectors-0009', model: 'small' };
    const { line } = await furnishedHome();
    const found = async (): Promise<readonly Row[]> =>
      (await doctor(line, '--offline')).checks.filter(({ id }) => id === 'memory.embeddings');
    expect(await found()).toEqual([]);
    await line.run('config', 'set', 'memory.embeddings', JSON.stringify(embeddings));
    const evidence =
      'The memory is searched by words and meaning; the texts of all conversations and of the memory go to 127.0.0.1:9000 (small). To switch that off, set memory.embeddings.model and its server to null.';
    expect(await found()).toMatchObject([{ state: 'note', evidence }]);
    await line.run('config', 'set', 'memory.embeddings', '{"provider": "anthropic", "model": "small"}');
    expect(await found()).toMatchObject([
      { state: 'failed', evidence: expect.stringContaining("does not speak OpenAI's API") },
    ]);
  });

  test('with a bot on Telegram', async () => {
    await using telegram = await startFakeTelegram();
    const { token, apiRoot } = telegram;
    const { line, paths } = await furnishedHome({ channels: { telegram: { token, apiRoot, allowFrom: ['42'] } } });
    await withJournal(paths);
    const report = await doctor(line);
    expect(alarms(report)).toEqual([]);
    expect(
      report.checks.filter(({ id }) => id.startsWith('channel.')).map(({ id, state }) => `${id} ${state}`),
    ).toEqual(['channel.owner ok', 'channel.people ok', 'channel.open ok', 'channel.token ok', 'channel.poller ok']);
    // Nothing was fetched, so nothing was confirmed and no other program was cut off.
    expect(telegram.calls.map(({ method }) => method).toSorted()).toEqual(['getMe', 'getWebhookInfo']);
  });

  test('with three channels', async () => {
    await using telegram = await startFakeTelegram();
    await using discord = await startFakeDiscord();
    await using slack = await startFakeSlack();
    const { line } = await furnishedHome({
      channels: {
        telegram: { token: telegram.token, apiRoot: telegram.apiRoot, allowFrom: ['42', '43'], owners: ['42'] },
        discord: { token: discord.token, apiBase: discord.apiBase, allowFrom: ['123456789012345678'] },
        slack: { ...slack.config, allowFrom: ['U0123456789'] },
      },
    });
    const report = await doctor(line);
    expect(alarms(report)).toEqual([]);
    expect(
      report.checks.filter(({ id, state }) => /^(?:channel|discord)\.token$/u.test(id) && state === 'ok'),
    ).toHaveLength(4);
  });

  test('with Slack only, whose owner is paired', async () => {
    await using slack = await startFakeSlack();
    const { line, paths } = await furnishedHome({ channels: { slack: slack.config } });
    await withJournal(paths, (db) => {
      db.exec("INSERT INTO people VALUES ('slack', 'U0123456789', 'owner', 'Ann', 1, 'terminal')");
    });
    expect(alarms(await doctor(line))).toEqual([]);
  });

  test('with Ollama', async () => {
    await using ollama = await startFakeOllama({ window: 32_768 });
    const { line } = await furnishedHome({
      agent: { model: 'ollama/qwen3:8b' },
      providers: { ollama: { baseUrl: ollama.url } },
    });
    const report = await doctor(line);
    expect(alarms(report)).toEqual([]);
    expect(report.checks.filter(({ id }) => id === 'model.window')).toHaveLength(1);
  });

  test('with a server of one’s own, and says what it has refused', async () => {
    await using model = await startFakeOpenAi({ apiKey: KEY });
    const { line, paths } = await furnishedHome(openAi(model.url));
    line.env = { ...line.env, OPENAI_API_KEY: KEY };
    await withJournal(paths, (db) => {
      const add = db.prepare('INSERT INTO model_facts VALUES (?, ?, ?, ?)');
      add.run('openai/scripted-model', 'window', '32768', 1);
      add.run('openai/scripted-model', 'call ids of nine letters', 'call ids of nine letters', 2);
      add.run('openai/another', 'no store', 'no store', 3);
    });
    const report = await doctor(line);
    expect(alarms(report)).toEqual([]);
    expect(report.checks.find(({ id }) => id === 'model.learned')?.evidence).toBe(
      'Learned from what the server of openai/scripted-model refused or said of itself: a window of 32,768 tokens; call ids of nine letters.',
    );
  });

  test('with an installed service that has the key', async () => {
    await using model = await startFakeOpenAi({ apiKey: KEY });
    const machine = new ServiceMachine();
    const { line, home } = machine;
    delete (line.env as Record<string, string>)['ANTHROPIC_API_KEY'];
    await furnishedHome(openAi(model.url), line);
    expect(await line.run('service', 'install'), line.err).toBe(0);
    line.host = { ...line.host, root: '/' };
    writeFileSync(join(home, 'service.env'), `OPENAI_API_KEY="${KEY}"\n`);
    machine.state('loaded', 'active');
    const report = await doctor(line);
    expect(alarms(report)).toEqual([]);
    expect(
      report.checks.filter(({ id }) => id.startsWith('service.')).map(({ id, state }) => `${id} ${state}`),
    ).toEqual(['service.running ok', 'service.unit ok', 'service.linger ok', 'service.keys ok']);
    expect(report.checks.find(({ id }) => id === 'provider.key')).toMatchObject({ state: 'ok' });
  });

  test('of root in a container', async () => {
    const { line } = await furnishedHome();
    const root = join(line.home, 'root');
    mkdirSync(root);
    writeFileSync(join(root, '.dockerenv'), '');
    line.host = { ...line.host, uid: 0, user: 'root', root };
    const report = await doctor(line, '--offline');
    expect(alarms(report)).toEqual([]);
    expect(report.checks.find(({ id }) => id === 'program.root')).toMatchObject({ state: 'note' });
  });

  test('while its gateway runs and talks', async () => {
    await using world = await startWorld({ furnish: (home) => chmod(join(home, 'config.json'), 0o600) });
    world.model.reply('Hello.');
    world.telegram.userSays(42, 'Hello');
    await expect.poll(() => world.telegram.sentMessages.length, { timeout: 180_000 }).toBeGreaterThan(0);
    const line = new CommandLine();
    line.env = { ASSISTANT_HOME: world.home, PATH: process.env['PATH'] ?? '', HOME: line.home };
    line.connect = (path) => connectAssistant(path, systemClock);
    const report = await doctor(line);
    expect(alarms(report)).toEqual([]);
    expect(report.checks.find(({ id }) => id === 'gateway.running')).toMatchObject({ state: 'ok' });
    expect(report.checks.filter(({ id }) => id === 'channel.running')).toMatchObject([{ state: 'ok' }]);
    expect(report.checks.find(({ id }) => id === 'home.lock')?.evidence).toContain(
      `Process ${process.pid} has the home`,
    );
  });

  test('of two years', async () => {
    const { line, paths } = await furnishedHome();
    await ageHome(paths.home, { messages: 2_000, runs: 2_000, now: Date.now() });
    expect(alarms(await doctor(line, '--offline'))).toEqual([]);
  });
});
