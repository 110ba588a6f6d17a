import { guardsIn, type Guard } from '../guard.ts';

const DENIED = 'security/commands.test.ts';
const TRAPS = 'security/commands-traps.test.ts';

/** Which shell commands are refused in every mode. */
export const COMMAND_REFUSED_GUARDS: readonly Guard[] = [
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
      {
        name: 'targets-proc-root',
        holds: 'The root is known under /proc/self/root too.',
        find: "if (parts[0] === 'proc' && parts[2] === 'root') parts = parts.slice(3);",
        replace: '',
        tests: [TRAPS],
      },
    ],
  ),
];
