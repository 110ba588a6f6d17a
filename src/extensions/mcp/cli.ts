import { argument, commandRow, flagOption, type GroupPart } from '../../core/api-rows.ts';

const json = flagOption('as JSON');

/** `assistant mcp …` */
export const mcpRows: GroupPart = {
  name: 'mcp',
  description: 'MCP servers and the tools that you approved',
  commands: [
    commandRow({
      name: 'list',
      description: 'list the servers of the configuration',
      isDefault: true,
      options: { json },
      load: async () => (await import('./commands.ts')).mcpListCommand,
    }),
    commandRow({
      name: 'test',
      description: 'start a server and show its tools',
      arguments: { name: argument('the server') },
      options: { json },
      examples: ['mcp test github'],
      load: async () => (await import('./commands.ts')).mcpTestCommand,
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
