import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { inboundMessage } from '../support/inbound.ts';
import { runCommand } from '../support/command-run.ts';
import { startFakeDiscord } from '../support/fake-discord.ts';
import { startFakeOllama } from '../support/fake-ollama.ts';
import { startFakeSlack } from '../support/fake-slack.ts';
import { doctor, faults, furnishedHome, put, startStub, withJournal, type Row } from './doctor-home.ts';

const HOUR_MS = 3_600_000;
/** A process id that no process has. */
const GONE = 4_194_303;

/** How a finding has to look: which check, how bad, what it says, and what mends it. */
type Wanted = readonly [id: string, state: Row['state'], evidence: RegExp, remedy: RegExp];

/** Throws with what is missing, or with what was found beside it. */
function expectRows(found: readonly Row[], wanted: readonly Wanted[]): void {
  const left = [...found];
  const missing = wanted.filter(([id, state, evidence, remedy]) => {
    const at = left.findIndex(
      (row) => row.id === id && row.state === state && evidence.test(row.evidence) && remedy.test(row.remedy ?? ''),
    );
    if (at !== -1) left.splice(at, 1);
    return at === -1;
  });
  expect({ missing: missing.map(String), more: left }).toEqual({ missing: [], more: [] });
}

/** The words behind the program in a remedy that is a command of this assistant; undefined: it is none. */
function ownWords(remedy: string | null): readonly string[] | undefined {
  const words = /^npm run assistant -- (?<words>[^\n]+)$/u.exec(remedy ?? '')?.groups?.['words'];
  return words?.split(' ');
}

/** A port that another program has. */
async function takenPort(): Promise<{ readonly port: number } & AsyncDisposable> {
  const server = createServer((socket) => socket.destroy());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    [Symbol.asyncDispose]: () => new Promise((resolve) => void server.close(() => resolve())),
  };
}

/** Dead messages, jobs that do not run, breakdowns, and model calls without a cache over the budget of the day. */
function fillJournal(db: Parameters<NonNullable<Parameters<typeof withJournal>[1]>>[0], now: number): void {
  const message = JSON.stringify(inboundMessage({}));
  db.prepare(
    `INSERT INTO inbound (id, channel, account, chat, external_id, session, payload, role, origin, state, received_at, updated_at)
     VALUES ('i1', 'telegram', 'bot', '42', 'x', 's', ?1, 'owner', 'user', 'dead', ?2, ?2)`,
  ).run(message, now - HOUR_MS);
  db.prepare(
    `INSERT INTO outbound (id, channel, chat, kind, payload, state, created_at, updated_at)
     VALUES ('o1', 'telegram', '42', 'answer', '{"id":"o1","text":"lost","media":[],"metadata":{}}', 'dead', ?1, ?1)`,
  ).run(now - HOUR_MS);
  for (let n = 0; n < 30; n += 1) {
    db.prepare(
      `INSERT INTO usage (turn_id, session, source, provider, model, input, cached, cache_write, output, reasoning, cost_usd, at)
       VALUES (?, 's', 'user', 'ollama', 'qwen3:8b', 9000, 0, 0, 100, 0, 0.5, ?)`,
    ).run(`t${n}`, now - n);
  }
  db.exec("INSERT INTO opened (id, boot) VALUES (1, 'a boot of long ago')");
}

const JOBS = {
  version: 1,
  jobs: [
    { id: 'over', text: 'tea', at: '2020-01-01T09:00', chat: 'telegram:42' },
    { id: 'not-agreed', text: 'tea', cron: '0 9 * * *', chat: 'telegram:42' },
  ],
};

