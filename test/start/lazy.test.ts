import { spawn } from 'node:child_process';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { FIXTURE_SERVER } from '../mcp/built-fixture.ts';
import { builtProgram } from '../support/built-program.ts';
import { childEnvironment } from '../support/child-environment.ts';
import { startFakeDiscord } from '../support/fake-discord.ts';
import { startFakeSlack } from '../support/fake-slack.ts';
import { startFakeTelegram } from '../support/fake-telegram.ts';
import { tempFolder } from '../support/temp.ts';
import { waitFor } from '../support/wait.ts';

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
const RECORDER = fileURLToPath(new URL('../support/record-loads.ts', import.meta.url));

/** The packages that a gateway has loaded when it said that it is ready and loads no more; `until` holds before that. */
async function packagesLoadedBy(
  config: unknown,
  { path, until, main = MAIN }: { readonly path?: string; readonly until?: string; readonly main?: string } = {},
): Promise<Set<string>> {
  await using own = path === undefined ? await tempFolder() : null;
  const folder = { path: path ?? own?.path ?? '' };
  const home = join(folder.path, 'home');
  const record = join(folder.path, 'loads');
  await rm(record, { force: true });
  await mkdir(home, { recursive: true, mode: 0o700 });
  await writeFile(join(home, 'config.json'), JSON.stringify(config));
  const child = spawn(process.execPath, ['--import', RECORDER, main, 'gateway', '--home', home, '--port', '0'], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: childEnvironment({ HOME: folder.path, RECORD_LOADS: record }),
  });
  let log = '';
  child.stderr.on('data', (data: Buffer) => (log += data.toString()));
  try {
    await waitFor(() => log.includes('"msg":"ready"'), { timeoutMs: 60_000, what: `ready in:\n${log}` });
    if (until !== undefined) await waitFor(() => log.includes(until), { what: `${until} in:\n${log}` });
    let before = -1;
    const isStill = async (): Promise<boolean> => {
      await new Promise((resolve) => setTimeout(resolve, 700));
      const [size, last] = [existsSync(record) ? statSync(record).size : 0, before];
      before = size;
      return size === last;
    };
    await waitFor(isStill, { what: 'the end of what is loaded' });
  } finally {
    const gone = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGTERM');
    await gone;
  }
  return new Set(existsSync(record) ? readFileSync(record, 'utf8').split('\n') : []);
}

const MCP = '@modelcontextprotocol/sdk';
const SDKS = [
  'grammy',
  '@discordjs/ws',
  '@slack/bolt',
  'openai',
  '@anthropic-ai/sdk',
  '@agentclientprotocol/sdk',
  MCP,
  'pg',
];

describe('SDKs are loaded when they are enabled, and not before', () => {
  test('with Telegram and Anthropic just these two are', async () => {
    await using telegram = await startFakeTelegram();
    const loaded = await packagesLoadedBy({
      providers: { anthropic: { apiKey: 'test-key-12345678', baseUrl: 'http://127.0.0.1:9' } },
      channels: { telegram: { token: telegram.token, apiRoot: telegram.apiRoot, allowFrom: ['1'] } },
    });
    expect(SDKS.filter((name) => loaded.has(name))).toEqual(['grammy', '@anthropic-ai/sdk']);
  });

  test('with Slack and Discord just what speaks to them is', async () => {
    await using slack = await startFakeSlack();
    await using discord = await startFakeDiscord();
    const loaded = await packagesLoadedBy({
      channels: {
        slack: { ...slack.config, allowFrom: ['U0ONE'] },
        discord: { token: discord.token, apiBase: discord.apiBase, allowFrom: ['1'] },
      },
    });
    expect(SDKS.filter((name) => loaded.has(name))).toEqual(['@discordjs/ws', '@slack/bolt']);
    expect(discord.gateway.identifies).toBe(1);
  });

  test('without a terminal nothing of the conversation in a terminal or an editor is', async () => {
    const loaded = await packagesLoadedBy({});
    expect(loaded).toContain('src/cli/assistant/gateway.ts');
    const files = [...loaded].filter((name) => name.startsWith('src/extensions/terminal/'));
    expect(files).toEqual(['src/extensions/terminal/index.ts']);
    // Nor is what speaks to PostgreSQL, where no home is kept there.
    expect([...loaded].filter((name) => name.startsWith('src/host/homes/'))).toEqual([]);
    expect([...loaded].filter((name) => name === '@agentclientprotocol/sdk' || name.startsWith('src/acp/'))).toEqual(
      [],
    );
  });

  test('with an MCP server its own is loaded for the first contact; from then on, without a channel and a key, none is until a tool is called', async () => {
    await using folder = await tempFolder();
    const config = { mcpServers: { fix: { command: process.execPath, args: [FIXTURE_SERVER] } } };
    const first = await packagesLoadedBy(config, { path: folder.path, until: 'mcp: first contact with a server' });
    expect(first).toContain(MCP);
    const second = await packagesLoadedBy(config, { path: folder.path });
    expect(SDKS.filter((name) => second.has(name))).toEqual([]);
    expect(second).toContain('zod');
    // What serves HTTP comes with the first request, and what writes metrics with the first look at them.
    expect(['hono', '@hono/node-server', 'prom-client'].filter((name) => second.has(name))).toEqual([]);
  });
});

test('the published package starts from few files: what every start loads is in three of them', async () => {
  const { main } = await builtProgram();
  const loaded = await packagesLoadedBy({ agent: { model: 'demo/scripted' } }, { main });
  const files = [...loaded].filter((name) => name.startsWith('dist/'));
  expect(files.filter((name) => /^dist\/(?:main|command|start)-/u.test(name)).length).toBeGreaterThanOrEqual(3);
  expect(files.length).toBeLessThan(30);
});

test('a thread or child process of the published package loads nothing of the files that every start loads', async () => {
  const dist = dirname((await builtProgram()).main);
  const files = (await readdir(dist)).filter((name) => /^(?!crash|dying).*-(?:worker|child)\.js$/u.test(name));
  expect(files).toContain('search-worker.js');
  const reached = new Set(files);
  for (const name of reached) {
    const text = await readFile(join(dist, name), 'utf8');
    for (const [, path = ''] of text.matchAll(/(?:from|import)\s*["']\.\/([^"']+)["']/gu)) reached.add(path);
  }
  expect([...reached].filter((name) => /^(?:main|command|start)-/u.test(name))).toEqual([]);
});
