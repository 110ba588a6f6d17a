import { guardsIn, type Guard } from '../guard.ts';

const TRAPS = 'security/commands-traps.test.ts';
const ASKED = 'security/commands-ask.test.ts';

/** What in a shell command is asked about, one by one. */
export const COMMAND_RISK_GUARDS: readonly Guard[] = [
  ...guardsIn(
    'security/commands/hosts.ts',
    [ASKED],
    [
      {
        name: 'hosts-userinfo',
        holds: 'A user name before a host does not pass for the host.',
        find: "spelledOut(authority.slice(authority.lastIndexOf('@') + 1))",
        replace: 'spelledOut(authority)',
        tests: [TRAPS],
      },
      {
        name: 'hosts-doubtful',
        holds: 'A short name in an address counts as a host.',
        find: "if (naming !== 'url' && isDoubtful) return undefined;",
        replace: 'if (isDoubtful) return undefined;',
      },
    ],
  ),
  ...guardsIn(
    'security/commands/network.ts',
    [ASKED],
    [
      {
        name: 'network-metadata-word',
        holds: 'The bare name of the metadata service is looked at.',
        find: '/^(0|metadata)(?=[:/]|$)/gu',
        replace: '/^(0)(?=[:/]|$)/gu',
      },
      {
        name: 'network-zero',
        holds: 'The host 0, which is this machine, is looked at.',
        find: '/^(0|metadata)(?=[:/]|$)/gu',
        replace: '/^(metadata)(?=[:/]|$)/gu',
      },
    ],
  ),
  ...guardsIn(
    'security/commands/code.ts',
    [ASKED],
    [
      {
        name: 'interpreter-inline',
        holds: 'Code on the command line of an interpreter is looked at.',
        find: '    text: inline,\n',
        replace: "    text: '',\n",
      },
      {
        name: 'interpreter-input',
        holds: 'Code on the input of an interpreter is looked at.',
        find: 'program === undefined ? scope.stdin : contentsOf',
        replace: "program === undefined ? '' : contentsOf",
      },
      {
        name: 'interpreter-file',
        holds: 'A file that the command wrote itself and an interpreter runs is looked at.',
        find: "contentsOf(program, scope).join('\\n')",
        replace: "''",
      },
      {
        name: 'interpreter-fetched',
        holds: 'A fetched file that an interpreter runs is asked about.',
        find: 'isFetched: text.includes(FETCHED)',
        replace: 'isFetched: false',
        tests: [TRAPS],
      },
    ],
  ),
];
