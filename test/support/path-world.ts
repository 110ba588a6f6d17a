import { mkdir, realpath, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PathGuard, type PathGuardOptions } from '../../src/core/security/paths/open-inside.ts';
import type { PathAccess, PathCaller } from '../../src/core/security/paths/rules.ts';
import { openAllowed } from '../../src/core/files/access.ts';
import { listDirTool } from '../../src/extensions/files/list-dir.ts';
import { errorMessage } from '../../src/core/util/errors.ts';
import type { ToolContext } from '../../src/core/tools/tool.ts';
import { tempFolder } from './temp.ts';
import { PATHS } from './extensions.ts';
import { testToolContext } from './tool-context.ts';

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

/** A caller, and the real path that a person allowed for them. */
export interface PathUse extends PathCaller {
  readonly approved?: string;
}

/** The call of a tool by this caller. */
export function contextOf({
  role,
  chatType = null,
  who = null,
  taint,
  readRoots,
  roots,
  approved,
}: PathUse): ToolContext {
  const { untrusted } = taint;
  return testToolContext({
    role,
    chatType,
    who,
    taint: { untrusted, private: false },
    ...(readRoots === undefined ? {} : { readRoots }),
    ...(roots === undefined ? {} : { roots }),
    ...(approved === undefined ? {} : { approved }),
  });
}

/** What the guard says of a path: the real one, and why a person is asked or it is refused. */
export async function decide(
  guard: PathGuard,
  path: string,
  access: PathAccess,
  caller: PathCaller = OWNER,
): Promise<{ readonly decision: 'allow' | 'ask' | 'deny'; readonly path?: string; readonly reason?: string }> {
  try {
    using place = await guard.openInside(path, access, caller);
    return place.asks === null
      ? { decision: 'allow', path: place.path }
      : { decision: 'ask', path: place.path, reason: place.asks };
  } catch (error) {
    return { decision: 'deny', reason: errorMessage(error) };
  }
}

/** The text of a file, as a tool may read it. */
export async function readThrough(guard: PathGuard, path: string, use: PathUse = OWNER): Promise<string> {
  using place = await openAllowed(guard, { path, access: 'read' }, contextOf(use));
  await using handle = await place.open();
  return await handle.readFile('utf8');
}

/** Writes as a tool may. */
export async function writeTo(guard: PathGuard, path: string, text: string, use: PathUse = OWNER): Promise<void> {
  using place = await openAllowed(guard, { path, access: 'write' }, contextOf(use));
  await place.write(Buffer.from(text));
}

/** The lines of a folder, as a tool lists it. */
export async function listThrough(guard: PathGuard, path: string, use: PathUse = OWNER): Promise<readonly string[]> {
  const context = contextOf(use);
  const planned = await listDirTool(guard).plan({ path }, context);
  if ('denied' in planned) throw new Error(planned.denied);
  try {
    const { output } = await planned.run(context.signal);
    return output === '(the folder is empty)' ? [] : output.split('\n');
  } finally {
    await planned.close?.();
  }
}
