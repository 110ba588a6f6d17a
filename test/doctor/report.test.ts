import { readdirSync, readFileSync, statSync, utimesSync, writeFileSync, chmodSync, rmSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { PROGRAM } from '../support/extensions.ts';
import { examine } from '../../src/doctor/examine.ts';
import { openScene } from '../../src/doctor/open-scene.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { systemRandom } from '../../src/core/util/random.ts';
import { ageHome } from '../support/aged-home.ts';
import { TOKEN_SAMPLES } from '../security/redact-samples.ts';
import { doctor, furnishedHome, put, withJournal } from './doctor-home.ts';

/** Every file of a folder with its content, mode and times. */
function snapshot(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .toSorted()
    .map((name) => {
      const path = join(folder, name);
      const { mode, mtimeMs, ctimeMs, size } = statSync(path);
      const content = statSync(path).isFile() ? readFileSync(path).toString('latin1') : '';
      return JSON.stringify([name, mode, mtimeMs, ctimeMs, size, content]);
    });
}

describe('assistant doctor --json', () => {
  test('has a shape that stays', async () => {
    const { line } = await furnishedHome();
    const { code, ...report } = await doctor(line, '--offline');
    expect(code).toBe(0);
    expect(Object.keys(report)).toEqual(['version', 'checks', 'ok']);
    expect(report.version).toBe(1);
    for (const row of report.checks) {
      expect(Object.keys(row)).toEqual(['id', 'state', 'evidence', 'remedy']);
      expect(row.id).toMatch(/^[a-z]+\.[a-z]+$/u);
      expect(row.evidence).toMatch(/[.…]$/u);
    }
    const ids = new Set(report.checks.map(({ id }) => id));
    const extensions = new Set(PROGRAM.extensions.map(({ name }) => name));
    expect([...ids].filter((id) => !extensions.has(id.split('.')[0] ?? ''))).toMatchInlineSnapshot(`
      [
        "program.node",
        "program.root",
        "program.clock",
        "program.timezone",
        "config.valid",
        "config.mode",
        "config.unused",
        "config.missing",
        "home.there",
        "home.mode",
        "home.owner",
        "home.workspace",
        "home.lock",
        "home.leftovers",
        "home.disk",
        "store.journal",
        "store.tapes",
        "store.files",
        "store.quarantine",
        "store.size",
        "model.answers",
        "provider.key",
        "model.window",
        "model.budget",
        "channel.token",
        "channel.poller",
        "channel.intents",
        "sandbox.mode",
        "sandbox.works",
        "gateway.running",
        "gateway.port",
        "gateway.exposed",
        "skills.usable",
        "service.running",
        "service.linger",
      ]
    `);
  });

  test('says what was mended', async () => {
    const { line, paths } = await furnishedHome();
    chmodSync(paths.home, 0o755);
    const report = await doctor(line, '--offline', '--fix');
    expect(report.mended).toEqual([`Only its owner can enter ${paths.home} now.`]);
    expect(statSync(paths.home).mode & 0o777).toBe(0o700);
  });
});

describe('assistant doctor', () => {
  test('shows a table by subject, and at the end what failed with its remedy, before the warnings', async () => {
    const { line } = await furnishedHome({ agnet: {}, gateway: { host: '0.0.0.0', port: 0 } });
    expect(await line.run('doctor', '--offline')).toBe(1);
    const [table = '', failures = '', warnings = '', counts = ''] = line.out.split('\n\n');
    expect(table).toMatch(/^program +\d fine, 1 not looked at\n/u);
    expect(table).toContain('\n  ✗ gateway.exposed: gateway.host is 0.0.0.0 without a gateway.token');
    expect(failures).toBe(
      `Failed:\n✗ gateway.exposed: gateway.host is 0.0.0.0 without a gateway.token, so the gateway does not start.\n    → npm run assistant -- config set gateway.host 127.0.0.1`,
    );
    expect(warnings).toMatch(
      /^Warnings:\n⚠ config\.unused: \S+config\.json:\d+:\d+: The setting "agnet" is not known and has no effect\. Did you mean "agent"\?\n {4}→ /u,
    );
    expect(counts).toMatch(/^1 failed, 1 warning, \d notes?, \d+ fine\.\n$/u);
  });

  test('names commands for the home that it was called with', async () => {
    const { line, paths } = await furnishedHome();
    const { HOME = '', PATH = '' } = line.env;
    line.env = { HOME, PATH, ASSISTANT_HOME: '/nowhere' };
    const report = await doctor(line, '--offline', '--home', paths.home);
    expect(report.checks.find(({ id }) => id === 'gateway.running')?.remedy).toBe(`npm start -- --home ${paths.home}`);
  });

  test('changes nothing without --fix, with an old journal, one that was left open, and none', async () => {
    const { line, paths } = await furnishedHome();
    await ageHome(paths.home, { messages: 50, runs: 50, now: Date.now() });
    rmSync(join(paths.workspace, 'USER.md'));
    put(`${paths.lock}.holder`, JSON.stringify({ pid: 4_194_303, hostname: 'elsewhere', since: 1 }));
    const before = snapshot(paths.home);
    await doctor(line);
    expect(snapshot(paths.home)).toEqual(before);
    const { line: other, paths: empty } = await furnishedHome();
    const nothing = snapshot(empty.home);
    await doctor(other);
    expect(snapshot(empty.home)).toEqual(nothing);
  });

  test('does not migrate a journal of an older version', async () => {
    const { line, paths } = await furnishedHome();
    await withJournal(paths, (db) => db.exec('DROP TABLE owner_chats; PRAGMA user_version = 3'));
    const before = snapshot(paths.home);
    const report = await doctor(line, '--offline', '--fix');
    expect(report.checks.find(({ id }) => id === 'store.journal')).toMatchObject({
      state: 'note',
      remedy: 'npm start',
    });
    expect(snapshot(paths.home)).toEqual(before);
    expect(report.ok).toBe(true);
  });

  test('--fix mends what is safe, says what it did, and leaves the rest', async () => {
    const { line, paths } = await furnishedHome({ agnet: {} });
    const old = new Date(Date.now() - 7_200_000);
    const leftover = join(paths.workspace, '.NOTES.md.4194303.7.tmp');
    put(leftover, 'x');
    utimesSync(leftover, old, old);
    const fresh = join(paths.workspace, '.NOTES.md.4194303.8.tmp');
    put(fresh, 'x');
    put(join(paths.home, 'secrets', 'KEY'), 'x', 0o644);
    put(`${paths.lock}.holder`, JSON.stringify({ pid: 4_194_303, hostname: 'elsewhere', since: 1 }));
    rmSync(join(paths.workspace, 'AGENTS.md'));
    chmodSync(paths.config, 0o666);
    const report = await doctor(line, '--offline', '--fix');
    expect(report.mended).toEqual([
      `Only its owner can read and change ${paths.config} now.`,
      'Only their owner can read secrets/KEY now.',
      'Added what was missing: workspace/AGENTS.md.',
      `Removed ${paths.lock}.holder.`,
      'Removed 1 temporary file.',
    ]);
    expect(readFileSync(join(paths.workspace, 'AGENTS.md'), 'utf8')).not.toBe('');
    expect(statSync(paths.config).mode & 0o777).toBe(0o600);
    // It may be of a process that is writing now.
    expect(readFileSync(fresh, 'utf8')).toBe('x');
    expect(report.checks.filter(({ state }) => state === 'warning').map(({ id }) => id)).toEqual(['config.unused']);
  });

  test('a setting that only a plugin knows is not called useless while the plugin is not installed', async () => {
    const { line } = await furnishedHome({ plugins: ['water'], water: { cups: 3 } });
    const { checks } = await doctor(line, '--offline');
    const about = checks.filter(({ evidence }) => evidence.includes('"water"'));
    expect(about.map(({ id, state, remedy }) => [id, state, remedy])).toEqual([
      ['config.unused', 'warning', expect.stringMatching(/plugins list$/u)],
    ]);
    expect(about[0]?.evidence).toMatch(/config\.json:\d+:\d+: The setting "water" isn't checked, because/u);
    expect(checks.find(({ id }) => id === 'config.missing')?.state).toBe('ok');
  });

  test('--offline reaches no server and starts no program', async () => {
    let calls = 0;
    const server = createServer((socket) => {
      calls += 1;
      socket.destroy();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const url = `http://127.0.0.1:${port}`;
    const { line, paths } = await furnishedHome({
      agent: { model: 'ollama/x' },
      providers: { ollama: { baseUrl: `${url}/v1` } },
      channels: { telegram: { token: '1:x', apiRoot: url, allowFrom: ['1'] } },
      mcpServers: { touch: { command: '/bin/sh', args: ['-c', 'touch was-started'] } },
      gateway: { port },
    });
    await doctor(line, '--offline');
    expect(calls).toBe(0);
    expect(readdirSync(paths.workspace)).not.toContain('was-started');
    // With them, the same home is reached.
    await doctor(line);
    expect(calls).toBeGreaterThan(2);
    expect(readdirSync(paths.workspace)).toContain('was-started');
    await new Promise<void>((resolve) => void server.close(() => resolve()));
  });

  test('waits for no server longer than its deadline', async () => {
    const silent = createServer(() => {});
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    const { port } = silent.address() as AddressInfo;
    const { line, paths } = await furnishedHome({
      providers: { slow: { baseUrl: `http://127.0.0.1:${port}/v1`, apiKey: 'sk-of-a-server-that-hangs' } },
      mcpServers: { slow: { command: '/bin/sleep', args: ['60'] } },
    });
    const { env, host } = line;
    const [clock, random] = [systemClock, systemRandom];
    using scene = await openScene({
      program: PROGRAM,
      paths,
      env,
      clock,
      random,
      host,
      gateway: null,
      homeFlag: undefined,
    });
    const begun = performance.now();
    const { findings } = await examine(scene, { offline: false, fix: false, liveMs: 700 });
    expect(performance.now() - begun).toBeLessThan(8_000);
    const late = findings.filter(({ check }) => ['provider.key', 'mcp.server'].includes(check.id));
    expect(late.map(({ state }) => state)).not.toContain('ok');
    expect(late).toHaveLength(2);
    await new Promise<void>((resolve) => {
      silent.close(() => resolve());
      silent.unref();
      resolve();
    });
  });

  test('shows no secret: of the configuration, of the environment, of files, of what servers say, or of a broken file', async () => {
    const secrets = TOKEN_SAMPLES.map(([, secret]) => secret).filter((secret) => /^[\w.-]{12,}$/u.test(secret));
    const [first = '', second = '', third = '', fourth = '', ...others] = secrets;
    const { line, paths } = await furnishedHome({
      agent: { model: 'p0/x' },
      providers: Object.fromEntries(
        others.map((apiKey, n) => [`p${n}`, { kind: 'openai', baseUrl: `http://127.0.0.1:9/v1`, apiKey }]),
      ),
      channels: {
        telegram: { token: first, allowFrom: ['1', '2'] },
        slack: { botToken: second, appToken: { file: 'secrets/SLACK' } },
      },
      mcpServers: {
        chatty: { command: '/bin/sh', args: ['-c', 'echo "my key is $API_KEY" >&2; exit 3'], env: { API_KEY: third } },
      },
    });
    put(join(paths.home, 'secrets', 'SLACK'), fourth, 0o644);
    line.env = { ...line.env, OPENAI_API_KEY: 'sk-of-the-environment-0123456789' };
    const all = [...secrets, 'sk-of-the-environment-0123456789'];
    const shown = async (...flags: readonly string[]): Promise<string> => {
      line.out = '';
      line.err = '';
      await line.run('doctor', ...flags);
      return line.out + line.err;
    };
    const found = [await shown(), await shown('--json', '--fix')];
    expect(found[0]).toContain('my key is [redacted');
    writeFileSync(
      paths.config,
      `{ "providers": { "openai": { "apiKey": 7, "${first}": "${second}" } }, "channels": { "x": "${third}" `,
    );
    found.push(await shown('--offline'));
    writeFileSync(paths.config, `{ "channels": { "telegram": { "token": "${first}", "allowFrom": "${second}" } } }`);
    found.push(await shown('--offline'));
    for (const text of found) expect(all.filter((secret) => text.includes(secret))).toEqual([]);
  });
});
