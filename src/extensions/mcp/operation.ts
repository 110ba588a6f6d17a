import { operation, z, type App } from '../../core/api.ts';

const name = z.string().describe('Name of the server in the configuration.');
const poolOf = async (app: App) => await app.once((await import('./open.ts')).openPool);

export const mcpList = operation({
  name: 'mcpList',
  description: 'Lists the MCP servers of the configuration, each with its state.',
  changes: null,
  params: z.object({}),
  handle: async (_params, { app }) => (await poolOf(app)).list(),
});

export const mcpTest = operation({
  name: 'mcpTest',
  description:
    'Starts an MCP server and returns what it offers; `mcp-unknown` for another name, `mcp-server` if it does not work.',
  changes: null,
  params: z.object({ name }),
  handle: async (params, { app }) => await (await poolOf(app)).test(params.name),
});

export const mcpTrust = operation({
  name: 'mcpTrust',
  description:
    'Approves the tools that an MCP server offers now, if they are those that a test showed; `mcp-changed` if they are not.',
  changes: 'mcp',
  params: z.object({ name, hash: z.string().describe('The `hash` that `mcpTest` returned.') }),
  handle: async (params, { app }) => await (await poolOf(app)).trust(params.name, params.hash),
});

declare module '../../core/api.ts' {
  interface ExtensionOperations {
    readonly mcpList: typeof mcpList;
    readonly mcpTest: typeof mcpTest;
    readonly mcpTrust: typeof mcpTrust;
  }
}