describe('assistant doctor', () => {
  test('finds forty faults of one home, names what mends each, and the commands do', { timeout: 180_000 }, async () => {
    await using discord = await startFakeDiscord();
    discord.gateway.mayReadMessages = false;
    await using slack = await startFakeSlack();
    await using ollama = await startFakeOllama();
    await using refusing = await startStub({ '/models': { status: 401 } });
    await using telegram = await startStub({
      '/bot123456:TEST-token/getMe': { body: { ok: true, result: { id: 1, is_bot: true, username: 'test_bot' } } },
      '/bot123456:TEST-token/getWebhookInfo': { body: { ok: true, result: { url: 'https://example.com/hook' } } },
      '/bot654321:gone/getMe': { status: 401, body: { ok: false, error_code: 401, description: 'Unauthorized' } },
    });
    await using taken = await takenPort();
    const now = Date.now();
    const { line, paths } = await furnishedHome({
      agent: {
        model: 'ollama/qwen3:8b',
        fallbacks: ['openai/gpt-x'],
        budget: { turnTokens: 500, dayUsd: 1, guestDayTokens: null },
        modle: 'x',
      },
      models: { 'ollama/qwen3:8b': { contextWindow: 4_096 } },
      providers: {
        ollama: { baseUrl: ollama.url },
        openai: { baseUrl: refusing.url, apiKey: 'sk-of-somebody-who-left' },
        nowhere: { baseUrl: 'http://127.0.0.1:9/v1', apiKey: 'sk-of-a-server-that-is-off' },
      },
      channels: {
        telegram: { token: '123456:TEST-token', apiRoot: telegram.url, allowFrom: ['42', '43'] },
        second: {
          kind: 'telegram',
          token: '654321:gone',
          apiRoot: telegram.url,
          allowFrom: ['42', '@ann'],
          owners: ['42'],
        },
        discord: {
          token: discord.token,
          apiBase: discord.apiBase,
          allowFrom: ['123456789012345678', '*'],
          groups: { policy: 'open', allow: ['7'] },
        },
        slack: { ...slack.config, appToken: 'xapp-wrong', allowFrom: ['U0123456789'] },
        third: { kind: 'telegram', enabled: true, token: '${THIRD_BOT_TOKEN}' },
      },
      tools: { exec: { mode: 'full' } },
      gateway: { host: '0.0.0.0', port: taken.port },
      heartbeat: { activeHours: '09:00-09:10' },
      mcpServers: { broken: { command: '/nowhere/server' } },
      plugins: ['not-there'],
    });
    await withJournal(paths, (db) => fillJournal(db, now));
    put(paths.starts, [4, 3, 2, 1].map((at) => now - at * 60_000).join(' '));
    chmodSync(paths.home, 0o755);
    chmodSync(paths.config, 0o644);
    put(join(paths.home, 'secrets', 'KEY'), 'x', 0o644);
    put(join(paths.workspace, 'cron', 'jobs.json'), JSON.stringify(JOBS));
    put(join(paths.workspace, 'skills', 'odd', 'SKILL.md'), '---\nname: [odd\n---\nText.\n');
    put(join(paths.sessions, 'telegram_42.jsonl'), '{"v":1}\nnot json\n{"v":1}\n');
    put(paths.search, 'this is no database, though it is as long as the head of one would be, and longer than that');
    put(join(paths.quarantine, 'damaged'), 'x');
    put(`${paths.lock}.holder`, JSON.stringify({ pid: GONE, hostname: 'elsewhere', since: now }));
    put(paths.lock, '');
    const leftover = join(paths.workspace, `.MEMORY.md.${GONE}.1.tmp`);
    put(leftover, 'x');
    utimesSync(leftover, new Date(now - 2 * HOUR_MS), new Date(now - 2 * HOUR_MS));
    rmSync(join(paths.workspace, 'SOUL.md'));
    const isRoot = process.getuid?.() === 0;
    if (isRoot) chownSync(join(paths.workspace, 'USER.md'), 12_345, 12_345);

    const report = await doctor(line);
    expect(report).toMatchObject({ code: 1, ok: false, version: 1 });
    const wrong: readonly Wanted[] = [
      ['config.mode', 'warning', /mode 644/u, /^chmod 600 /u],
      [
        'config.unused',
        'warning',
        /config\.json:\d+:\d+: .*"agent\.modle" is not known.*agent\.model/u,
        /config unset agent\.modle$/u,
      ],
      [
        'config.missing',
        'warning',
        /channels\.third\.token names the variable THIRD_BOT_TOKEN/u,
        /^Set THIRD_BOT_TOKEN in /u,
      ],
      ['home.mode', 'warning', /may look into .* \(mode 755\)/u, /^chmod 700 /u],
      ['home.mode', 'warning', /^secrets\/KEY holds a secret/u, /^chmod 600 \S+secrets\/KEY$/u],
      ...(isRoot
        ? [['home.owner', 'failed', /USER\.md belongs to another user/u, /^sudo chown -R \d+:\d+ /u] as const]
        : []),
      ['store.search', 'warning', /search\.db is damaged/u, /^rm \S+search\.db$/u],
      ['store.tapes', 'warning', /telegram_42\.jsonl \(line 2\)/u, /backup/u],
      [
        'provider.key',
        'failed',
        /^openai refused the API key \(401\)\.$/u,
        /providers\.openai\.apiKey in .*init --provider openai$/u,
      ],
      ['provider.key', 'warning', /^nowhere does not work: it cannot be reached/u, /providers\.nowhere\.baseUrl/u],
      [
        'model.window',
        'warning',
        /loads only 4096 tokens of qwen3:8b/u,
        /config set models\.ollama\/qwen3:8b\.contextWindow 32768$/u,
      ],
      ['model.budget', 'warning', /turnTokens is 500.*no turn fits/u, /config set agent\.budget\.turnTokens \d{5,}$/u],
      ['model.budget', 'warning', /used up until tomorrow: \$15\.00 of \$1/u, /config set agent\.budget\.dayUsd 2$/u],
      ['channel.owner', 'warning', /channels\.telegram has no owner/u, /config set channels\.telegram\.owners 42$/u],
      ['channel.people', 'warning', /channels\.second lists @ann/u, /config edit$/u],
      [
        'channel.open',
        'warning',
        /discord lets everybody in, and guests have no daily limit/u,
        /config unset agent\.budget\.guestDayTokens$/u,
      ],
      ['channel.token', 'failed', /channels\.second\.token: Telegram refused this token/u, /init$/u],
      ['channel.token', 'failed', /channels\.slack\.appToken: Slack refused/u, /init$/u],
      ['channel.intents', 'failed', /Message Content Intent is off/u, /discord\.com\/developers/u],
      ['channel.poller', 'failed', /telegram has a webhook/u, /deleteWebhook"$/u],
      ['sandbox.mode', 'warning', /without a sandbox and without a question/u, /config set tools\.exec\.mode auto$/u],
      ['gateway.port', 'failed', /Another program listens at 127\.0\.0\.1:/u, /config set gateway\.port 0$/u],
      ['gateway.exposed', 'failed', /0\.0\.0\.0 without a gateway\.token/u, /config set gateway\.host 127\.0\.0\.1$/u],
      ['gateway.starts', 'warning', /broke down 4 times in a row/u, /npm start$/u],
      ['messages.undelivered', 'warning', /1 reply of the last week/u, /outbox list$/u],
      ['messages.unanswered', 'warning', /1 message of the last week was given up/u, /inbox list$/u],
      ['cron.jobs', 'warning', /over never runs/u, /cron remove over$/u],
      ['cron.jobs', 'warning', /not-agreed was found in the file/u, /cron enable not-agreed$/u],
      ['heartbeat.works', 'warning', /10 minutes a day/u, /config unset heartbeat\.activeHours$/u],
      ['skills.usable', 'warning', /odd/u, /skills check$/u],
      ['mcp.server', 'failed', /broken does not work/u, /mcp test broken$/u],
      ['plugins.there', 'failed', /not-there is not in/u, /plugins add not-there/u],
    ];
    expectRows(faults(report), wrong);
    const notes: readonly Wanted[] = [
      ['home.lock', 'note', /names process 4194303, which is gone/u, /doctor --fix$/u],
      ['home.leftovers', 'note', /1 temporary file/u, /doctor --fix$/u],
      ['home.workspace', 'note', /lacks SOUL\.md/u, /doctor --fix$/u],
      ['store.quarantine', 'note', /1 damaged piece/u, /^ls -l /u],
      ['model.cache', 'note', /Only 0% of the input of the last 30 calls/u, /prompt cache/u],
      [
        'channel.open',
        'note',
        /discord lets everybody in/u,
        /config set channels\.discord\.allowFrom 123456789012345678$/u,
      ],
      ['channel.open', 'note', /discord speaks in 1 of its groups/u, /groups\.policy mention$/u],
      ['gateway.running', 'note', /No assistant runs/u, /^npm start$/u],
      ['program.timezone', 'note', /UTC/u, /config set agent\.timezone ZONE$/u],
    ];
    expectRows(
      report.checks.filter(({ id, state }) => state === 'note' && notes.some(([wanted]) => wanted === id)),
      process.env['TZ'] === undefined || process.env['TZ'] === 'UTC'
        ? notes
        : notes.filter(([id]) => id !== 'program.timezone'),
    );

    // Commands of the system that mend are run as they stand there.
    const mends = report.checks.flatMap(({ remedy }) =>
      /^(?:sudo )?(?:chmod|rm|chown) /u.test(remedy ?? '') ? [remedy ?? ''] : [],
    );
    expect(mends).toHaveLength(isRoot ? 5 : 4);
    for (const mend of mends) execFileSync('/bin/sh', ['-c', mend.replace(/^sudo /u, '')]);
    // Commands of the assistant are known, and those that change something change it.
    const own = new Set(report.checks.flatMap(({ remedy }) => ownWords(remedy)?.join(' ') ?? []));
    for (const words of own) {
      // These ask, or take what only a person knows.
      if (/^(?:init|cron enable|config edit)|ZONE$/u.test(words)) continue;
      const run = await runCommand(words.split(' '), paths.home);
      expect([words, run.code], run.err).not.toEqual([words, 2]);
    }
    const again = await doctor(line, '--offline');
    const mended = new Set([
      'config.mode',
      'home.mode',
      'home.owner',
      'store.search',
      'home.lock',
      'home.leftovers',
      'home.workspace',
      'config.unused',
      'channel.owner',
      'channel.open',
      'sandbox.mode',
      'gateway.exposed',
      'heartbeat.works',
    ]);
    expect(again.checks.filter(({ id, state }) => mended.has(id) && state !== 'ok')).toEqual([]);
    expect(again.checks.filter(({ evidence }) => /over never runs/u.test(evidence))).toEqual([]);
  });

  test('says where a configuration is broken, and looks at everything else', async () => {
    const { line, paths } = await furnishedHome();
    writeFileSync(paths.config, '{\n  "agent": { "model": 7 },\n  "log": { "level": "loud" }\n}\n');
    const report = await doctor(line, '--offline');
    expectRows(faults(report), [
      ['config.valid', 'failed', /config\.json:2:23: agent\.model must be/u, /config edit$/u],
      ['config.valid', 'failed', /config\.json:3:21: log\.level must be/u, /config edit$/u],
    ]);
    expect(report.checks.find(({ id }) => id === 'home.mode')?.state).toBe('ok');
    writeFileSync(paths.config, '{\n  "agent": {\n');
    expectRows(faults(await doctor(line, '--offline')), [
      ['config.valid', 'failed', /config\.json:3:1: /u, /config edit$/u],
    ]);
  });

  test('names the command for a configuration that is no file', async () => {
    const { line, paths } = await furnishedHome();
    rmSync(paths.config);
    symlinkSync(paths.config, paths.config);
    expectRows(
      faults(await doctor(line, '--offline')).filter(({ id }) => id === 'config.valid'),
      [['config.valid', 'failed', /config\.json is a link that leads back to itself\.$/u, /^rm \S+config\.json$/u]],
    );
  });

  test('tells a damaged journal, and one of a newer version', async () => {
    const { line, paths } = await furnishedHome();
    put(paths.state, 'this is no database, and that is what is wrong with it, however long it may be in the end');
    expectRows(faults(await doctor(line, '--offline')), [
      ['store.journal', 'failed', /could not be opened|is damaged/u, /restore BACKUP$/u],
    ]);
    rmSync(paths.state);
    await withJournal(paths, (db) => db.exec('UPDATE schema_reader SET min = 900; PRAGMA user_version = 900'));
    expectRows(faults(await doctor(line, '--offline')), [
      [
        'store.journal',
        'failed',
        /newer version/u,
        /^Start the newer version again, or restore a backup from before it/u,
      ],
    ]);
  });

  test('says that the last process died only while that is so', async () => {
    const { line, paths } = await furnishedHome();
    await withJournal(paths);
    put(paths.starts, '1 2');
    const starts = async (): Promise<Row | undefined> =>
      (await doctor(line, '--offline')).checks.find(({ id }) => id === 'gateway.starts');
    expect(await starts()).toMatchObject({ state: 'note', evidence: expect.stringContaining('without tidying up') });
    rmSync(paths.starts);
    expect(await starts()).toMatchObject({ state: 'ok' });
  });
});
