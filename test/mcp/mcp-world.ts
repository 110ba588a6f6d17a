import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { McpPool } from '../../src/extensions/mcp/pool.ts';
import type { McpServerSettings } from '../../src/extensions/mcp/settings.ts';
import type { Extension } from '../../src/core/extension.ts';
import { ToolRegistry } from '../../src/core/tools/registry/registry.ts';
import { homePaths } from '../../src/core/config/home.ts';
import { SpillStore } from '../../src/core/storage/spill.ts';
import type { ToolResult } from '../../src/core/tools/tool.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { systemRandom } from '../../src/core/util/random.ts';
import { appWith } from '../support/app-with.ts';
import { recordingLog, type LogLine } from '../support/recording-log.ts';
import { childEnvironment } from '../support/child-environment.ts';
import { tempFolder } from '../support/temp.ts';
import { FIXTURE_SERVER } from './built-fixture.ts';
import { testToolContext, type TestCall } from '../support/tool-context.ts';

export const SECRET = 'sk-very-secret-value';

/** A server of the configuration; a test names what is different. */
export function server(overrides: Partial<McpServerSettings> = {}): McpServerSettings {
  return {
    type: null,
    enabled: true,
    args: [],
    env: {},
    cwd: null,
    headers: {},
    tools: ['*'],
    role: 'owner',
    trusted: false,
    timeouts: { startSeconds: 20, callSeconds: 20 },
    ...overrides,
  };
}

/** The server of `fixture-server.ts`. */
export function fixture(args: readonly string[] = [], overrides: Partial<McpServerSettings> = {}): McpServerSettings {
  const { NODE_COMPILE_CACHE = '' } = childEnvironment();
  const env = { NODE_COMPILE_CACHE, ...overrides.env };
  return server({ command: process.execPath, args: [FIXTURE_SERVER, ...args], ...overrides, env });
}

/** A program in JavaScript as a server. */
export function script(code: string, overrides: Partial<McpServerSettings> = {}): McpServerSettings {
  return server({ command: process.execPath, args: ['--input-type=module', '-e', code], ...overrides });
}

/** The main file of a package's program. */
export function programOf(name: string): string {
  return fileURLToPath(new URL(`../../node_modules/${name}/dist/index.js`, import.meta.url));
}

export interface McpWorld extends AsyncDisposable {
  readonly folder: string;
  readonly pinsPath: string;
  readonly log: readonly LogLine[];
  readonly registry: ToolRegistry;
  readonly clients: McpPool;
  /** What else runs; a test adds to it. */
  readonly extensions: Extension[];
  /** Calls a tool by its full name, as the owner; the program's own words stand behind the output. */
  call(name: string, args?: unknown, context?: Partial<TestCall>): Promise<ToolResult>;
  /** Names of the tools that a model is shown. */
  names(): readonly string[];
  /** Ends the clients and opens others on the same files. */
  restart(servers?: Readonly<Record<string, McpServerSettings>>): Promise<void>;
}

export async function mcpWorld(
  servers: Readonly<Record<string, McpServerSettings>>,
  settleMs = 100,
): Promise<McpWorld> {
  await using stack = new AsyncDisposableStack();
  const folder = stack.use(await tempFolder()).path;
  const log = recordingLog();
  const extensions: Extension[] = [];
  const pinsPath = join(folder, 'mcp-pins.json');
  const open = async (used: Readonly<Record<string, McpServerSettings>>): Promise<[ToolRegistry, McpPool]> => {
    const redact = (text: string): string => text.replaceAll(SECRET, '[redacted]');
    const registry = new ToolRegistry({
      policy: { allow: ['*'], deny: [], guest: [] },
      clock: systemClock,
      redact,
      maxOutput: 16_000,
    });
    const app = appWith({
      settingsOf: () => used as never,
      tools: registry,
      paths: { ...homePaths(folder), workspace: folder },
      env: { PATH: process.env['PATH'] ?? '', HOME: folder },
      version: '0.0.0',
      safe: false,
      serving: false,
      spill: new SpillStore(folder),
      clock: systemClock,
      random: systemRandom,
      log,
      redact,
      learnSecrets: () => {},
      plugins: { running: extensions } as never,
      editors: { folderOf: () => folder } as never,
    });
    return [registry, await McpPool.open(app, { settleMs })];
  };
  let [registry, clients] = await open(servers);
  stack.defer(() => clients[Symbol.asyncDispose]());
  const owned = stack.move();
  return {
    folder,
    pinsPath,
    log: log.lines,
    extensions,
    get registry() {
      return registry;
    },
    get clients() {
      return clients;
    },
    call: async (name, args = {}, context = {}) => {
      const result = await registry.run({ name, arguments: JSON.stringify(args) }, testToolContext(context));
      return { ...result, output: [result.output, result.note ?? ''].filter((part) => part !== '').join(' ') };
    },
    names: () => registry.specs('owner').map(({ name }) => name),
    async restart(used = servers) {
      await clients[Symbol.asyncDispose]();
      [registry, clients] = await open(used);
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** A world whose servers have had their first contact. */
export async function connected(servers: Readonly<Record<string, McpServerSettings>>): Promise<McpWorld> {
  const world = await mcpWorld(servers);
  try {
    for (const name of Object.keys(servers)) await world.clients.test(name);
    return world;
  } catch (error) {
    await world[Symbol.asyncDispose]();
    throw error;
  }
}
