import { askingRow } from '../../core/api-asking.ts';
import { argument, commandRow, flagOption, type GroupPart } from '../../core/api-rows.ts';

const json = flagOption('as JSON');

/** `assistant mcp …`. They say themselves what doesn't work, so an assistant that is started for one of them logs nothing. */
export const mcpRows: GroupPart = {
  name: 'mcp',
  description: 'MCP servers and the tools that you approved',
  commands: [
    askingRow({
      name: 'list',
      description: 'list the servers of the configuration',
      isDefault: true,
      operation: 'mcpList',
      show: async () => (await import('./commands.ts')).mcpLines,
      nothing: 'There are no MCP servers in the configuration.',
      log: 'silent',
    }),
    askingRow({
      name: 'test',
      description: 'start a server and show its tools',
      arguments: { name: argument('the server') },
      examples: ['mcp test github'],
      operation: 'mcpTest',
      show: async () => (await import('./commands.ts')).testLines,
      log: 'silent',
    }),
    commandRow({
      name: 'trust',
      description: 'approve the tools that a server offers now, after they were shown and you said yes',
      arguments: { name: argument('the server') },
      options: { yes: flagOption('do not ask'), json },
      examples: ['mcp trust github'],
      load: async () => (await import('./commands.ts')).mcpTrustCommand,
    }),
  ],
};
