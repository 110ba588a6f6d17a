import { guardsIn, type Guard } from '../guard.ts';

const SANDBOX = 'security/sandbox.test.ts';
const ARGUMENTS = 'security/sandbox-arguments.test.ts';

/** What a command in the sandbox cannot reach. */
export const SANDBOX_BARRIER_GUARDS: readonly Guard[] = [
  ...guardsIn(
    'security/sandbox/sandbox.ts',
    [SANDBOX],
    [
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
