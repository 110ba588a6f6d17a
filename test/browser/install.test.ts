import { readFileSync } from 'node:fs';
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openBrowserInstaller } from '../../src/extensions/browser/installer.ts';
import { findBrowser, LIBRARY, libraryFolder } from '../../src/extensions/browser/installed.ts';
import { startChild } from '../../src/extensions/browser/enclosure.ts';
import { homePaths } from '../../src/core/config/home.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { childEnvironment } from '../support/child-environment.ts';
import { putLibrary } from '../support/browser-library.ts';
import { runCommand } from '../support/command-run.ts';
import { startNpmRegistry, type NpmRegistry } from '../support/npm-registry.ts';
import { tempFolder } from '../support/temp.ts';
import { testWith } from '../support/test-with.ts';
import { executable, NEEDED } from './browser-world.ts';

let temp: Awaited<ReturnType<typeof tempFolder>>;
let registry: NpmRegistry;
beforeAll(async () => {
  temp = await tempFolder();
  const files = { 'index.mjs': 'export const chromium = null;' };
  registry = await startNpmRegistry({ name: LIBRARY.name, version: LIBRARY.version, files });
});
afterAll(async () => {
  await registry[Symbol.asyncDispose]();
  await temp[Symbol.asyncDispose]();
});

let homes = 0;
async function newHome(): Promise<{ readonly home: string; readonly env: Record<string, string> }> {
  const home = join(temp.path, `home-${(homes += 1)}`);
  await mkdir(home);
  const cache = join(temp.path, `cache-${homes}`);
  return {
    home,
    env: { npm_config_registry: registry.url, npm_config_cache: cache, npm_config_update_notifier: 'false' },
  };
}

test('the pinned library is the one that the tests use, as the lock file has it', () => {
  const lock = JSON.parse(readFileSync(new URL('../../package-lock.json', import.meta.url), 'utf8')) as {
    readonly packages: Readonly<Record<string, { readonly version: string; readonly integrity: string }>>;
  };
  const { version, integrity } = lock.packages[`node_modules/${LIBRARY.name}`] ?? {};
  expect({ version, integrity }).toEqual({ version: LIBRARY.version, integrity: LIBRARY.integrity });
});

test('the package does not depend on it', () => {
  const facts = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as object;
  expect({ optionalDependencies: undefined, dependencies: undefined, ...facts }).toMatchObject({
    dependencies: undefined,
    optionalDependencies: undefined,
  });
});

describe('assistant tools install browser', () => {
  test('asks first, and installs nothing where no one can be asked', async () => {
    const { home, env } = await newHome();
    const { code, out } = await runCommand(['tools', 'install', 'browser'], home, env);
    expect(code).not.toBe(0);
    expect(out).not.toContain('is installed');
    expect(await readdir(home)).not.toContain('browser');
  });

  test('takes no other package under that name and version, and changes nothing then', async () => {
    const { home, env } = await newHome();
    const { code, err } = await runCommand(['tools', 'install', 'browser', '--yes'], home, env);
    expect(code).toBe(1);
    expect(err).toContain('is not the package that this program was made for. Nothing was changed.');
    expect(await readdir(join(home, 'browser'))).toEqual([]);
    expect((await runCommand(['config', 'get', 'tools.browser.enabled'], home)).out).toContain('false');
  });

  test('puts the package with the hash that it knows into the home', async () => {
    const { home, env } = await newHome();
    const paths = homePaths(home);
    const facts = (await (await fetch(`${registry.url}/${LIBRARY.name}`)).json()) as {
      readonly versions: Readonly<Record<string, { readonly dist: { readonly integrity: string } }>>;
    };
    const integrity = facts.versions[LIBRARY.version]?.dist.integrity ?? '';
    const ports = { node: process.execPath, env: childEnvironment(env) };
    const installer = openBrowserInstaller(paths, ports, { ...LIBRARY, integrity });
    expect(installer.isInstalled()).toBe(false);
    await installer.install();
    expect(installer.isInstalled()).toBe(true);
    expect(await readdir(libraryFolder(paths.browser))).toContain('index.mjs');
    expect(await readdir(paths.browser)).toEqual(['program']);
  });

  test('enables the tool, names the browser that it found, and says that all is there', async () => {
    const { home } = await newHome();
    await putLibrary(home);
    await runCommand(['config', 'set', 'tools.browser.executable', '/bin/true'], home);
    const { code, out } = await runCommand(['tools', 'install', 'browser', '--yes'], home);
    expect(out).toContain('the tool browser is enabled from the next start');
    expect(out).toContain('It will use /bin/true.');
    expect(code).toBe(0);
    expect((await runCommand(['config', 'get', 'tools.browser.enabled'], home)).out).toContain('true');
  });

  test('says what to install where there is no browser', async () => {
    const { home } = await newHome();
    await putLibrary(home);
    await runCommand(['config', 'set', 'tools.browser.executable', '/nowhere/chromium'], home);
    const { code, out } = await runCommand(['tools', 'install', 'browser', '--yes'], home);
    expect(out).toMatch(/names \/nowhere\/chromium, which is no program\. To get one: .*chromium/iu);
    expect(code).toBe(1);
  });

  test('installs nothing else', async () => {
    const { home } = await newHome();
    const { code, err } = await runCommand(['tools', 'install', 'telescope', '--yes'], home);
    expect(code).toBe(2);
    expect(err).toContain('only browser');
  });
});

