import { command, type Group } from '../../core/cli/command.ts';
import { argument, flag, optionalArgument } from '../../core/cli/values.ts';

const json = flag('as JSON');
const path = argument('as in agent.model, or models["openai/gpt-5.1"].price where a name holds a dot');

export const config: Group = {
  name: 'config',
  description: 'the settings: look, change, check',
  commands: [
    command({
      name: 'get',
      description: 'show what is in force, and where it is from; never a secret',
      worksOn: 'any folder',
      arguments: { path: optionalArgument('a setting or a group of them (default: everything)') },
      options: { json },
      examples: ['config get agent.model'],
      load: async () => (await import('../config.ts')).configGetCommand,
    }),
    command({
      name: 'set',
      description: 'change a setting in config.json; comments stay, and nothing is written that could not run',
      worksOn: 'any folder',
      arguments: {
        path,
        value: argument('a text, a list separated by commas, or JSON; "-": read it from stdin'),
      },
      options: { json },
      examples: ['config set agent.model anthropic/claude-sonnet-5-5', 'config set heartbeat.everyMinutes 60'],
      load: async () => (await import('../config.ts')).configSetCommand,
    }),
    command({
      name: 'unset',
      description: 'take a setting out of config.json, so that its default is in force',
      worksOn: 'any folder',
      arguments: { path },
      options: { json },
      examples: ['config unset agent.model'],
      load: async () => (await import('../config.ts')).configUnsetCommand,
    }),
    command({
      name: 'edit',
      description: 'open a copy of config.json in $VISUAL or $EDITOR and take it over if it can run',
      worksOn: 'any folder',
      load: async () => (await import('../config.ts')).configEditCommand,
    }),
    command({
      name: 'check',
      description: 'say what is wrong with the configuration, with line and column',
      worksOn: 'any folder',
      options: { json },
      exits: { 0: 'the assistant can run like that', 78: 'it cannot' },
      load: async () => (await import('../config.ts')).configCheckCommand,
    }),
    command({
      name: 'schema',
      description: 'print the JSON schema of config.json, for editors',
      worksOn: 'any folder',
      load: async () => (await import('../config.ts')).configSchemaCommand,
    }),
  ],
};
