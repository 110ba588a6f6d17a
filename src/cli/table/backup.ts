import { command } from '../../core/cli/command.ts';
import { argument, flag, optionalArgument, text } from '../../core/cli/values.ts';

// The commands about the home as a whole: copy it, bring it back, take it away.

const json = flag('as JSON');

export const backup = command({
  name: 'backup',
  description: 'write the whole home into one file, also while the assistant runs',
  options: {
    out: text('<file>', 'the file to write (default: assistant-backup-TIME.tar.gz in this folder)'),
    json,
  },
  after: 'The file holds keys and conversations; only you can read it.',
  examples: ['backup', 'backup --out /media/usb/assistant.tar.gz'],
  load: async () => (await import('../backup/backup.ts')).backupCommand,
});

export const restore = command({
  name: 'restore',
  description: 'put a backup in the place of the home; what is there is moved aside',
  arguments: { file: argument('the file that the command backup made') },
  options: {
    yes: flag('do not ask before a home is moved aside'),
    continue: flag('open work goes on: the assistant was stopped before the backup, and stays off there'),
    json,
  },
  after: 'Stop the assistant first, here and where the backup was made.',
  examples: ['restore assistant-backup-2027-03-01T08-31-02.tar.gz'],
  load: async () => (await import('../backup/backup.ts')).restoreCommand,
});

export const upgrade = command({
  name: 'upgrade',
  description: 'install another version, try it on a copy of the home, and switch to it',
  worksOn: 'any folder',
  arguments: { version: optionalArgument('the version, or the file of its package', 'latest') },
  options: {
    json,
    rehearse: flag('start with everything off, show the version, and end: an upgrade runs this on a copy of the home'),
  },
  after: 'It makes a backup first, and goes back by itself to the version before when the new one does not stay up.',
  load: async () => (await import('../backup/upgrade.ts')).upgradeCommand,
});

export const uninstall = command({
  name: 'uninstall',
  description: 'remove the service, and say what stays and how to remove it',
  worksOn: 'any folder',
  options: {
    purge: flag('delete the home too: memory, conversations, keys'),
    yes: flag('do not ask before the home is deleted'),
    system: flag('the service of the machine, instead of yours (systemd only)'),
  },
  load: async () => (await import('../backup/uninstall.ts')).uninstallCommand,
});
