import { guardsIn, type Guard } from '../guard.ts';

const ASKED = 'security/commands-ask.test.ts';
const EXACT = 'security/exact-commands.test.ts';
const PREFIX = 'security/prefix.test.ts';

/** Which shell commands are asked about in every mode, and which may be allowed for good. */
export const COMMAND_ASKED_GUARDS: readonly Guard[] = [
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
    ],
  ),
];
