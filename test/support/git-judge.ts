import { execFile } from 'node:child_process';
import { cp, lstat, readFile, readdir, readlink, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { judgeGit, type GitFinding } from '../../src/core/landing/git/judge.ts';

const run = promisify(execFile);
export const PLANT = 'touch "$WITNESS"';
export const ID = '-c user.name=a -c user.email=a@example.org';

/** A workspace that a command has changed, with the judgement of it; the workspace holds the changes afterwards. */
export async function judged(
  workspace: string,
  command: string,
  signal: AbortSignal = new AbortController().signal,
): Promise<readonly GitFinding[]> {
  const [before, after] = [`${workspace}.before`, `${workspace}.after`];
  await cp(workspace, before, { recursive: true, verbatimSymlinks: true, preserveTimestamps: true });
  await run('bash', ['-c', command], { cwd: workspace, env: environment(workspace) });
  await rename(workspace, after);
  await rename(before, workspace);
  const changed = await differences(Buffer.from(workspace), Buffer.from(after));
  try {
    return await judgeGit({ workspace, after, changed, signal });
  } finally {
    await rename(workspace, before);
    await rename(after, workspace);
    await run('bash', ['-c', 'chmod -R u+rwx "$0"; rm -rf "$0"', before]);
  }
}

/** Git reads nothing of the machine's own settings. */
function environment(home: string): NodeJS.ProcessEnv {
  return { PATH: process.env['PATH'], HOME: home, GIT_CONFIG_NOSYSTEM: '1', TERM: 'xterm' };
}

/** The owner's git, as a shell's prompt, an editor and a person use it, until the witness is there. */
export async function ownersGit(folder: string, witness: string): Promise<void> {
  const env = { ...environment(folder), WITNESS: witness };
  const uses = ['status', 'diff', 'fetch --all', 'add -A', 'commit --allow-empty -m x', 'checkout -q -f HEAD', 'stash'];
  // A pager is for terminals.
  await run('script', ['-qec', 'git log', '/dev/null'], { cwd: folder, env }).catch(() => {});
  const steps = uses.map((use) => `[ -e "$WITNESS" ] || git ${ID} ${use}`);
  await run('bash', ['-c', steps.join('\n')], { cwd: folder, env }).catch(() => {});
}

/** The paths that differ between two folders, relative to them. */
async function differences(a: Buffer, b: Buffer, at: Buffer = Buffer.alloc(0)): Promise<Buffer[]> {
  const slash = Buffer.from('/');
  const names = new Map<string, Buffer>();
  for (const folder of [a, b])
    for (const name of await readdir(Buffer.concat([folder, slash, at]), { encoding: 'buffer' }).catch(() => []))
      names.set(name.toString('latin1'), name);
  const found: Buffer[] = [];
  for (const name of names.values()) {
    const path = at.length === 0 ? name : Buffer.concat([at, slash, name]);
    const [one, other] = await Promise.all([a, b].map((folder) => describe(Buffer.concat([folder, slash, path]))));
    if (one !== other) found.push(path);
    if (one?.startsWith('folder') === true || other?.startsWith('folder') === true)
      found.push(...(await differences(a, b, path)));
  }
  return found;
}

async function describe(path: Buffer): Promise<string | undefined> {
  const facts = await lstat(path).catch(() => undefined);
  if (facts === undefined) return undefined;
  if (facts.isDirectory()) return `folder ${facts.mode}`;
  if (facts.isSymbolicLink()) return `link ${(await readlink(path, { encoding: 'buffer' })).toString('latin1')}`;
  if (!facts.isFile()) return 'other';
  return `file ${facts.mode} ${(await readFile(path)).toString('latin1')}`;
}

/** Whether a path is there, also as a link that leads nowhere. */
export async function isThere(path: string): Promise<boolean> {
  return await lstat(path).then(
    () => true,
    () => false,
  );
}

/** A workspace with one repository, `repo`, that has one commit. */
export async function withRepository(home: string): Promise<string> {
  const workspace = join(home, 'workspace');
  await run(
    'bash',
    [
      '-c',
      `mkdir -p ${workspace}/repo && cd ${workspace}/repo && git init -q && echo a > a && git add a && git ${ID} commit -q -m a`,
    ],
    { env: environment(home) },
  );
  return workspace;
}
