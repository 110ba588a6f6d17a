import { mkdirSync, mkdtempSync, renameSync, rmdirSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { createHash } from 'node:crypto';
import { statAt } from './tree.ts';

/**
 * Where views and undo copies can be: in the home, or beside a workspace that is on another mount. A landing only renames, so
 * the store must be on the workspace's mount.
 */
function storeFolders(home: string, workspace: string): readonly [inHome: string, beside: string] {
  const name = createHash('sha256').update(home).digest('hex').slice(0, 8);
  return [join(home, 'landings'), join(dirname(workspace), `.assistant-landings-${name}`)];
}

/** The stores that exist. */
export const existingStores = (home: string, workspace: string): readonly string[] =>
  storeFolders(home, workspace).filter((folder) => statAt(folder)?.isDirectory() === true);

/** The workspace's store, created if needed; undefined: no rename from either place into the workspace works. */
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
