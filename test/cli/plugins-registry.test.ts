import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openPluginInstaller } from '../../src/core/plugins/plugin-installer.ts';
import { ENTER, Terminal } from '../setup/terminal.ts';
import { childEnvironment } from '../support/child-environment.ts';
import { runCommand, type CommandRun } from '../support/command-run.ts';
import { startServer } from '../support/http.ts';
import { startNpmRegistry, type NpmRegistry, type PublishedPackage } from '../support/npm-registry.ts';
import { copyPackage } from '../support/packages.ts';
import { tempFolder } from '../support/temp.ts';
import { testWith } from '../support/test-with.ts';
import { startWorld, type World } from '../support/world.ts';

/** What makes certificates. */

const QUESTION = 'Run say-words in the assistant?';

/** Packages with scripts that leave a file where they ran, and one that needs the other. */
function published(ran: string): readonly PublishedPackage[] {
  const script = `touch ${ran}`;
  const scripts = { preinstall: script, install: script, postinstall: script, prepare: script };
  const says = `import { words } from 'kind-words';
export default { name: 'say', commands: [{ name: 'say', description: 'says something', run: () => words }] };`;
  const facts = { description: 'Says something.', assistant: { plugin: './index.js' }, scripts };
  return [
    {
      name: 'say-words',
      version: '1.2.0',
      facts: { ...facts, dependencies: { 'kind-words': '^2.0.0' } },
      files: { 'index.js': says },
    },
    {
      name: 'kind-words',
      version: '2.0.1',
      facts: { main: './index.js', scripts },
      files: { 'index.js': "export const words = 'Hello from afar.';" },
    },
    { name: 'plain', files: { 'index.js': '' } },
  ];
}

let temp: Awaited<ReturnType<typeof tempFolder>>;
let registry: NpmRegistry;
let ran: string;
beforeAll(async () => {
  temp = await tempFolder();
  ran = join(temp.path, 'a-script-ran');
  registry = await startNpmRegistry(...published(ran));
}, 60_000);
afterAll(async () => {
  await registry[Symbol.asyncDispose]();
  await temp[Symbol.asyncDispose]();
});

/** Of npm: the registry, and a cache that nothing was in before. */
let caches = 0;
function npmVariables(url = registry.url): Record<string, string> {
  const cache = join(temp.path, `cache-${(caches += 1)}`);
  return { npm_config_registry: url, npm_config_cache: cache, npm_config_update_notifier: 'false' };
}

const add = (world: World, env = npmVariables(), name = 'say-words'): Promise<CommandRun> =>
  runCommand(['plugins', 'add', name, '--yes', '--home', world.home], world.home, env);

function addingIn(home: string): Terminal {
  return new Terminal(['plugins', 'add', 'say-words'], {
    ASSISTANT_HOME: home,
    HOME: join(home, '..'),
    ...npmVariables(),
  });
}

