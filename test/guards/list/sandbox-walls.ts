import { guardsIn, type Guard } from '../guard.ts';

const SANDBOX = 'security/sandbox.test.ts';
const PROBE = 'security/sandbox-probe.test.ts';
const LIMITS = 'security/sandbox-limits.test.ts';
const ARGUMENTS = 'security/sandbox-arguments.test.ts';

/** What a command in the sandbox can not reach. */
export const SANDBOX_WALL_GUARDS: readonly Guard[] = [
  ...guardsIn(
    'security/sandbox.ts',
    [SANDBOX],
    [
      {
        name: 'sandbox-untested',
        holds: 'No command starts in a sandbox that did not pass its own escape test.',
        find: "if (!found.available) throw new AppError('sandbox-unavailable', found.reason);",
        replace: "if (!found.available) return { file: '/bin/sh', args: [], env: {} };",
        tests: [PROBE],
      },
      {
        name: 'sandbox-folder',
        holds: 'A command does not start in a folder outside the workspace.',
        find: 'if (!within(workspace, folder)) {',
        replace: 'if (!within(workspace, folder) && false) {',
      },
      {
        name: 'sandbox-read-root-secrets',
        holds: 'Credentials in a read root are not seen.',
        find: 'const hidden = (await Promise.all(roots.map(secretsIn))).flat();',
        replace: 'const hidden = (await Promise.all(roots.slice(0, 0).map(secretsIn))).flat();',
      },
      {
        name: 'sandbox-owner-only',
        holds: 'Commands of others than the owner do not see the memory and USER.md.',
        find: "owner: role === 'owner',",
        replace: 'owner: true,',
      },
      {
        name: 'sandbox-limits-removed',
        holds: 'Control groups do not pile up behind the assistant.',
        find: 'if (found?.available === true) await removeLimitGroups(found.groups);',
        replace: '',
        tests: [LIMITS],
      },
    ],
  ),
  ...guardsIn(
    'security/sandbox/arguments.ts',
    [ARGUMENTS],
    [
      ...(
        [
          ['--unshare-all', 'Commands do not share processes, network, sockets and host name with the machine.'],
          ['--unshare-user', 'A sandbox without a user namespace of its own does not start.'],
          ['--cap-drop', 'Commands have no capability of an administrator.'],
          ['--die-with-parent', 'Commands do not go on after the assistant ended.'],
          ['--new-session', 'Commands do not type into the terminal of the assistant.'],
          ['--clearenv', 'Commands do not see the environment of the assistant.'],
        ] as const
      ).map(([wall, holds]) => ({
        name: `bwrap-${wall.slice(2)}`,
        holds,
        find: `    '${wall}',\n${wall === '--cap-drop' ? "    'ALL',\n" : ''}`,
        replace: '',
      })),
      {
        name: 'bwrap-disable-userns',
        holds: 'Commands do not make namespaces of their own, in which they would be root.',
        find: "...(disableUserns ? ['--disable-userns'] : []),",
        replace: '',
      },
      {
        name: 'bwrap-seccomp',
        holds: 'The filter of system calls is loaded.',
        find: "...(filter === undefined ? [] : ['--seccomp', String(FD.filter)]),",
        replace: '',
        tests: [PROBE],
      },
      {
        name: 'bwrap-network',
        holds: 'Commands do not reach the network unless it was asked for.',
        find: "...(network ? ['--share-net'] : []),",
        replace: "...['--share-net'],",
      },
      {
        name: 'bwrap-kernel-read-only',
        holds: 'Files of the kernel that obey the user id alone are not written.',
        find: "...['/proc', '/dev', '/'].flatMap((path) => ['--remount-ro', path]),",
        replace: '',
      },
      {
        name: 'bwrap-reserved-roots',
        holds: 'A read root over a place of the system does not undo the walls.',
        find: '!RESERVED.has(root) &&',
        replace: '',
      },
      {
        name: 'bwrap-kernel-roots',
        holds: 'A read root in /proc, /sys or /dev shows nothing of the machine.',
        find: '!KERNEL.some((path) => within(path, root)) &&',
        replace: '',
      },
      {
        name: 'bwrap-state-roots',
        holds: 'A read root over the state of the assistant opens nothing of it.',
        find: '!state.some((path) => within(path, root)),',
        replace: 'true,',
      },
      {
        name: 'bwrap-workspace-roots',
        holds: 'A read root in the workspace does not lie under its protected places.',
        find: '!within(workspace, root) &&',
        replace: '',
      },
      {
        name: 'bwrap-home-hidden',
        holds: "A read root around the assistant's home does not show the home.",
        find: "...(around.length > 0 ? ['--tmpfs', home] : []),",
        replace: '',
      },
      {
        name: 'bwrap-hidden-places',
        holds: 'Places for credentials in a read root are covered.',
        find: '.filter(({ path }) => roots.some((root) => within(root, path)))',
        replace: '.filter(() => false)',
        tests: [SANDBOX],
      },
      {
        name: 'bwrap-protected-places',
        holds: 'Bootstrap files, memory, skills, jobs and git hooks are not written by commands.',
        find: "...open.flatMap((path) => ['--ro-bind', path, path]),",
        replace: '',
        tests: [ARGUMENTS, SANDBOX],
      },
      {
        name: 'bwrap-repository-held',
        holds: 'A repository is not moved away for one with other hooks.',
        find: "...(repository === undefined ? [] : ['--bind', repository, repository]),",
        replace: '',
        tests: [SANDBOX],
      },
      {
        name: 'bwrap-private-hidden',
        holds: 'The memory and USER.md are not there for commands of others than the owner.',
        find: '...(owner\n      ? []',
        replace: '...(owner || true\n      ? []',
        tests: [ARGUMENTS, SANDBOX],
      },
    ],
  ),
  ...guardsIn(
    'security/sandbox/filter.ts',
    [ARGUMENTS],
    [
      {
        name: 'filter-foreign-processor',
        holds: 'System calls by the numbers of another kind of processor do not pass the filter.',
        find: '[EQUAL, 1, 0, audit],',
        replace: '[EQUAL, 1, 1, audit],',
      },
      {
        name: 'filter-x32',
        holds: 'System calls by the numbers of x32 do not pass the filter.',
        find: '...(x32 ? answer(AT_LEAST, X32_BIT, ENOSYS) : []),',
        replace: '',
      },
      {
        name: 'filter-mounts',
        holds: 'Commands do not mount, change roots, use keyrings, eBPF or the like.',
        find: '[...refused, ...REFUSED].flatMap(',
        replace: '[...REFUSED].flatMap(',
      },
      {
        name: 'filter-new-mounts',
        holds: 'Commands do not mount by the newer system calls.',
        find: '[...refused, ...REFUSED].flatMap(',
        replace: '[...refused].flatMap(',
      },
      {
        name: 'filter-clone3',
        holds: 'clone3, whose flags can not be seen, and io_uring do not exist.',
        find: '...MISSING.flatMap((number) => answer(EQUAL, number, ENOSYS)),',
        replace: '',
      },
      {
        name: 'filter-namespaces',
        holds: 'New user namespaces are refused.',
        find: 'when(number, 0, answer(ANY_BIT, CLONE_NEWUSER, EPERM))',
        replace: '[] as readonly Instruction[]',
      },
      {
        name: 'filter-typing',
        holds: 'Commands do not put keys into a terminal.',
        find: '...when(ioctl, 1, [...answer(EQUAL, TIOCSTI, EPERM), ...answer(EQUAL, TIOCLINUX, EPERM)]),',
        replace: '',
      },
    ],
  ),
  ...guardsIn(
    'security/sandbox/git-keeper.ts',
    ['tools/exec-git.test.ts'],
    [
      {
        name: 'git-undone',
        holds: "What a command among text from strangers makes the owner's git run is undone.",
        find: 'if (runs.length === 0) continue;',
        replace: 'continue;',
      },
      {
        name: 'git-undone-meanwhile',
        holds: 'It is undone while the command still runs.',
        find: 'await this.#inTurn(() => this.#look()).catch(() => {});',
        replace: '',
      },
    ],
  ),
  ...guardsIn(
    'security/git-settings.ts',
    ['tools/exec-git.test.ts'],
    [
      {
        name: 'git-unknown-settings',
        holds: 'A setting that is not known to be harmless counts as running a program.',
        find: 'return PLAIN_VALUES[key]?.test(value) !== true;',
        replace: 'return PLAIN_VALUES[key]?.test(value) === false;',
      },
    ],
  ),
  ...guardsIn(
    'security/sandbox/repositories.ts',
    ['tools/exec-git.test.ts'],
    [
      {
        name: 'git-bare',
        holds: 'A repository without a name of its own is looked at too.',
        find: 'if (isBare) repositories.push(folder);',
        replace: '',
      },
      {
        name: 'git-hooks-link',
        holds: 'Hooks behind a link count as hooks.',
        find: 'runs: [`leads git to the hooks in ${link}`]',
        replace: 'runs: []',
      },
    ],
  ),
];
