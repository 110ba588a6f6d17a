import { guardsIn, type Guard } from '../guard.ts';

/** What a command or a turn may use up. */
export const LIMIT_GUARDS: readonly Guard[] = [
  ...guardsIn(
    'tools/exec/run.ts',
    ['tools/exec.test.ts'],
    [
      {
        name: 'run-stopped',
        holds: 'A /stop ends what a command is doing, before the turn goes on.',
        find: 'AbortSignal.any([signal, limit.signal,',
        replace: 'AbortSignal.any([limit.signal,',
      },
      {
        name: 'run-leftovers',
        holds: 'Nothing that a command started goes on when it has ended.',
        find: 'const ended = left === 0 || (await shell.tree.end(clock, FINISH_GRACE_MS));',
        replace: 'const ended = true;',
      },
    ],
  ),
  ...guardsIn(
    'tools/exec/process-tree.ts',
    ['tools/exec.test.ts'],
    [
      {
        name: 'tree-marked',
        holds: 'What left its group and its parent is found by its mark.',
        find: '|| isMarked(pid, this.#mark, unseen)',
        replace: '',
      },
    ],
  ),
  ...guardsIn(
    'config/environment.ts',
    ['config/home.test.ts'],
    [
      {
        name: 'exec-environment-names',
        holds: 'Commands see no key of the environment, only variables that are named.',
        find: "const names = ['PATH', 'LANG', 'LC_ALL', 'TZ', 'USER', 'HOME', ...allow];",
        replace: 'const names = [...Object.keys(env), ...allow];',
      },
    ],
  ),
];