/** The same server behind TLS, with a certificate that no one knows. `authority`: the path of its certificate. */
async function behindTls(url: string): Promise<{ readonly url: string; readonly authority: string } & AsyncDisposable> {
  const [key, authority] = ['key.pem', 'certificate.pem'].map((name) => join(temp.path, name)) as [string, string];
  const subject = ['-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1'];
  const files = ['-keyout', key, '-out', authority];
  await promisify(execFile)('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', ...subject, ...files]);
  const server = createServer({ key: await readFile(key), cert: await readFile(authority) }, (request, response) => {
    void fetch(url + (request.url ?? ''))
      .then(async (answer) => response.writeHead(answer.status).end(Buffer.from(await answer.arrayBuffer())))
      .catch(() => response.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    authority,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

async function isUnchanged(world: World): Promise<boolean> {
  const found = await world.assistant.call('pluginsList', {});
  return found.length === 0 && !existsSync(join(world.home, 'plugins', '.new'));
}

describe('assistant plugins add NAME', { timeout: 60_000 }, () => {
  testWith('python3')(
    'fetches a package from the registry with what it needs, asks, and runs it after a typed yes',
    async () => {
      await using world = await startWorld();
      await using terminal = addingIn(world.home);
      await terminal.sees('say-words 1.2.0: Says something.');
      await terminal.sees('A plugin runs inside the assistant with all of its rights');
      await terminal.sees(QUESTION);
      expect(await world.assistant.call('pluginsList', {})).toEqual([]);
      await terminal.types(`yes${ENTER}`);
      await terminal.sees('Added say-words. It is running.');
      expect(await terminal.ended).toBe(0);
      expect((await world.assistant.run('/say')).text).toBe('Hello from afar.');
      const needed = join(world.home, 'plugins', 'say-words', 'node_modules', 'kind-words', 'package.json');
      expect(await readFile(needed, 'utf8')).toContain('"2.0.1"');
      await world.restart();
      expect((await world.assistant.run('/say')).text).toBe('Hello from afar.');
      expect(existsSync(ran)).toBe(false);
    },
  );

  for (const typed of ['no', '', 'yes please']) {
    testWith('python3')(`adds nothing after a typed ${JSON.stringify(typed)}`, async () => {
      await using world = await startWorld();
      const before = await readFile(join(world.home, 'config.json'), 'utf8');
      await using terminal = addingIn(world.home);
      await terminal.sees(QUESTION);
      await terminal.types(`${typed}${ENTER}`);
      await terminal.sees('Nothing was added.');
      expect(await terminal.ended).toBe(1);
      expect(await isUnchanged(world)).toBe(true);
      expect(await readFile(join(world.home, 'config.json'), 'utf8')).toBe(before);
      expect((await world.assistant.run('/say')).text).toContain('There is no command /say.');
    });
  }

  test.each(['HTTP_PROXY', 'http_proxy'])('goes through the proxy that %s names', async (variable) => {
    await using world = await startWorld();
    const away = 'http://packages.example';
    await using proxy = await startServer(async (request, response) => {
      const { pathname } = new URL(request.url ?? '', away);
      const answer = await fetch(registry.url + pathname);
      response.writeHead(answer.status).end(Buffer.from(await answer.arrayBuffer()));
    });
    const { out } = await add(world, { ...npmVariables(away), [variable]: proxy.url });
    expect(out).toContain('Added say-words. It is running.');
  });

  testWith('openssl')('trusts the authority that NODE_EXTRA_CA_CERTS names', async () => {
    await using world = await startWorld();
    await using safe = await behindTls(registry.url);
    const refused = await add(world, npmVariables(safe.url));
    expect(refused.err).toMatch(/certificate/u);
    const { out } = await add(world, { ...npmVariables(safe.url), NODE_EXTRA_CA_CERTS: safe.authority });
    expect(out).toContain('Added say-words. It is running.');
  });

  test('runs no script of a package or of what it needs', async () => {
    await using world = await startWorld();
    expect(await add(world)).toMatchObject({ code: 0, out: expect.stringContaining('It is running.') });
    expect(existsSync(ran)).toBe(false);
  });

  test('what it needs counts: changed afterwards, the plugin does not run', async () => {
    await using world = await startWorld();
    await add(world);
    const needed = join(world.home, 'plugins', 'say-words', 'node_modules', 'kind-words', 'index.js');
    await writeFile(needed, "export const words = 'Stolen.';");
    await world.restart();
    expect(await world.assistant.call('pluginsList', {})).toMatchObject([{ name: 'say-words', state: 'failed' }]);
  });

  test('refuses a tarball whose hash is not the one that the registry names', async () => {
    await using world = await startWorld();
    registry.fault = 'tarball';
    const { code, err } = await add(world).finally(() => (registry.fault = null));
    expect(code).toBe(1);
    expect(err).toBe(
      'npm could not install say-words: The package that was sent is not the one whose hash the registry names, so it was thrown away. Nothing was changed.\n',
    );
    expect(await isUnchanged(world)).toBe(true);
  });

  test.each([
    ['nowhere-to-be-found', 'has no such package. Nothing was changed.\n'],
    ['say-words@7', 'No matching version found for say-words@7. Nothing was changed.\n'],
    ['plain', 'plain is no plugin: its package.json does not name a file in "assistant": {"plugin": "./index.js"}.'],
  ])('says in one sentence why there is no %s', async (name, sentence) => {
    await using world = await startWorld();
    const { code, err } = await add(world, npmVariables(), name);
    expect(code).toBe(1);
    expect(err).toContain(sentence);
    expect(err.trimEnd().split('\n')).toHaveLength(1);
    expect(await isUnchanged(world)).toBe(true);
  });

  test('a registry that is not there is named within seconds', async () => {
    await using world = await startWorld();
    const begun = performance.now();
    const { code, err } = await add(world, npmVariables('http://127.0.0.1:47'));
    expect({ code, err }).toEqual({
      code: 1,
      err: 'npm could not install say-words: http://127.0.0.1:47 does not answer (ECONNREFUSED). Check the connection, then try again. Nothing was changed.\n',
    });
    expect(performance.now() - begun).toBeLessThan(20_000);
    expect(await isUnchanged(world)).toBe(true);
  });

  test('a registry that says nothing is given up after the time that npm is told', async () => {
    await using world = await startWorld();
    registry.fault = 'silent';
    const env = { ...npmVariables(), npm_config_fetch_timeout: '500' };
    const { code, err } = await add(world, env).finally(() => (registry.fault = null));
    expect(code).toBe(1);
    expect(err).toMatch(/^npm could not install say-words: http:\/\/127\S+ does not answer \(\S+\)\. Check .*\.\n$/u);
    expect(await isUnchanged(world)).toBe(true);
  });

  test('a package that comes too slowly is given up at the deadline, and nothing is left of it', async () => {
    await using world = await startWorld();
    const paths = { plugins: join(world.home, 'plugins'), pluginPins: join(world.home, 'plugin-pins.json') };
    const env = { ...npmVariables(), PATH: process.env['PATH'] ?? '', HOME: temp.path };
    const installer = openPluginInstaller(paths, { node: process.execPath, env, seconds: 3 });
    registry.fault = 'slow';
    const begun = performance.now();
    await expect(installer.plan('say-words').finally(() => (registry.fault = null))).rejects.toThrow(
      /^npm could not install say-words: It was not there after 3 seconds\. Try again .* Nothing was changed\.$/u,
    );
    expect(performance.now() - begun).toBeLessThan(10_000);
    expect(await isUnchanged(world)).toBe(true);
  });
});

describe('a package that is found', { timeout: 60_000 }, () => {
  /** Leaves a file where it is loaded. */
  const put = async (folder: string, name: string, loaded: string): Promise<void> => {
    await mkdir(folder, { recursive: true });
    await writeFile(
      join(folder, 'package.json'),
      JSON.stringify({ name, version: '3.0.0', type: 'module', assistant: { plugin: './index.js' } }),
    );
    await writeFile(
      join(folder, 'index.js'),
      `import { writeFileSync } from 'node:fs';
writeFileSync(${JSON.stringify(loaded)}, '');
export default { name: 'say', commands: [{ name: 'say', description: 'says something', run: () => 'Hello.' }] };`,
    );
  };

  for (const [where, place] of [
    ['in the folder of plugins', ['plugins', 'say']],
    ['where npm installs to there', ['plugins', 'node_modules', 'say']],
  ] as const) {
    testWith('python3')(`${where} is shown, and nothing of it runs before the owner agrees`, async () => {
      await using world = await startWorld();
      const loaded = join(world.home, '..', 'loaded');
      await put(join(world.home, ...place), 'say', loaded);
      const inTerminal = (): Terminal => new Terminal(['plugins', 'add', 'say'], { ASSISTANT_HOME: world.home });
      expect((await runCommand(['plugins', 'list'], world.home)).out).toContain('say 3.0.0: found, not enabled');
      await runCommand(['plugins', 'reload'], world.home);
      await world.restart();
      await using refusing = inTerminal();
      await refusing.answer('Run say in the assistant?', `no${ENTER}`);
      await refusing.sees('Nothing was added.');
      expect((await world.assistant.run('/say')).text).toContain('There is no command /say.');
      expect(existsSync(loaded)).toBe(false);
      await using agreeing = inTerminal();
      await agreeing.answer('Run say in the assistant?', `yes${ENTER}`);
      await agreeing.sees('Added say. It is running.');
      expect((await world.assistant.run('/say')).text).toBe('Hello.');
      expect(existsSync(loaded)).toBe(true);
    });
  }

  test('beside a global installation is shown and added by its name', async () => {
    await using folder = await tempFolder();
    const modules = join(folder.path, 'lib', 'node_modules');
    const loaded = join(folder.path, 'loaded');
    await copyPackage(join(modules, 'assistantd'));
    await put(join(modules, 'say'), 'say', loaded);
    const home = join(folder.path, 'home');
    await mkdir(home);
    await writeFile(join(home, 'config.json'), '{}');
    const assistant = async (...words: readonly string[]): Promise<string> => {
      const launcher = join(modules, 'assistantd', 'dist', 'launcher.cjs');
      const env = childEnvironment({ ASSISTANT_HOME: home, HOME: folder.path });
      return (await promisify(execFile)(process.execPath, [launcher, ...words], { env })).stdout;
    };
    expect(await assistant('plugins', 'list')).toContain('say 3.0.0: found, not enabled');
    expect(existsSync(loaded)).toBe(false);
    expect(await assistant('plugins', 'add', 'say', '--yes')).toContain(
      'Added say. It runs when the assistant starts.',
    );
    expect(existsSync(loaded)).toBe(false);
    expect(await assistant('plugins', 'list')).toContain('say 3.0.0: running');
    expect(await assistant('plugins', 'remove', 'say', '--yes')).toContain(
      `Removed say. Its package stays in ${join(modules, 'say')}.`,
    );
    expect(await assistant('plugins', 'list')).toContain('say 3.0.0: found, not enabled');
  });
});
