import { defineExtension } from '../../core/api.ts';
import { mcpRows } from './cli.ts';
import { mcpList, mcpTest, mcpTrust } from './operation.ts';
import { mcpServers } from './settings.ts';

/** Tools of MCP servers, which the owner agreed to. docs/mcp.md */
export default defineExtension({
  name: 'mcp',
  settings: [mcpServers],
  operations: [mcpList, mcpTest, mcpTrust],
  cli: [mcpRows],
  checks: async () => (await import('./checks.ts')).checks,
  open: async (app) => (await import('./open.ts')).openMcp(app),
});
