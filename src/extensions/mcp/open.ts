import type { App, Contributions } from '../../core/api.ts';
import { endLeftPrograms } from '../../core/api-clients.ts';
import { McpPool } from './pool.ts';
import { mcpServers, serversMark } from './settings.ts';

/** All MCP servers of an assistant. */
export async function openPool(app: App): Promise<McpPool> {
  const { journal, paths, clock, log } = app;
  // What the servers of an assistant that was killed left running.
  if (journal.starts.unclean > 0 && !(await endLeftPrograms(serversMark(paths.home), clock)))
    log.error('mcp: something that the servers of a killed assistant left could not be ended');
  return await McpPool.open(app);
}

export async function openMcp(app: App): Promise<Contributions> {
  const pool = await app.once(openPool);
  return {
    troubles: () => pool.troubles(),
    start: () => {
      if (app.serving) pool.connectNew();
    },
    // For an assistant that serves nobody, and is started for one turn.
    hooks: {
      loadState: () => {
        pool.connectNew();
        return undefined;
      },
    },
    rebuild: async (changed) => {
      const names = changed.flatMap(([section, name]) =>
        section === mcpServers.path && name !== undefined ? [name] : [],
      );
      await pool.update(names);
      if (names.length > 0) pool.connectNew();
    },
    editorServers: pool,
  };
}
