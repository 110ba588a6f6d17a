import { execFile, spawn } from 'node:child_process';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { libraryExample } from '../docs/documents.ts';
import { FIXTURE_SERVER } from '../mcp/built-fixture.ts';
import { remote } from '../mcp/remote-server.ts';
import { childEnvironment } from '../support/child-environment.ts';
import { somebody } from '../support/discord-world.ts';
import { startFakeDiscord } from '../support/fake-discord.ts';
import { startFakeOpenAi } from '../support/fake-openai.ts';
import { startFakeSlack } from '../support/fake-slack.ts';
import { startFakeTelegram } from '../support/fake-telegram.ts';
import { copyPackage, npm, pack } from '../support/packages.ts';
import { tempFolder } from '../support/temp.ts';
import { waitFor } from '../support/wait.ts';
import { pdfOf } from '../tools/web-world.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const run = promisify(execFile);

/** Where the tarball was installed for all users of a machine that has nothing else. */
let prefix: string;
let facts: { readonly version: string; readonly devDependencies: Readonly<Record<string, string>> };
const installed = (...names: readonly string[]): string => join(prefix, 'lib', 'node_modules', 'assistantd', ...names);

beforeAll(async () => {
  prefix = await mkdtemp(join(tmpdir(), 'assistant-package-'));
  facts = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as typeof facts;
  const source = join(prefix, 'source');
  await copyPackage(source);
  await npm(prefix, 'install', '--global', '--prefix', prefix, await pack(source));
  await rm(source, { recursive: true });
}, 120_000);

afterAll(() => rm(prefix, { recursive: true, force: true }));

/** A machine with a home of its own and the installed command. */
async function machine(config: Readonly<Record<string, unknown>> = {}): Promise<
  AsyncDisposable & {
    readonly home: string;
    readonly env: NodeJS.ProcessEnv;
    readonly assistant: (...words: readonly string[]) => Promise<string>;
  }
> {
  const folder = await tempFolder();
  const home = join(folder.path, 'home');
  await mkdir(home, { mode: 0o700 });
  await writeFile(join(home, 'config.json'), JSON.stringify(config), { mode: 0o600 });
  const env = childEnvironment({
    HOME: folder.path,
    ASSISTANT_HOME: home,
    PATH: `${join(process.execPath, '..')}:/usr/bin:/bin`,
  });
  return {
    home,
    env,
    assistant: async (...words) => (await run(join(prefix, 'bin', 'assistant'), words, { env })).stdout,
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  };
}

