import { command, type Group } from '../../core/cli/command.ts';
import { flag } from '../../core/cli/values.ts';

// The commands about the service: systemd or launchd runs the assistant, also after a crash and a start of the machine.

const system = flag(
  'the service of the whole machine, with a user of its own, instead of your own service (systemd only)',
);

export const copyKeys = flag(
  'give the service the keys that its configuration takes from the variables of this terminal, without asking',
);

export const service: Group = {
  name: 'service',
  description: 'run the assistant in the background, with systemd or launchd',
  commands: [
    command({
      name: 'install',
      description: 'install or update the service, and start it',
      worksOn: 'any folder',
      options: { system, copyKeys },
      examples: ['service install'],
      load: async () => (await import('../service.ts')).serviceInstallCommand,
    }),
    command({
      name: 'uninstall',
      description: 'stop and remove the service; the home stays as it is',
      worksOn: 'any folder',
      options: { system },
      load: async () => (await import('../service.ts')).serviceUninstallCommand,
    }),
    command({
      name: 'start',
      description: 'start the service',
      worksOn: 'any folder',
      options: { system },
      load: async () => (await import('../service.ts')).serviceActCommand('start'),
    }),
    command({
      name: 'stop',
      description: 'stop the service until the machine starts again',
      worksOn: 'any folder',
      options: { system },
      load: async () => (await import('../service.ts')).serviceActCommand('stop'),
    }),
    command({
      name: 'restart',
      description: 'stop the service and start it again',
      worksOn: 'any folder',
      options: { system },
      load: async () => (await import('../service.ts')).serviceActCommand('restart'),
    }),
    command({
      name: 'status',
      description: 'show whether the service is installed and running, since when, and for which home',
      worksOn: 'any folder',
      options: { system, json: flag('as JSON') },
      exits: { 0: 'it is running', 1: 'it is not' },
      load: async () => (await import('../service.ts')).serviceStatusCommand,
    }),
    command({
      name: 'logs',
      description: 'print the last 200 lines that systemd or launchd kept of its log',
      worksOn: 'any folder',
      options: { system, follow: flag('wait for new lines, until Ctrl-C', { short: 'f' }) },
      examples: ['service logs --follow'],
      load: async () => (await import('../service.ts')).serviceLogsCommand,
    }),
  ],
};
