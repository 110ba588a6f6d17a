import { command, type Group } from './command.ts';
import { argument, flag, optionalArgument } from './values.ts';

// The commands about what it can use: tools, plugins, MCP servers, skills.

const json = flag('as JSON');
const yes = flag('do not ask');

export const tools: Group = {
  name: 'tools',
  description: 'the tools of the assistant',
  commands: [
    command({
      name: 'list',
      description: 'list the tools',
      isDefault: true,
      options: { json: flag('as JSON, with their parameters') },
      load: async () => (await import('../extensions/tools.ts')).toolsListCommand,
    }),
    command({
      name: 'run',
      description: 'run a tool as a turn would, and print {decision, reason, result}',
      exits: { 0: 'it was allowed and worked', 1: 'it was not' },
      arguments: { name: argument('the tool'), arguments: optionalArgument('its arguments as JSON', '{}') },
      options: { dryRun: flag('only decide, run nothing') },
      load: async () => (await import('../extensions/tools.ts')).toolsRunCommand,
    }),
  ],
};

export const plugins: Group = {
  name: 'plugins',
  description: 'packages that bring channels, tools or hooks',
  commands: [
    command({
      name: 'list',
      description: 'list the plugins, also those that are not enabled',
      isDefault: true,
      options: { json },
      load: async () => (await import('../extensions/plugins.ts')).pluginsListCommand,
    }),
  ],
};

export const mcp: Group = {
  name: 'mcp',
  description: 'MCP servers and the tools that you approved',
  commands: [
    command({
      name: 'list',
      description: 'list the servers of the configuration',
      isDefault: true,
      options: { json },
      load: async () => (await import('../extensions/mcp.ts')).mcpListCommand,
    }),
    command({
      name: 'test',
      description: 'start a server and show its tools',
      arguments: { name: argument('the server') },
      options: { json },
      load: async () => (await import('../extensions/mcp.ts')).mcpTestCommand,
    }),
    command({
      name: 'trust',
      description: 'approve the tools that a server offers now, after they were shown and you said yes',
      arguments: { name: argument('the server') },
      options: { yes, json },
      load: async () => (await import('../extensions/mcp.ts')).mcpTrustCommand,
    }),
  ],
};

export const skills: Group = {
  name: 'skills',
  description: 'skills: instructions for kinds of tasks',
  commands: [
    command({
      name: 'list',
      description: 'list the skills',
      isDefault: true,
      options: { json },
      load: async () => (await import('../extensions/skills.ts')).skillsListCommand,
    }),
    command({
      name: 'show',
      description: 'show a skill and its text',
      arguments: { name: argument('the skill') },
      options: { json },
      load: async () => (await import('../extensions/skills.ts')).skillsShowCommand,
    }),
    command({
      name: 'check',
      description: 'check skills for mistakes, missing programs and risky patterns',
      exits: { 0: 'nothing was found', 1: 'something was found' },
      arguments: { skill: optionalArgument('a name or a folder (default: all)') },
      options: { json },
      load: async () => (await import('../extensions/skills.ts')).skillsCheckCommand,
    }),
    command({
      name: 'add',
      description: 'copy a skill into the workspace, after it was shown and you said yes',
      arguments: { path: argument('its folder, or its SKILL.md') },
      options: { yes, replace: flag('replace a skill that has the same name') },
      load: async () => (await import('../extensions/skills.ts')).skillsAddCommand,
    }),
    command({
      name: 'enable',
      description: 'enable a skill of another program as it is now, after it was shown and you said yes',
      arguments: { name: optionalArgument('the skill') },
      options: { all: flag('all skills of other programs'), yes },
      load: async () => (await import('../extensions/skills.ts')).skillsEnableCommand,
    }),
    command({
      name: 'remove',
      description: 'remove a skill of the workspace',
      arguments: { name: argument('the skill') },
      options: { yes },
      load: async () => (await import('../extensions/skills.ts')).skillsRemoveCommand,
    }),
  ],
};
