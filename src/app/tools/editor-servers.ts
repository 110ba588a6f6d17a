import type { EditorServer, EditorServerReport } from '../../core/bus/editor.ts';
import { collectSecrets } from '../../core/config/secrets.ts';
import type { EditorServers } from '../../core/tools/mcp/editor-servers.ts';
import type { App } from '../../core/app.ts';
import { mcpParts } from './mcp.ts';

/** The MCP servers that editors bring; nothing of them is loaded where none does. */
export interface EditorMcp extends AsyncDisposable {
  /** Starts these servers for a session, and ends them when the result is disposed of. In safe mode nothing is started. */
  readonly attach: (session: string, servers: readonly EditorServer[]) => Disposable;
  /** Resolves when the servers of the newest editor of a session run or have failed. */
  readonly started: (session: string) => Promise<readonly EditorServerReport[]>;
}

/** `learnSecrets`: these texts are taken out of all that is shown from now on. */
export function createEditorMcp(app: App, learnSecrets: (secrets: readonly string[]) => void): EditorMcp {
  let loaded: Promise<EditorServers> | undefined;
  const load = async (): Promise<EditorServers> => {
    const { EditorServers } = await import('../../core/tools/mcp/editor-servers.ts');
    const folderOf = (session: string): string => app.editors.folderOf(session) ?? app.paths.workspace;
    return new EditorServers({ ...mcpParts(app), registry: app.tools, folderOf });
  };
  return {
    attach: (session, servers) => {
      const attached = new DisposableStack();
      if (servers.length === 0 || app.safe) return attached;
      // What they are given counts as a secret by the rules for servers of the configuration.
      learnSecrets(collectSecrets({ mcpServers: servers }, {}, []));
      loaded ??= load();
      void loaded.then(
        (all) => {
          if (!attached.disposed) attached.use(all.attach(session, servers));
        },
        (error: unknown) => app.log.error('mcp: the servers of an editor could not be loaded', { error }),
      );
      return attached;
    },
    started: async (session) => (await loaded)?.started(session) ?? [],
    [Symbol.asyncDispose]: async () => {
      const all = await loaded?.catch(() => undefined);
      await all?.[Symbol.asyncDispose]();
    },
  };
}
