import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { execEnvironment, type Environment } from '../../core/config/environment.ts';
import type { App } from '../../core/app.ts';
import type { HomePaths } from '../../core/config/home.ts';
import type { McpServerSettings } from '../../core/config/schema/tools.ts';
import { createStreamingFetch, type StreamingFetch } from '../../core/security/fetch/fetch.ts';
import { ensureDirectory, replaceDurable } from '../../core/storage/files.ts';
import type { McpClients, McpClientsOptions } from '../../core/tools/mcp/client-pool.ts';
import type { Mcp, ServerFacts } from '../../core/tools/mcp/server-facts.ts';
import type { Clock } from '../../core/util/clock.ts';
import { AppError } from '../../core/util/errors.ts';
import { fileEnding } from '../../core/util/file-ending.ts';

/** Beside what commands see, as the protocol's own clients have it. */
const MORE_ENVIRONMENT = ['LOGNAME', 'SHELL', 'TERM'];
const MOST_BYTES = 20_000_000;

export function createMcp(app: App): Mcp {
  const { paths, redact } = app;
  const all = (): readonly [string, McpServerSettings][] => Object.entries(app.config.mcpServers);
  const used = (): Readonly<Record<string, McpServerSettings>> =>
    Object.fromEntries(all().filter(([, { enabled }]) => enabled));
  let clients: McpClients | undefined;
  const opened = (name: string): McpClients => {
    if (clients !== undefined && used()[name] !== undefined) return clients;
    const why = all().some(([known]) => known === name) ? 'is switched off' : 'is not in the configuration';
    throw new AppError('mcp-unknown', `The MCP server ${JSON.stringify(name.slice(0, 64))} ${why} (mcpServers).`);
  };
  const open = async (): Promise<void> => {
    const servers = used();
    if (Object.keys(servers).length === 0) return;
    const { McpClients } = await import('../../core/tools/mcp/client-pool.ts');
    clients = await McpClients.open({
      servers,
      registry: app.tools,
      pins: { path: agreedToolsFile(paths), quarantine: paths.quarantine },
      workspace: paths.workspace,
      ...mcpParts(app),
    });
  };
  return {
    open,
    update: async (names) => {
      if (clients === undefined) return await open();
      for (const name of names) await clients.replace(name, used()[name]);
    },
    connectNew: () => {
      if (!app.safe) clients?.connectNew();
    },
    list: () => {
      const facts = new Map(clients?.list().map((one) => [one.name, one]));
      return all().map(([name, settings]) => facts.get(name) ?? switchedOff(name, settings, redact));
    },
    test: async (name) => await opened(name).test(name),
    trust: async (name, hash) => await opened(name).trust(name, hash),
    troubles: () => clients?.troubles() ?? [],
    [Symbol.asyncDispose]: async () => await clients?.[Symbol.asyncDispose](),
  };
}

/** What all MCP servers are run with, those of editors too. */
export function mcpParts({
  env,
  clock,
  random,
  log,
  redact,
  version,
  spill,
}: App): Omit<McpClientsOptions, 'servers' | 'registry' | 'pins' | 'workspace' | 'settleMs'> {
  return {
    environment: mcpEnvironment(env),
    version,
    fetchFor: (url, settings) => mcpFetch(url, settings, clock),
    keep: async ({ call }, { bytes, mediaType }) => {
      const folder = spill.folder(call.sessionKey);
      await ensureDirectory(folder);
      const hash = createHash('sha256').update(bytes).digest('hex').slice(0, 32);
      const path = join(folder, `${hash}.${fileEnding(mediaType, bytes)}`);
      await replaceDurable(path, bytes);
      return path;
    },
    clock,
    random,
    log,
    redact,
  };
}

/** The file with the tools of MCP servers that the owner of a home agreed to. */
export function agreedToolsFile({ home }: Pick<HomePaths, 'home'>): string {
  return join(home, 'mcp-pins.json');
}

/** What local servers see of our environment. */
export function mcpEnvironment(env: Environment): Readonly<Record<string, string>> {
  return execEnvironment(env, MORE_ENVIRONMENT);
}

/** Reaches the host of a server's address and nothing else that is private. */
export function mcpFetch(url: URL, { timeouts }: Pick<McpServerSettings, 'timeouts'>, clock: Clock): StreamingFetch {
  return createStreamingFetch({
    // The owner wrote this address; a redirect leads nowhere else.
    allowHosts: [hostAndPort(url)],
    denyHosts: [],
    clock,
    headersMs: (timeouts.startSeconds + timeouts.callSeconds) * 1000,
    maxBytes: MOST_BYTES,
  });
}

function switchedOff(
  name: string,
  { url, command = '', args }: McpServerSettings,
  redact: (text: string) => string,
): ServerFacts {
  const runs = redact(url ?? [command, ...args].join(' '));
  return { name, runs, state: 'off', trouble: null, pinned: null, offered: [], difference: null };
}

function hostAndPort({ hostname, port, protocol }: URL): string {
  return `${hostname}:${port === '' ? (protocol === 'https:' ? 443 : 80) : port}`;
}
