import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { PROGRAM } from '../support/extensions.ts';
import { sentenceOf } from '../../src/core/util/finding.ts';
import { execEnvironment, resolveHome, wantsColor } from '../../src/core/config/environment.ts';
import { ensureHome, homePaths } from '../../src/core/config/home.ts';
import { initHome } from '../../src/core/config/init.ts';
import { loadConfig } from '../../src/core/config/load.ts';
import { failureOf, temporaryFolder } from './temporary-home.ts';

const isRoot = process.getuid?.() === 0;

describe('where the home is', () => {
  test.each([
    [{ flag: '/a/b/', env: { ASSISTANT_HOME: '/c' } }, '/a/b'],
    [{ env: { ASSISTANT_HOME: '/c', HOME: '/h' } }, '/c'],
    [{ env: { HOME: '/h' } }, '/h/.assistant'],
    [{ flag: '~/x', env: { HOME: '/h' } }, '/h/x'],
    [{ flag: '~', env: { HOME: '/h' } }, '/h'],
    [{ flag: 'here', env: {} }, resolve('here')],
    [{ env: {} }, join(homedir(), '.assistant')],
  ])('%j → %s', (options, expected) => {
    expect(resolveHome(options)).toBe(expected);
  });
});

test('commands see a small environment without keys', () => {
  const env = { PATH: '/bin', LANG: 'C', OPENAI_API_KEY: 'secret', EDITOR: 'vi' };
  expect(execEnvironment(env)).toEqual({ PATH: '/bin', LANG: 'C' });
  expect(execEnvironment(env, ['EDITOR', 'MISSING'])).toEqual({ PATH: '/bin', LANG: 'C', EDITOR: 'vi' });
});

test('NO_COLOR and dumb terminals get no colour', () => {
  expect([wantsColor({}), wantsColor({ NO_COLOR: '1' }), wantsColor({ TERM: 'dumb' })]).toEqual([true, false, false]);
});

describe('the folders', () => {
  test('are made with mode 0700', async () => {
    const paths = homePaths(join(temporaryFolder(), 'deep', 'home'));
    await ensureHome(paths);
    for (const folder of [paths.home, paths.workspace, paths.sessions]) {
      expect(statSync(folder).mode & 0o777).toBe(0o700);
    }
  });

  test('a file in their place is a clear sentence', async () => {
    const file = join(temporaryFolder(), 'file');
    writeFileSync(file, '');
    const error = await failureOf(ensureHome(homePaths(file)));
    expect(error.code).toBe('home-unusable');
    expect(error.message).toBe(
      `The assistant cannot live in ${file}: a file is in the way. Correct that, or choose another folder with --home.`,
    );
    expect((await failureOf(ensureHome(homePaths(join(file, 'below'))))).message).toContain('a file is in the way');
  });

  test.skipIf(isRoot)('that may not be written are a clear sentence', async () => {
    const folder = temporaryFolder();
    chmodSync(folder, 0o500);
    onTestFinished(() => chmodSync(folder, 0o700));
    expect((await failureOf(ensureHome(homePaths(folder)))).message).toContain('you may not read and write there');
  });
});

describe('the control socket', () => {
  const longHome = `/${'x'.repeat(95)}`;

  test('lies in the home as long as its path fits', () => {
    expect(homePaths('/srv/home').socket).toBe('/srv/home/control.sock');
  });

  test('moves to the runtime folder when the path is too long', () => {
    const { socket } = homePaths(longHome, { XDG_RUNTIME_DIR: '/run/user/7' });
    expect(socket).toMatch(/^\/run\/user\/7\/assistant\/[0-9a-f]{16}\/control\.sock$/u);
    expect(homePaths(longHome).socket).toMatch(/^\/tmp\/assistant-\d+\/[0-9a-f]{16}\/control\.sock$/u);
    expect(homePaths(`${longHome}y`).socket).not.toBe(homePaths(longHome).socket);
  });

  test('counts bytes, not characters', () => {
    expect(homePaths(`/${'ü'.repeat(50)}`, { XDG_RUNTIME_DIR: '/run' }).socket).toMatch(/^\/run\/assistant/u);
  });

  test('has a folder of its own there, closed to others', async () => {
    const runtime = temporaryFolder();
    const home = join(temporaryFolder(), 'x'.repeat(100));
    const paths = homePaths(home, { XDG_RUNTIME_DIR: runtime });
    await ensureHome(paths);
    expect(statSync(dirname(paths.socket)).mode & 0o777).toBe(0o700);
    chmodSync(dirname(paths.socket), 0o755);
    expect((await failureOf(ensureHome(paths))).message).toContain('does not belong to you alone');
  });
});

describe('init', () => {
  test('makes settings and workspace, and what it makes is valid', async () => {
    const paths = homePaths(join(temporaryFolder(), 'home'));
    const { created, kept } = await initHome(paths, PROGRAM);
    expect(kept).toEqual([]);
    expect([...created].sort()).toEqual(
      [
        'config.json',
        ...['AGENTS', 'HEARTBEAT', 'SOUL', 'TOOLS', 'USER'].map((name) => `workspace/${name}.md`),
        'workspace/memory/HISTORY.md',
        'workspace/memory/MEMORY.md',
      ].sort(),
    );
    expect(existsSync(join(paths.workspace, 'skills'))).toBe(true);
    expect(statSync(paths.config).mode & 0o777).toBe(0o600);
    const { findings, config } = await loadConfig({ program: PROGRAM, home: paths.home, env: {} });
    expect(findings.map(sentenceOf)).toEqual([]);
    expect(config.agent.model).toBe('auto');
    const schema: unknown = JSON.parse(readFileSync(join(paths.home, 'config.schema.json'), 'utf8'));
    expect(schema).toMatchObject({
      type: 'object',
      properties: { agent: { properties: { model: { default: 'auto' } } } },
    });
  });

  test('never overwrites and fills in what is missing', async () => {
    const paths = homePaths(temporaryFolder());
    mkdirSync(paths.workspace);
    writeFileSync(paths.config, '{ /* mine */ }');
    writeFileSync(join(paths.workspace, 'SOUL.md'), 'mine');
    const first = await initHome(paths, PROGRAM);
    expect(first.kept).toEqual(['config.json', 'workspace/SOUL.md']);
    expect(readFileSync(paths.config, 'utf8')).toBe('{ /* mine */ }');
    expect(readFileSync(join(paths.workspace, 'SOUL.md'), 'utf8')).toBe('mine');
    rmSync(join(paths.workspace, 'USER.md'));
    expect((await initHome(paths, PROGRAM)).created).toEqual(['workspace/USER.md']);
  });

  test('gives a workspace whose texts are small and whose heartbeat has nothing to do', async () => {
    const paths = homePaths(temporaryFolder());
    const { created } = await initHome(paths, PROGRAM);
    const texts = created
      .filter((name) => name.endsWith('.md'))
      .map((name) => readFileSync(join(paths.home, name), 'utf8'));
    expect(texts.join('').length).toBeLessThanOrEqual(2_500);
    const soul = readFileSync(join(paths.workspace, 'SOUL.md'), 'utf8');
    for (const section of ['Personality', 'Values', 'Communication Style']) expect(soul).toContain(`## ${section}`);
    const heartbeat = readFileSync(join(paths.workspace, 'HEARTBEAT.md'), 'utf8');
    expect(heartbeat.split('\n').filter((line) => !/^\s*(?:#.*|<!--.*-->)?$/u.test(line))).toEqual([]);
  });
});
