import { guardsIn, type Guard } from '../guard.ts';

const ASKED = 'security/commands-ask.test.ts';
const EXACT = 'security/exact-commands.test.ts';
const PREFIX = 'security/prefix.test.ts';

/** Which shell commands are asked about in every mode, and which may be allowed for good. */
export const COMMAND_ASKED_GUARDS: readonly Guard[] = [
  ...guardsIn(
    'security/commands/guard.ts',
    [ASKED],
    [
      {
        name: 'concern-reach',
        holds: 'What a command with the network can do is asked about when it has it.',
        find: "reach === 'anywhere' || reach === needs ?",
        replace: "reach === 'anywhere' ?",
      },
    ],
  ),
  ...guardsIn(
    'security/commands/hosts.ts',
    [ASKED],
    [
      {
        name: 'hosts-metadata-opened',
        holds: 'A metadata host is asked about even when it was opened by mistake.',
        find: "if (verdict.kind !== 'metadata' && opened?.(target) === true) return undefined;",
        replace: 'if (opened?.(target) === true) return undefined;',
      },
      {
        name: 'hosts-hidden',
        holds: 'An address that is hidden by an encoding is asked about.',
        find: "return authority.includes(DECODED) ? 'an address that is hidden by an encoding' : undefined;",
        replace: 'return undefined;',
      },
      {
        name: 'hosts-unknown-end',
        holds: 'An address whose end is not known stands for one that begins so.',
        find: "return /^(?:\\d{1,3}\\.){1,3}\\uE000/u.test(plain) ? plain.replaceAll(UNKNOWN, '1') : undefined;",
        replace: 'return undefined;',
      },
    ],
  ),
  ...guardsIn(
    'security/commands/rules.ts',
    [ASKED],
    [
      {
        name: 'programs-publish',
        holds: 'Publishing to the world is asked about.',
        find: "return online(programs, 'it publishes",
        replace: "return ask(programs, 'it publishes",
      },
      {
        name: 'programs-kill-unknown',
        holds: "A process to end that is not spelled out counts as somebody else's.",
        find: ' || isUndecided(arg)',
        replace: '',
      },
    ],
  ),
  ...guardsIn(
    'security/commands/exact.ts',
    [EXACT],
    [
      {
        name: 'exact-shell-syntax',
        holds: 'Nothing with a list, pipe, pattern, variable or redirection in it is allowed for good.',
        find: 'if (word === undefined) return null;',
        replace: 'if (word === undefined) return [command];',
      },
      {
        name: 'exact-assignment',
        holds: 'An assignment before a program is not taken for a program.',
        find: "return program === '' || program.includes('=') ? null : words;",
        replace: "return program === '' ? null : words;",
      },
      {
        name: 'exact-numbered-runners',
        holds: 'python3.13 is an interpreter too.',
        find: 'return [name, plain].some(',
        replace: 'return [name].some(',
      },
    ],
  ),
  ...guardsIn(
    'security/commands/prefix.ts',
    [PREFIX],
    [
      {
        name: 'prefix-every-command',
        holds: 'Each command of a list or pipe is held to the limits of a skill.',
        find: 'return node.commands.every((command) => isAllowed(command, allowed));',
        replace: 'return node.commands.some((command) => isAllowed(command, allowed));',
      },
      {
        name: 'prefix-redirects',
        holds: 'Assignments and redirections do not get past the limits of a skill.',
        find: 'node.prefix.length > 0 || node.redirects.length > 0) return false;',
        replace: 'false) return false;',
      },
      {
        name: 'prefix-other-syntax',
        holds: 'Functions, loops and subshells do not get past the limits of a skill.',
        find: 'default:\n      return false;',
        replace: 'default:\n      return true;',
      },
    ],
  ),
];