describe('the installed package', () => {
  test('is one package of at most 20 MiB, with its documents, its licence and those of all it contains', async () => {
    expect(await readdir(join(prefix, 'lib', 'node_modules'))).toEqual(['assistantd']);
    const names = await readdir(installed(), { recursive: true, withFileTypes: true });
    const files = names.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
    const sizes = await Promise.all(files.map(async (file) => (await stat(file)).size));
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(20 * 1024 * 1024);
    expect(files.filter((file) => /\.(?:node|ts)$/u.test(file) && !file.endsWith('.d.ts'))).toEqual([]);
    for (const name of ['README.md', 'CHANGELOG.md', 'LICENSE', 'docs/security.md', 'skills/cron/SKILL.md']) {
      expect(files).toContain(installed(name));
    }
    const licences = await readFile(installed('dist', 'LICENSES.txt'), 'utf8');
    for (const name of ['grammy', '@slack/bolt', '@discordjs/ws', 'openai', '@anthropic-ai/sdk', 'zod']) {
      expect(licences).toContain(`\n${name} ${facts.devDependencies[name]} (`);
    }
  });

  test('has no letter beyond Latin-1 in its program, of which V8 would keep every file that has one in twice its size', async () => {
    const files = (await readdir(installed('dist'))).filter((name) => name.endsWith('.js'));
    const texts = await Promise.all(files.map((name) => readFile(installed('dist', name), 'utf8')));
    expect(files.filter((_, at) => /[^\0-\xff]/u.test(texts[at] ?? ''))).toEqual([]);
  });

  test('says on an older Node what is needed, in one sentence', async () => {
    await using here = await machine();
    const old = join(here.home, 'old.cjs');
    await writeFile(old, "Object.defineProperty(process.versions, 'node', { value: '20.20.2' });");
    const asked = run(process.execPath, ['--require', old, installed('dist', 'launcher.cjs'), 'chat'], {
      env: here.env,
    });
    await expect(asked).rejects.toMatchObject({
      code: 1,
      stdout: '',
      stderr: 'assistant needs Node 24 or newer; this is Node 20.20.2. Get it from https://nodejs.org.\n',
    });
  });

  test('answers, searches its memory and reads a document, each in a thread or process of its own', async () => {
    await using here = await machine();
    expect(await here.assistant('--version')).toBe(`${facts.version}\n`);
    const answer = await here.assistant('chat', '-m', 'list files');
    expect(answer).toContain('I am a scripted demo, not an AI');
    expect(answer).toContain('Done: listed ');
    expect(await here.assistant('chat', '-m', ',memory_search scripted demo')).toContain('I am a scripted demo');
    await writeFile(join(here.home, 'workspace', 'a.pdf'), pdfOf(['from the child process']));
    expect(await here.assistant('chat', '-m', ',read_file a.pdf')).toContain('from the child process');
    expect(await here.assistant('chat', '-m', ',glob *.pdf')).toContain('a.pdf');
    expect(await here.assistant('help')).toContain('assistant gateway');
  });

  test('uses MCP servers over stdio and HTTP', async () => {
    await using http = await remote();
    const mcpServers = { near: { command: process.execPath, args: [FIXTURE_SERVER] }, far: { url: http.url } };
    await using here = await machine({ mcpServers });
    expect(await here.assistant('mcp', 'test', 'near')).toContain('near works');
    expect(await here.assistant('mcp', 'test', 'far')).toContain('far works');
  });

  test('talks on Telegram, Discord and Slack at once, and serves its page', { timeout: 180_000 }, async () => {
    await using model = await startFakeOpenAi();
    model.setHandler(() => 'Hello from the package.');
    await using telegram = await startFakeTelegram();
    await using discord = await startFakeDiscord();
    await using slack = await startFakeSlack();
    slack.workspace.addPerson('U0OWNER', 'Olive');
    const olive = somebody('Olive', { id: '4242' });
    const place = discord.direct(olive);
    await using here = await machine({
      agent: { model: 'test/model' },
      providers: { test: { type: 'openai', baseUrl: model.url, apiKey: 'key-of-a-test' } },
      channels: {
        telegram: { token: telegram.token, apiRoot: telegram.apiRoot, allowFrom: ['42'] },
        discord: { token: discord.token, apiBase: discord.apiBase, allowFrom: [olive.id] },
        slack: { ...slack.config, allowFrom: ['U0OWNER'] },
      },
    });
    const gateway = spawn(join(prefix, 'bin', 'assistant'), ['gateway', '--port', '0'], {
      env: here.env,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const ended = new Promise((resolve) => gateway.once('exit', resolve));
    try {
      let log = '';
      gateway.stderr.on('data', (chunk) => (log += String(chunk)));
      const running = (): boolean => log.split('channel running').length - 1 >= 4 && log.includes('"msg":"ready"');
      await waitFor(running, { timeoutMs: 60_000, what: 'three platforms and the terminal' });
      telegram.userSays(42, 'hi');
      discord.sends(place, olive, 'hi');
      slack.sends('U0OWNER', 'D0OWNER', 'hi');
      const said = (): readonly (string | undefined)[] => [
        telegram.sentMessages.at(-1)?.visibleText,
        discord.sent(place).at(-1)?.visible,
        slack.sentPosts.at(-1)?.text,
      ];
      await waitFor(() => said().every((text) => text === 'Hello from the package.'), {
        timeoutMs: 60_000,
        what: 'three answers',
      });
      const [, address = ''] = /"http":"([^"]+)"/u.exec(log) ?? [];
      const page = await (await fetch(address)).text();
      const [script = ''] = /\/assets\/main-[^"]+/u.exec(page) ?? [];
      expect(await readFile(installed('dist', 'page', script), 'utf8')).toBe(
        await (await fetch(address + script)).text(),
      );
    } finally {
      gateway.kill('SIGTERM');
      await ended;
    }
    expect(gateway.exitCode).toBe(0);
  });

  test('gives a plugin its own defineTool, definePlugin and z, wherever the plugin lies', async () => {
    await using here = await machine({ plugins: ['dice'] });
    const plugin = join(here.home, 'plugins', 'dice');
    await mkdir(plugin, { recursive: true });
    await writeFile(
      join(plugin, 'package.json'),
      JSON.stringify({ name: 'dice', version: '1.0.0', type: 'module', assistant: { plugin: './index.js' } }),
    );
    await writeFile(
      join(plugin, 'index.js'),
      `import { defineTool, definePlugin, z } from 'assistantd';
       const dice = defineTool({
         name: 'dice', description: 'Throws a die.', effect: 'none', role: 'guest',
         parameters: z.object({ sides: z.number().int().min(2).describe('Its sides, for example 6.') }),
         execute: async ({ sides }) => ({ title: 'a throw', output: 'of ' + sides + ' sides', metadata: {} }),
       });
       export default definePlugin({ name: 'dice', tools: [dice] });`,
    );
    const result = JSON.parse(await here.assistant('tools', 'run', 'dice', '{"sides":6}')) as unknown;
    expect(result).toMatchObject({ decision: 'allow', result: { output: 'of 6 sides' } });
    await expect(here.assistant('tools', 'run', 'dice', '{"sides":1}')).rejects.toThrow('sides');
  });

  test('takes tools of plugins whose parameters are of zod 3', async () => {
    await using here = await machine({ plugins: ['coin'] });
    const plugin = join(here.home, 'plugins', 'coin');
    for (const part of ['package.json', 'v3'])
      await cp(join(ROOT, 'node_modules/zod', part), join(plugin, 'node_modules/zod', part), { recursive: true });
    await writeFile(
      join(plugin, 'package.json'),
      JSON.stringify({ name: 'coin', version: '1.0.0', type: 'module', assistant: { plugin: './index.js' } }),
    );
    await writeFile(
      join(plugin, 'index.js'),
      `import { z } from 'zod/v3';
       const coin = {
         name: 'coin', description: 'Throws a coin.', effect: 'none', role: 'guest',
         parameters: z.object({ times: z.number().int().describe('How often, for example 2.') }),
         execute: async ({ times }) => ({ title: 'a throw', output: times + ' throws', metadata: {} }),
       };
       export default { name: 'coin', tools: [coin] };`,
    );
    const result = JSON.parse(await here.assistant('tools', 'run', 'coin', '{"times":2}')) as unknown;
    expect(result).toMatchObject({ decision: 'allow', result: { output: '2 throws' } });
  });

  test('is what `npm i assistantd` gives to a program of the examples', async () => {
    await using here = await machine();
    const project = join(here.home, 'project');
    await cp(join(ROOT, 'examples', 'own-provider'), project, { recursive: true });
    await mkdir(join(project, 'node_modules'));
    await symlink(installed(), join(project, 'node_modules', 'assistantd'));
    const { stdout } = await run(process.execPath, ['main.ts'], { cwd: project, env: here.env });
    expect(stdout).toMatch(/^rules: You said: good evening/u);
  });

  test('is a library: the example of docs/library.md runs', async () => {
    await using here = await machine();
    const project = join(here.home, 'project');
    await mkdir(join(project, 'node_modules'), { recursive: true });
    await symlink(installed(), join(project, 'node_modules', 'assistantd'));
    await writeFile(join(project, 'package.json'), JSON.stringify({ type: 'module' }));
    await writeFile(join(project, 'example.ts'), libraryExample());
    const { stdout } = await run(process.execPath, [join(project, 'example.ts')], { env: here.env });
    expect(stdout).toMatch(/^answered [\s\S]*Done: (?:created|wrote|replaced) /u);
    expect(stdout.split('\n').filter((line) => /^(?:tool|end) /u.test(line))).toEqual([
      'tool read_file',
      'end answered',
    ]);
    expect(await readFile(join(here.home, 'workspace', 'greeting.txt'), 'utf8')).toBe('hello');
  });
});
