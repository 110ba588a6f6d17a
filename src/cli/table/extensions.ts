import { asking } from '../../core/cli/asking.ts';
import { command, type Group } from '../../core/cli/command.ts';
import { argument, flag, number, optionalArgument, text } from '../../core/cli/values.ts';

// The commands about what it can use: tools, plugins, MCP servers, skills.

const json = flag('as JSON');
const yes = flag('do not ask');

export const tools: Group = {
  name: 'tools',
  description: 'the tools of the assistant',
  commands: [
    asking({
      name: 'list',
      description: 'list the tools',
      json: 'as JSON, with their parameters',
      isDefault: true,
      examples: ['tools list'],
      operation: 'toolsList',
      show: async () => (await import('../extensions/tools.ts')).toolLines,
    }),
    command({
      name: 'run',
      description: 'run a tool as a turn would, and print {decision, reason, result}',
      exits: { 0: 'it was allowed and worked', 1: 'it was not' },
      arguments: { name: argument('the tool'), arguments: optionalArgument('its arguments as JSON', '{}') },
      options: { dryRun: flag('only decide, run nothing') },
      examples: [`tools run read_file '{"path": "notes.md"}'`, `tools run exec '{"command": "date"}' --dry-run`],
      load: async () => (await import('../extensions/tools.ts')).toolsRunCommand,
    }),
  ],
};

export const plugins: Group = {
  name: 'plugins',
  description: 'packages that bring channels, tools, commands and more',
  commands: [
    command({
      name: 'list',
      description: 'list the plugins, also those that are not enabled',
      isDefault: true,
      options: { json },
      load: async () => (await import('../extensions/plugins.ts')).pluginsListCommand,
    }),
    command({
      name: 'add',
      description: 'fetch a plugin, or take one that is found; run it after you said yes, without a restart',
      arguments: { source: argument('a name at npm, a tarball, a folder, or the name of a plugin that is found') },
      options: { yes },
      examples: ['plugins add ./dice-plugin', 'plugins add ./dice-plugin-1.0.0.tgz --yes'],
      load: async () => (await import('../extensions/plugins.ts')).pluginsAddCommand,
    }),
    command({
      name: 'remove',
      description: 'stop a plugin and delete its package from the home',
      arguments: { name: argument('the plugin') },
      options: { yes },
      examples: ['plugins remove dice-plugin'],
      load: async () => (await import('../extensions/plugins.ts')).pluginsRemoveCommand,
    }),
    command({
      name: 'reload',
      description: 'have the running assistant look at its plugins again',
      exits: { 0: 'all that are enabled run', 1: 'something is wrong with one' },
      options: { json },
      load: async () => (await import('../extensions/plugins.ts')).pluginsReloadCommand,
    }),
  ],
};

const LAB =
  'It runs in a home of its own that is removed afterwards: conversations, memory, jobs and channels stay as they are. Calls to the model cost money; the first line says how many there are at most.';

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
      examples: ['skills show weather'],
      load: async () => (await import('../extensions/skills.ts')).skillsShowCommand,
    }),
    command({
      name: 'check',
      description: 'check skills for mistakes, missing programs and risky patterns',
      exits: { 0: 'nothing was found', 1: 'something was found' },
      arguments: { skill: optionalArgument('a name or a folder (default: all)') },
      options: { json },
      examples: ['skills check', 'skills check ~/Downloads/weather'],
      load: async () => (await import('../extensions/skills.ts')).skillsCheckCommand,
    }),
    command({
      name: 'new',
      description: 'make a skill in the workspace: a SKILL.md to fill in, and a first case',
      arguments: { name: argument('its name: lower case letters, digits and hyphens') },
      options: {
        description: text('<text>', 'what it is for and when, one line', { fallback: 'What this is for, and when.' }),
      },
      examples: ['skills new invoices --description "Write invoices from the time sheet"'],
      load: async () => (await import('../extensions/skill-lab.ts')).skillsNewCommand,
    }),
    command({
      name: 'test',
      description: 'run the cases of a skill with a real model, with the skill and without it, and compare',
      exits: { 0: 'every case passed', 1: 'one did not, or was not run' },
      arguments: { name: argument('the skill') },
      options: {
        model: text('<provider/model>', 'another model than the configured one'),
        trace: text('<file>', 'judge the answers of a saved turn, asking no model'),
        budget: number('<usd>', 'stop when about this much is spent, in US dollars (default: 1)'),
        json,
      },
      after: LAB,
      examples: ['skills test weather', 'skills test weather --model openai/gpt-5-mini --budget 0.2'],
      load: async () => (await import('../extensions/skill-lab.ts')).skillsTestCommand,
    }),
    command({
      name: 'try',
      description: 'let a real model use a skill, where tools with effects only say what they would do',
      exits: { 0: 'there was an answer', 1: 'there was none' },
      arguments: { name: argument('the skill'), message: argument('what it is to do') },
      options: {
        model: text('<provider/model>', 'another model than the configured one'),
        budget: number('<usd>', 'stop when about this much is spent, in US dollars (default: 1)'),
        json,
      },
      after: LAB,
      examples: ['skills try weather "Do I need an umbrella in Lisbon?"'],
      load: async () => (await import('../extensions/skill-lab.ts')).skillsTryCommand,
    }),
    command({
      name: 'add',
      description: 'copy a skill into the workspace, after it was shown and you said yes',
      arguments: { path: argument('its folder, or its SKILL.md') },
      options: { yes, replace: flag('replace a skill that has the same name') },
      examples: ['skills add ~/Downloads/weather'],
      load: async () => (await import('../extensions/skills.ts')).skillsAddCommand,
    }),
    command({
      name: 'enable',
      description: 'enable a skill of another program as it is now, after it was shown and you said yes',
      arguments: { name: optionalArgument('the skill') },
      options: { all: flag('all skills of other programs'), yes },
      examples: ['skills enable weather', 'skills enable --all'],
      load: async () => (await import('../extensions/skills.ts')).skillsEnableCommand,
    }),
    command({
      name: 'install-deps',
      description: 'install the programs that a skill lacks, after the command was shown and you said yes',
      exits: { 0: 'nothing is missing any more', 1: 'something is' },
      arguments: { name: argument('the skill') },
      options: { yes },
      examples: ['skills install-deps github', 'skills install-deps github --yes'],
      load: async () => (await import('../extensions/skill-deps.ts')).skillsInstallDepsCommand,
    }),
    command({
      name: 'remove',
      description: 'remove a skill of the workspace',
      arguments: { name: argument('the skill') },
      options: { yes },
      examples: ['skills remove weather'],
      load: async () => (await import('../extensions/skills.ts')).skillsRemoveCommand,
    }),
  ],
};