describe('assistant doctor', () => {
  const rows = async (
    home: string,
  ): Promise<readonly { id: string; state: string; evidence: string; remedy: string }[]> => {
    const { out } = await runCommand(['doctor', '--json'], home);
    const { checks } = JSON.parse(out) as { checks: { id: string; state: string; evidence: string; remedy: string }[] };
    return checks.filter(({ id }) => id === 'browser.works');
  };

  test('says nothing of a browser that is not enabled', async () => {
    const { home } = await newHome();
    expect(await rows(home)).toEqual([]);
  });

  test('says what an enabled one lacks, and with which command it comes', async () => {
    const { home } = await newHome();
    await writeFile(join(home, 'config.json'), '{"tools":{"browser":{"enabled":true}}}');
    expect(await rows(home)).toMatchObject([
      {
        state: 'failed',
        evidence: expect.stringContaining('playwright-core is not installed'),
        remedy: expect.stringContaining('tools install browser'),
      },
    ]);
  });

  testWith(...NEEDED)('says that one works which has all', async () => {
    const { home } = await newHome();
    await putLibrary(home);
    await writeFile(join(home, 'config.json'), JSON.stringify({ tools: { browser: { enabled: true, executable } } }));
    expect(await rows(home)).toMatchObject([
      { state: 'ok', evidence: `The tool browser uses ${executable} in the sandbox.` },
    ]);
  });
});

test('a library of another version is not used', async () => {
  const { home } = await newHome();
  const folder = libraryFolder(join(home, 'browser'));
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'package.json'), '{"version":"1.0.0"}');
  expect(findBrowser(folder, null, 'install it')).toMatchObject({
    found: null,
    reason: `playwright-core 1.0.0 is installed, but ${LIBRARY.version} is needed.`,
  });
  await rm(folder, { recursive: true });
});

test('where there is no sandbox there is no browser', async () => {
  const sandbox = {
    probe: async () => ({
      available: false as const,
      reason: 'bubblewrap is not installed.',
      remedy: 'apt install bubblewrap',
    }),
  };
  const options = { profile: '/home/b/p', socket: '/home/b/s', keyHash: '' };
  const started = startChild(
    { library: '/library', executable: '/bin/true' },
    { sandbox, folder: '/home/b', options, clock: systemClock },
  );
  await expect(started).rejects.toThrow(
    'There is no sandbox, so there is no browser. Bubblewrap is not installed. To change that: apt install bubblewrap',
  );
});
