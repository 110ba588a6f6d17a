import { lstat, mkdir, open } from 'node:fs/promises';
import { join } from 'node:path';
import { AppError, errorCode } from '../../util/errors.ts';

const FILES = ['SOUL.md', 'AGENTS.md', 'USER.md', 'TOOLS.md', 'HEARTBEAT.md'];
const FOLDERS = ['memory', 'skills'];

export interface ProtectedPlaces {
  /** Files and folders that cannot be written. */
  readonly readOnly: readonly string[];
  /** The repository's folder, which cannot be moved away; undefined when `.git` is a file. */
  readonly repository: string | undefined;
}

/**
 * The protected places of a workspace, ready to be bound; `own`: further folders. What cannot be there yet cannot be mounted over, and a
 * command could then make it: so missing files are made empty and missing folders with them. A place that is a link cannot
 * be held and throws `sandbox-place`; so does one of the wrong kind.
 *
 * Of the workspace's own repository the hooks and an existing `config` (which can name hooks elsewhere) are held.
 * Repositories in folders below belong to the commands that made them.
 *
 * A file that is replaced by renaming another over it, while a command runs, loses its protection in that command (the
 * kernel drops mounts on the replaced name): change the files in place, or while no command runs. Folders have no such gap.
 */
export async function ensureProtectedPlaces(workspace: string, own: readonly string[]): Promise<ProtectedPlaces> {
  const git = join(workspace, '.git');
  const [files, folders, kind] = await Promise.all([
    Promise.all(FILES.map((name) => ensure(join(workspace, name), 'file'))),
    Promise.all([...FOLDERS, ...own].map((name) => ensure(join(workspace, name), 'folder'))),
    kindOf(git),
  ]);
  const paths = [...files, ...folders];
  // The `.git` of a linked work tree or a submodule is a file that says where the repository is.
  if (kind === 'file') return { readOnly: [...paths, git], repository: undefined };
  const repository = await ensure(git, 'folder');
  const hooks = await ensure(join(git, 'hooks'), 'folder');
  const config = join(git, 'config');
  const held = (await kindOf(config)) === undefined ? [] : [await ensure(config, 'file')];
  return { readOnly: [...paths, hooks, ...held], repository };
}

type Kind = 'file' | 'folder' | 'link' | 'other';

async function kindOf(path: string): Promise<Kind | undefined> {
  try {
    const facts = await lstat(path);
    if (facts.isSymbolicLink()) return 'link';
    if (facts.isDirectory()) return 'folder';
    return facts.isFile() ? 'file' : 'other';
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}

async function ensure(path: string, wanted: 'file' | 'folder'): Promise<string> {
  let kind = await kindOf(path);
  if (kind === undefined) {
    await make(path, wanted);
    kind = await kindOf(path);
  }
  if (kind === wanted) return path;
  const found = kind === 'link' ? 'a link' : kind === undefined ? 'gone again' : `a ${kind}`;
  throw new AppError(
    'sandbox-place',
    `${path} must be a ${wanted} so that the sandbox can protect it, but it is ${found}; put the ${wanted} itself there.`,
    { facts: { path } },
  );
}

async function make(path: string, wanted: 'file' | 'folder'): Promise<void> {
  try {
    if (wanted === 'folder') await mkdir(path, { mode: 0o700 });
    else await (await open(path, 'wx', 0o600)).close();
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') throw error;
  }
}
