import { guardsIn, type Guard } from '../guard.ts';

const ASKED = 'security/commands-ask.test.ts';
const EXACT = 'security/exact-commands.test.ts';
const PREFIX = 'security/prefix.test.ts';

/** Which shell commands are asked about in every mode, and which may be allowed for good. */
export const COMMAND_ASKED_GUARDS: readonly Guard[] = [
  ...guardsIn(
    'security/commands/ask/concern.ts',
    [ASKED],
    [
      {
        name: 'concern-reach',
        holds: 'What a command with the network can do is asked about when it has it.',
        find: "(reach === 'network' && needs === 'network')",
        replace: "(reach === 'network' && needs === 'outside')",
      },
    ],
  ),
  ...guardsIn(
    'security/commands/ask/hosts.ts',
    [ASKED],
    [
      {
        name: 'hosts-metadata-opened',
        holds: 'A metadata host is asked about even when it was opened by mistake.',
        find: "if (verdict.kind !== 'metadata' && opened(target)) return undefined;",
        replace: 'if (opened(target)) return undefined;',
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
        find: String.raw`return /^(?:\d{1,3}\.){1,3}\uE000/u.test(plain) ? plain.replaceAll(UNKNOWN, '1') : undefined;`,
        replace: 'return undefined;',
      },
    ],
  ),
  ...guardsIn(
    'security/commands/ask/network.ts',
    [ASKED],
    [
      {
        name: 'network-sockets',
        holds: 'Services behind socket files are asked about.',
        find: '...socketConcerns(simple),',
        replace: '',
      },
      {
        name: 'network-proxies',
        holds: 'A private proxy is asked about.',
        find: ', ...proxies(simple.name, scope)]',
        replace: ']',
      },
      {
        name: 'network-code',
        holds: 'A private host in the code of another language is asked about.',
        find: 'return [...codeHosts(code), ...args.flatMap(inUrl)];',
        replace: 'return [...args.flatMap(inUrl)];',
      },
    ],
  ),
  ...guardsIn(
    'security/commands/ask/places.ts',
    [ASKED],
    [
      {
        name: 'places-own-state',
        holds: "A command that names the assistant's configuration or state is asked about.",
        find: `return own ? [outside("it names the assistant's own configuration or state")] : [];`,
        replace: 'return [];',
      },
      {
        name: 'places-rights-outside',
        holds: 'Changing the rights of folders outside the workspace is asked about.',
        find: '...(changed.some((path) => !isInside(path, place))',
        replace: '...(changed.some(() => false)',
      },
    ],
  ),
  ...guardsIn(
    'security/commands/ask/programs.ts',
    [ASKED],
    [
      {
        name: 'programs-rights',
        holds: "Running with another user's rights is asked about.",
        find: "...all(rights, 'sudo doas su pkexec run0 runuser sudoedit'),",
        replace: '',
      },
      {
        name: 'programs-later',
        holds: 'What runs later by itself is asked about.',
        find: "...all(later, 'crontab at batch systemd-run'),",
        replace: '',
      },
      {
        name: 'programs-own-command-line',
        holds: "The assistant's own command line, which obeys whoever calls it, is asked about.",
        find: '\n  assistant,\n',
        replace: '\n',
      },
      {
        name: 'programs-containers',
        holds: 'A container that is given the machine is asked about.',
        find: "...all(containers, 'docker podman nerdctl'),",
        replace: '',
      },
      {
        name: 'programs-force-push',
        holds: 'Overwriting what others see on a git remote is asked about.',
        find: "if (name === 'git') return forcesPush(args) ?",
        replace: "if (name === 'git') return args.length < 0 ?",
      },
      {
        name: 'programs-publish',
        holds: 'Publishing to the world is asked about.',
        find: 'return PUBLISHES[name]?.test(line) === true',
        replace: 'return PUBLISHES[name]?.test(line) === null',
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
        name: 'exact-runners',
        holds: 'Shells, wrappers and interpreters are not allowed for good.',
        find: 'return [name, plain].some((one) => RUNNERS.has(one) || INTERPRETERS.test(one) || unwrap(one, args) !== undefined);',
        replace: 'return [name, plain].length === 0;',
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
        name: 'prefix-errors',
        holds: 'What can not be parsed is not within the limits of a skill.',
        find: 'if ((script.errors ?? []).length > 0 || script.commands.length === 0) return false;',
        replace: '',
      },
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
        name: 'prefix-literal',
        holds: 'A substitution does not get past the limits of a skill.',
        find: 'if (words.includes(undefined)) return false;',
        replace: '',
      },
      {
        name: 'prefix-other-syntax',
        holds: 'Functions, loops and subshells do not get past the limits of a skill.',
        find: 'default:\n      return false;',
        replace: 'default:\n      return true;',
      },
    ],
  ),
  ...guardsIn(
    'security/commands/ask/places.ts',
    [ASKED],
    [
      {
        name: 'places-patterns',
        holds: 'A pattern counts as each protected name that it could match.',
        find: 'if (!isUndecided(path)) return [path];',
        replace: 'return [path];',
      },
    ],
  ),
  ...guardsIn(
    'security/commands/ask/programs.ts',
    [ASKED],
    [
      {
        name: 'programs-kill-unknown',
        holds: "A process to end that is not spelled out counts as somebody else's.",
        find: ' || isUndecided(arg))',
        replace: ')',
      },
    ],
  ),
];
