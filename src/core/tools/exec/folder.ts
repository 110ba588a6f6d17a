import { realpath, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { within } from '../../security/paths/rules.ts';
import { escapeControlChars } from '../../security/text/control-characters.ts';
import { AppError } from '../../util/errors.ts';

/** The real path of a folder in the workspace. Throws a sentence for any other. */
export async function folderOf(workspace: string, cwd: string | undefined): Promise<string> {
  const place = await findFolder(workspace, cwd);
  if ('problem' in place) throw new AppError('exec-folder', place.problem);
  return place.folder;
}

/** The real path of a folder in the workspace; a sentence for any other. */
export async function findFolder(
  workspace: string,
  cwd = '.',
): Promise<{ readonly folder: string } | { readonly problem: string }> {
  const root = await realFolder(workspace);
  if (root === undefined) return { problem: `The workspace ${workspace} is not there; create it to run commands.` };
  const folder = await realFolder(resolve(root, cwd));
  if (folder === undefined) return { problem: `There is no folder ${escapeControlChars(cwd)} to run a command in.` };
  if (within(root, folder)) return { folder };
  return { problem: `${escapeControlChars(cwd)} is outside the workspace; commands start only inside it.` };
}

async function realFolder(path: string): Promise<string | undefined> {
  try {
    const real = await realpath(path);
    return (await stat(real)).isDirectory() ? real : undefined;
  } catch {
    return undefined;
  }
}
