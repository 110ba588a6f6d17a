import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { exec, type HomeWithFiles, type Task } from './home-with-files.ts';

const run = promisify(execFile);
const ME = 'git -c user.name=Me -c user.email=me@example.com';

/** A project with one commit and a change, and a remote beside it. */
async function project({ world, write }: HomeWithFiles): Promise<void> {
  await write('work/app/main.txt', 'one\n');
  const script = `git init -q -b main . && git add . && ${ME} commit -qm "First" && git init -q --bare ../remote.git && git remote add origin ../remote.git`;
  await run('/bin/sh', ['-c', script], { cwd: `${world.workspace}/work/app` });
  await write('work/app/main.txt', 'two\n');
}

const cwd = 'work/app';
const git = { needs: ['git'], prepare: project } as const;

/** Work on a repository. */
export const GIT_TASKS: readonly Task[] = [
  {
    ...git,
    name: 'say what I changed',
    calls: [exec('git status --short && git diff', { cwd })],
    isDone: (_home, [found = '']) => found.includes('main.txt') && found.includes('+two'),
  },
  {
    ...git,
    name: 'show the last commits',
    calls: [exec('git log --oneline -5', { cwd })],
    isDone: (_home, [found = '']) => found.includes('First'),
  },
  {
    ...git,
    name: 'commit my changes',
    calls: [exec(`git add -A && ${ME} commit -m "Say two" && git log --oneline -1`, { cwd })],
    isDone: (_home, [found = '']) => found.includes('Say two') && found.includes('exitCode=0'),
  },
  {
    ...git,
    name: 'try something on a branch',
    calls: [
      exec(
        `git switch -c idea && ${ME} commit -qam "Idea" && git switch main && git merge -q idea && git log --oneline -1`,
        { cwd },
      ),
    ],
    isDone: (_home, [found = '']) => found.includes('Idea'),
  },
  {
    ...git,
    name: 'take a change back',
    calls: [exec('git restore main.txt && cat main.txt', { cwd })],
    isDone: async ({ read }) => (await read('work/app/main.txt')) === 'one\n',
  },
  {
    ...git,
    name: 'commit and push',
    asks: 1,
    calls: [
      exec(`git add -A && ${ME} commit -qm "Say two"`, { cwd }),
      exec('git push -q origin main && git ls-remote origin', { cwd, network: true }),
    ],
    isDone: (_home, results) => results.at(-1)?.includes('refs/heads/main') === true,
  },
  {
    name: 'list the pull requests of a project',
    asks: 1,
    calls: [exec('gh pr list --repo me/app --json number,title', { outside: true })],
    isDone: (_home, [found = '']) => found.includes('Faster start'),
  },
  {
    name: 'answer an issue after a look at the pull requests',
    asks: 2,
    calls: [
      exec('gh pr list --repo me/app --json number,title', { outside: true }),
      exec("gh issue comment 12 --repo me/app --body 'See #34'", { outside: true }),
    ],
    isDone: (_home, results) => results.at(-1)?.includes('comment-1') === true,
  },
];
