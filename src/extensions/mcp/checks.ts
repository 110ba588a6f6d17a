import { errorMessage, oneLine, plural, systemRandom } from '../../core/api.ts';
import { failed, ok, type Check, type Found, type Scene } from '../../core/api-doctor.ts';
import { silentLog } from '../../core/api-replay.ts';
import { McpServer } from './server.ts';
import { mcpServers, type McpServerSettings } from './settings.ts';

export const checks: readonly Check[] = [
  {
    id: 'mcp.server',
    subject: 'extensions',
    about: 'each MCP server starts and lists its tools',
    live: true,
    run: servers,
  },
];

async function servers(scene: Scene, signal: AbortSignal): Promise<readonly Found[]> {
  const { loaded, gateway, command } = scene;
  const used = Object.entries(loaded === null ? {} : mcpServers.of(loaded.config)).filter(([, { enabled }]) => enabled);
  if (used.length === 0) return [];
  if (gateway !== null) {
    const known = scene.known.filter(({ id }) => id === 'mcp.server');
    if (known.length === 0) return [ok('The running assistant has no trouble with its MCP servers.')];
    return known.map((found) => ({ ...found, remedy: found.remedy ?? command(`mcp test ${found.facts?.['server']}`) }));
  }
  return await Promise.all(
    used.map(async ([name, settings]) => {
      try {
        const tools = await tryServer(scene, { name, settings }, signal);
        return ok(`The MCP server ${name} starts and has ${plural(tools, 'tool')}.`);
      } catch (error) {
        const why = signal.aborted
          ? 'it did not answer in time'
          : oneLine(errorMessage(error), 300).replace(/\.$/u, '');
        return failed(`The MCP server ${name} does not work: ${why}.`, command(`mcp test ${name}`));
      }
    }),
  );
}

/** Starts a server, lists its tools, and ends it. Resolves with how many there are. */
async function tryServer(
  scene: Scene,
  one: { readonly name: string; readonly settings: McpServerSettings },
  signal: AbortSignal,
): Promise<number> {
  const app = { ...scene, env: scene.ownEnv, random: systemRandom, log: silentLog, redact: (text: string) => text };
  await using server = new McpServer({ ...one, folder: scene.paths.workspace, app });
  const { listing } = await server.start(signal).catch((error: unknown) => {
    throw server.trouble === null ? error : new Error(server.trouble);
  });
  return listing.tools.length;
}
