import { mkdir, realpath, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { PathCaller } from '../../src/core/security/paths/rules.ts';
import { PathGuard, type PathGuardOptions, type PathUse } from '../../src/core/security/paths/guard.ts';
import { tempFolder } from './temp.ts';
import { PATHS } from './extensions.ts';

export const OWNER: PathCaller = { role: 'owner', chatType: 'direct', taint: { untrusted: false } };
export const TAINTED: PathCaller = { role: 'owner', chatType: 'direct', taint: { untrusted: true } };
export const TRUSTED: PathCaller = { role: 'trusted', taint: { untrusted: false } };
export const GUEST: PathCaller = { role: 'guest', taint: { untrusted: true } };

export interface PathWorld extends AsyncDisposable {
  /** Holds `home` and a folder `outside` with `secret.txt` (`OUTSIDE`). */
  readonly root: string;
  /** Holds the workspace, `config.json` (`CONFIG`) and `sessions/one.jsonl` (`TAPE`). */
  readonly home: string;
  /** Holds `a.txt` (`inside`) and a folder `notes`. */
  readonly workspace: string;
  /** The guard of this world, or one with other options. */
  guard(options?: Partial<PathGuardOptions>): PathGuard;
}

/** A home with a workspace, and something beside it that must stay closed. */
export async function pathWorld(): Promise<PathWorld> {
  const folder = await tempFolder();
  const root = await realpath(folder.path);
  const home = join(root, 'home');
  const workspace = join(home, 'workspace');
  for (const path of [join(workspace, 'notes'), join(home, 'sessions'), join(root, 'outside'), join(root, 'user')]) {
    await mkdir(path, { recursive: true });
  }
  await writeFile(join(workspace, 'a.txt'), 'inside');
  await writeFile(join(root, 'outside', 'secret.txt'), 'OUTSIDE');
  await writeFile(join(home, 'config.json'), 'CONFIG');
  await writeFile(join(home, 'sessions', 'one.jsonl'), 'TAPE');
  return {
    root,
    home,
    workspace,
    guard: (options = {}) =>
      new PathGuard({
        paths: PATHS,
        workspace,
        home,
        readRoots: [],
        restrictToWorkspace: true,
        userHome: join(root, 'user'),
        ...options,
      }),
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  };
}

/** The text of a file, as the guard lets it be read. */
export async function readThrough(guard: PathGuard, path: string, use: PathUse = OWNER): Promise<string> {
  const { handle } = await guard.openForReading(path, use);
  try {
    return await handle.readFile('utf8');
  } finally {
    await handle.close();
  }
}
