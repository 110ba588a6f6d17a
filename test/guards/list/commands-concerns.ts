import { guardsIn, type Guard } from '../guard.ts';

const ASKED = 'security/commands-ask.test.ts';

/** What in a shell command is asked about, one by one. */
export const COMMAND_CONCERN_GUARDS: readonly Guard[] = [
  ...guardsIn(
    'security/commands/ask/hosts.ts',
    [ASKED],
    [
      {
        name: 'hosts-userinfo',
        holds: 'A user name before a host does not pass for the host.',
        find: "spelledOut(authority.slice(authority.lastIndexOf('@') + 1))",
        replace: 'spelledOut(authority)',
        tests: ['security/commands-traps.test.ts'],
      },
      {
        name: 'hosts-doubtful',
        holds: 'A short name in an address counts as a host.',
        find: "if (naming !== 'url' && isDoubtful(text, host, naming)) return undefined;",
        replace: 'if (isDoubtful(text, host, naming)) return undefined;',
      },
      {
        name: 'hosts-without-slashes',
        holds: 'A URL whose slashes are left out, which clients take too, is read as one.',
        find: '/^(?:https?|ftps?|wss?):[/\\\\]*([^/?#\\\\]*)/iu.exec(text)?.[1] ??\n    ',
        replace: '',
      },
    ],
  ),
  ...guardsIn(
    'security/commands/ask/network.ts',
    [ASKED],
    [
      {
        name: 'network-metadata-word',
        holds: 'The bare name of the metadata service is looked at.',
        find: '...metadata,',
        replace: '',
      },
      {
        name: 'network-zero',
        holds: 'The host 0, which is this machine, is looked at.',
        find: '...zero,',
        replace: '',
      },
      {
        name: 'network-jumps',
        holds: 'A host that ssh jumps through is looked at.',
        find: "if (arg.startsWith('-J')) found.push(...value.split(',').map((one) => host(one, 'alias')));",
        replace: '',
      },
      {
        name: 'network-host-options',
        holds: 'A host in an option of ssh is looked at.',
        find: "if (pointed !== null) found.push(host(pointed[1] ?? '', 'alias'));",
        replace: '',
      },
      {
        name: 'network-git-settings',
        holds: 'A host in a setting given to git is looked at.',
        find: 'return [...settings, ...args.slice(at + 1)',
        replace: 'return [...args.slice(at + 1)',
      },
    ],
  ),
  ...guardsIn(
    'security/commands/ask/interpreter.ts',
    [ASKED],
    [
      {
        name: 'interpreter-inline',
        holds: 'Code on the command line of an interpreter is looked at.',
        find: "if (inline.length > 0) return inline.join('\\n');",
        replace: "if (inline.length > 0) return '';",
      },
      {
        name: 'interpreter-input',
        holds: 'Code on the input of an interpreter is looked at.',
        find: "if (program === undefined) return scope.stdin.text ?? '';",
        replace: "if (program === undefined) return '';",
      },
      {
        name: 'interpreter-file',
        holds: 'A file that the command wrote itself and an interpreter runs is looked at.',
        find: "fileOf(posix.resolve(directory, program), scope)?.text ?? ''",
        replace: "''",
      },
    ],
  ),
  ...guardsIn(
    'security/commands/ask/programs.ts',
    [ASKED],
    [
      {
        name: 'programs-container-options',
        holds: 'A container with the rights of the machine is asked about.',
        find: 'options.some((arg) => OPENS_MACHINE.test(arg)) ||',
        replace: '',
      },
      {
        name: 'programs-container-socket',
        holds: 'A container with the socket of its engine is asked about.',
        find: 'mounted.some((path) => /\\/(?:docker|podman|containerd)\\.sock$/u.test(path)) ||',
        replace: '',
      },
      {
        name: 'programs-container-mounts',
        holds: 'A container with folders of the system is asked about.',
        find: "losing(\n      mounted.filter((path) => path.startsWith('/')),\n      directories,\n    ) !== undefined;",
        replace: 'false;',
      },
    ],
  ),
];
