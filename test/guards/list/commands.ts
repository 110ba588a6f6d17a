import { guardsIn, type Guard } from '../guard.ts';

const DENIED = 'security/commands.test.ts';
const TRAPS = 'security/commands-traps.test.ts';
const ASKED = 'security/commands-ask.test.ts';
const EXACT = 'security/exact-commands.test.ts';
const PREFIX = 'security/prefix.test.ts';

/** Which shell commands are refused in every mode, asked about, and may be allowed for good. */
export const COMMAND_GUARDS: readonly Guard[] = [
  ...guardsIn(
    'security/commands/rules.ts',
    [DENIED],
    [
      {
        name: 'rules-remove',
        holds: 'rm does not take the system or a home.',
        find: "refuse('rm srm rimraf shred',",
        replace: "refuse('none',",
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
    ],
  ),
  ...guardsIn(
    'security/commands/simple.ts',
    [DENIED],
    [
      {
        name: 'simple-wrapped-command',
        holds: 'A command behind sudo, env, timeout and the like is looked at.',
        find: "if ('argv' in inner) return runSimple(inner.argv, nested);",
        replace: "if ('argv' in inner) return UNKNOWN;",
      },
      {
        name: 'simple-shell-code',
        holds: 'Code for sh -c is looked at.',
        find: 'return runText(inner.code, nested);',
        replace: 'return UNKNOWN;',
      },
      {
        name: 'simple-find-delete',
        holds: 'find -delete does not take the system or a home.',
        find: "const lost = expression.includes('-delete') && !isNarrowed ? reasonIfLost(roots, scope.directories) : undefined;",
        replace: 'const lost = undefined;',
      },
    ],
  ),
  ...guardsIn(
    'security/commands/script.ts',
    [DENIED],
    [
      {
        name: 'fork-bomb-background',
        holds: 'A function that starts itself in the background is a fork bomb.',
        find: 'return runNode(node.command, { ...scope, beside: scope.beside + 1 });',
        replace: 'return runNode(node.command, { ...scope });',
      },
      {
        name: 'fork-bomb-pipes',
        holds: 'A function that pipes itself into itself is a fork bomb.',
        find: 'const beside = scope.beside + (copies.length > 1 ? 1 : 0);',
        replace: 'const { beside } = scope;',
        tests: [TRAPS],
      },
    ],
  ),
  ...guardsIn(
    'security/commands/places.ts',
    [DENIED],
    [
      {
        name: 'rules-truncate',
        holds: 'Nothing is written over a disk by tee, truncate and shred.',
        find: '/^(?:tee|truncate|shred|rm|unlink|mkdir)$/',
        replace: '/^(?:rm|unlink|mkdir)$/',
      },
      {
        name: 'rules-copy',
        holds: 'Nothing is copied over a disk, from here or elsewhere.',
        find: '/^(?:cp|mv|install|ln|rsync|scp)$/',
        replace: '/^(?:mv|ln)$/',
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
