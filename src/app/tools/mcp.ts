import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { App } from '../../core/app.ts';
import { execEnvironment, type Environment } from '../../core/config/environment.ts';
import type { HomePaths } from '../../core/config/home.ts';
import { collectSecrets } from '../../core/config/secrets.ts';
import type { McpServerSettings } from '../../core/config/schema/tools.ts';
import { createStreamingFetch, type StreamingFetch } from '../../core/security/fetch/fetch.ts';
import { ensureDirectory, replaceDurable } from '../../core/storage/files.ts';
import { McpPool } from '../../core/tools/mcp/pool.ts';
import type { Clock } from '../../core/util/clock.ts';
import { fileEnding } from '../../core/util/file-ending.ts';

/** Beside what commands see, as the protocol's own clients have it. */
const MORE_ENVIRONMENT = ['LOGNAME', 'SHELL', 'TERM'];
const MOST_BYTES = 20_000_000;

export function createMcp(app: App): McpPool {
  const { paths, clock, random, log, redact, version, spill } = app;
  return new McpPool({
    clock,
    random,
    log,
    redact,
    version,
    registry: app.tools,
    configured: () => app.config.mcpServers,
    trust: { path: agreedToolsFile(paths), quarantine: paths.quarantine },
    environment: mcpEnvironment(app.env),
    folderOf: (session) => (session === undefined ? undefined : app.editors.folderOf(session)) ?? paths.workspace,
    fetchFor: (url, settings) => mcpFetch(url, settings, clock),
    keep: async ({ call }, { bytes, mediaType }) => {
      const folder = spill.folder(call.sessionKey);
      await ensureDirectory(folder);
      const hash = createHash('sha256').update(bytes).digest('hex').slice(0, 32);
      const path = join(folder, `${hash}.${fileEnding(mediaType, bytes)}`);
      await replaceDurable(path, bytes);
      return path;
    },
    // What they are given counts as a secret by the rules for servers of the configuration.
    onBrought: (servers) => app.learnSecrets(collectSecrets({ mcpServers: servers }, {}, [])),
  });
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
  const { hostname, port, protocol } = url;
  return createStreamingFetch({
    // The owner wrote this address; a redirect leads nowhere else.
    allowHosts: [`${hostname}:${port === '' ? (protocol === 'https:' ? 443 : 80) : port}`],
    denyHosts: [],
    clock,
    headersMs: (timeouts.startSeconds + timeouts.callSeconds) * 1000,
    maxBytes: MOST_BYTES,
  });
}
