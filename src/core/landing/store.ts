import { mkdirSync, mkdtempSync, renameSync, rmdirSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { createHash } from 'node:crypto';
import { statAt } from './tree.ts';

/**
 * Where views and undo copies can be: in the home, or beside a workspace that is on another mount. They must be on the
 * workspace's mount, because everything only ever moves.
 */
function storeFolders(home: string, workspace: string): readonly [inHome: string, beside: string] {
  const name = createHash('sha256').update(home).digest('hex').slice(0, 8);
  return [join(home, 'landings'), join(dirname(workspace), `.assistant-landings-${name}`)];
}

/** Those of them that exist. */
export const existingStores = (home: string, workspace: string): readonly string[] =>
  storeFolders(home, workspace).filter((folder) => statAt(folder)?.isDirectory() === true);

/** The store of this workspace, made where it's missing; undefined: nothing can be moved from either place into the workspace. */
export function findStore(home: string, workspace: string): string | undefined {
  return storeFolders(home, workspace).find((folder) => {
    const existed = statAt(folder) !== undefined;
    if (movesInto(workspace, folder)) return true;
    if (!existed) rmSync(folder, { recursive: true, force: true });
    return false;
  });
}

function movesInto(workspace: string, folder: string): boolean {
  let probe: string | undefined;
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    if (statAt(folder)?.isDirectory() !== true) return false;
    probe = mkdtempSync(join(folder, 'probe-'));
    const inside = join(workspace, `.${basename(probe)}`);
    renameSync(probe, inside);
    rmdirSync(inside);
    return true;
  } catch {
    if (probe !== undefined) rmSync(probe, { recursive: true, force: true });
    return false;
  }
}
