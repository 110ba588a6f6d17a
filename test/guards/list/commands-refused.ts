import { guardsIn, type Guard } from '../guard.ts';

const DENIED = 'security/commands.test.ts';

/** Which shell commands are refused in every mode. */
export const COMMAND_REFUSED_GUARDS: readonly Guard[] = [
  ...guardsIn(
    'security/commands/rules.ts',
    [DENIED],
    [
      {
        name: 'rules-remove',
        holds: 'rm does not take the system or a home.',
        find: 'const lost = losing(operands(args), directories);\n',
        replace: 'const lost = undefined as string | undefined;\n',
      },
      {
        name: 'rules-preserve-root',
        holds: 'rm --no-preserve-root is refused wherever it points.',
        find: "if (args.includes('--no-preserve-root')) return",
        replace: "if (args.includes('--never')) return",
      },
      {
        name: 'rules-file-systems',
        holds: 'No file system is made.',
        find: "if (command.name.startsWith('mkfs')) return makesFileSystem(command);",
        replace: '',
      },
      {
        name: 'rules-dd',
        holds: 'dd does not write over a disk.',
        find: 'return onDevice(of, directories) ?',
        replace: 'return onDevice(of, []) ?',
      },
      {
        name: 'rules-stop',
        holds: 'The machine is not stopped.',
        find: 'shutdown: stops,\n  reboot: stops,\n  halt: stops,\n  poweroff: stops,',
        replace: '',
      },
      {
        name: 'rules-systemctl',
        holds: 'The machine is not stopped through systemd.',
        find: 'systemctl: controlsSystem,',
        replace: '',
      },
      {
        name: 'rules-rights',
        holds: 'Rights of the system are not changed recursively.',
        find: 'chmod: changesRights,\n  chown: changesRights,\n  chgrp: changesRights,',
        replace: '',
      },
      {
        name: 'rules-move',
        holds: 'The system or a home is not moved away.',
        find: 'mv: moves,',
        replace: 'mv: copiesOntoDevice,',
      },
      {
        name: 'rules-kill-all',
        holds: 'Not every process is ended at once.',
        find: '  kill: kills,\n  killall5: killsAll,',
        replace: '',
      },
    ],
  ),
  ...guardsIn(
    'security/commands/targets.ts',
    [DENIED],
    [
      {
        name: 'targets-wildcards',
        holds: 'A wildcard stands for all that it may match: /* is the whole system.',
        find: "while (parts.length > 0 && ONLY_WILDCARDS.test(parts.at(-1) ?? '')) {",
        replace: 'while (parts.length < 0) {',
      },
      {
        name: 'targets-home',
        holds: 'A whole home directory is a ruin.',
        find: "if (tops.some((top) => HOMES.has(top))) return 'home';",
        replace: '',
      },
      {
        name: 'targets-patterns',
        holds: 'A name with a wildcard in it stands for the system folders it may match.',
        find: 'if (!isUndecided(name)) return candidates',
        replace: 'if (name !== undefined) return candidates',
      },
      {
        name: 'targets-devices',
        holds: 'Disks and memory are told from harmless devices.',
        find: "return absolute.startsWith('/dev/') && !HARMLESS_DEVICE.test(absolute);",
        replace: 'return false;',
      },
      {
        name: 'targets-sysrq',
        holds: 'The kernel is not triggered through sysrq.',
        find: "if (absolute === '/proc/sysrq-trigger') return true;",
        replace: '',
      },
      {
        name: 'targets-proc-root',
        holds: 'The root is known under /proc/self/root too.',
        find: "if (parts[0] === 'proc' && parts[2] === 'root') parts = parts.slice(3);",
        replace: '',
        tests: ['security/commands-traps.test.ts'],
      },
    ],
  ),
  ...guardsIn(
    'security/commands.ts',
    ['security/commands.test.ts'],
    [
      {
        name: 'refused-endless',
        holds: 'An endless loop that starts ever more, or a script that starts itself twice, is refused.',
        find: 'if (startsWithoutEnd(script))',
        replace: 'if (script.pos < -1)',
      },
    ],
  ),
];
