import { guardsIn, type Guard } from '../guard.ts';

const SANDBOX = 'security/sandbox.test.ts';
const PROBE = 'security/sandbox-probe.test.ts';

/** How the sandbox is started, tried and bounded. */
export const SANDBOX_TRIAL_GUARDS: readonly Guard[] = [
  ...guardsIn(
    'security/sandbox/launch.ts',
    [SANDBOX],
    [
      {
        name: 'launch-descriptors',
        holds: 'A folder that the assistant was started with open is no way out.',
        find: '[3-9]) eval "exec $fd>&-" ;;',
        replace: '[3-9]) ;;',
      },
      {
        name: 'launch-high-descriptors',
        holds: 'A folder that is open under a number above 9 is no way out.',
        find: 'eval "exec $fd>&-" ;;\n  esac',
        replace: ': ;;\n  esac',
      },
      {
        name: 'launch-environment-hidden',
        holds: 'The environment of a command is not in its arguments, which other users can read.',
        find: "args: [...options, OUTSIDE, 'sandbox',",
        replace: "args: [...options, `# ${exported(profile.environment)}\\n${OUTSIDE}`, 'sandbox',",
      },
      {
        name: 'launch-no-start-files',
        holds: 'Variables for the command have no power over the shell that starts the sandbox.',
        find: 'env: { [ENVIRONMENT_VARIABLE]: exported({ ...DEFAULTS, ...profile.environment }) },',
        replace:
          'env: { ...profile.environment, [ENVIRONMENT_VARIABLE]: exported({ ...DEFAULTS, ...profile.environment }) },',
      },
      {
        name: 'launch-quoting',
        holds: 'A quote in a value of the environment does not end the value and run what follows.',
        find: ".replaceAll(\"'\", `'\\\\''`)}'`)",
        replace: "}'`)",
      },
    ],
  ),
  ...guardsIn(
    'security/sandbox/protected-paths.ts',
    [SANDBOX],
    [
      {
        name: 'places-no-links',
        holds: 'A protected place that is a link, which could be replaced, is not taken for protected.',
        find: "if (facts.isSymbolicLink()) return 'link';",
        replace: "if (facts.isSymbolicLink()) return 'file';",
      },
      {
        name: 'places-git-config',
        holds: "A repository's configuration, which can name hooks elsewhere, is not written by commands.",
        find: "const held = (await kindOf(config)) === undefined ? [] : [await ensure(config, 'file')];",
        replace: 'const held: string[] = [];',
      },
    ],
  ),
  ...guardsIn(
    'security/sandbox/probe.ts',
    [PROBE],
    [
      {
        name: 'probe-failed',
        holds: 'A sandbox in which nothing runs is not used.',
        find: "if (outcome.kind === 'failed') {",
        replace: "if (outcome.kind === 'failed') return undefined;\n  if (false) {",
      },
    ],
  ),
  ...guardsIn(
    'security/sandbox/self-test.ts',
    [PROBE],
    [
      {
        name: 'self-test-end',
        holds: 'A test that stopped half-way is not taken for one that held.',
        find: "if (!lines.includes('end')) return",
        replace: "if (!lines.includes('end') && lines.length === 0) return",
      },
    ],
  ),
  ...guardsIn(
    'security/sandbox/escape-script.ts',
    [PROBE],
    [
      {
        name: 'escape-remount',
        holds: 'A sandbox in which places can be remounted for writing is found out.',
        find: 'if has mount; then try remount remount',
        replace: "if has mount; then echo 'held remount'",
      },
      {
        name: 'escape-capabilities',
        holds: 'A sandbox that leaves capabilities is found out.',
        find: 'if [ -r /proc/self/status ]; then try capabilities capable; else',
        replace: 'if false; then :; else',
      },
      {
        name: 'escape-nested',
        holds: 'A sandbox in which namespaces can be made is found out.',
        find: 'then try nested-namespaces nest; else',
        replace: "then echo 'held nested-namespaces'; else",
      },
      {
        name: 'escape-see-host',
        holds: 'A sandbox that shows processes of the machine is found out.',
        find: 'if has grep; then try see-host-process see_host; else',
        replace: "if has grep; then echo 'held see-host-process'; else",
      },
      {
        name: 'escape-variable',
        holds: "A sandbox that hands on the assistant's environment is found out.",
        find: 'try read-variable read_variable',
        replace: "echo 'held read-variable'",
      },
    ],
  ),
];
