import type { Headers } from 'tar-stream';
import { isBelow } from '../core/security/paths/names.ts';
import { AppError } from '../core/util/errors.ts';
import { HOME_FOLDER, MANIFEST } from './manifest.ts';

/** What an entry of an archive is: a file or folder of the home, by its path in it, or the archive's own description. */
export type Entry =
  | { readonly type: 'file' | 'folder'; readonly path: string; readonly mode: number; readonly modifiedAt: Date }
  | { readonly type: 'manifest' };

/** Reads the header of an entry. Throws `backup-unsafe` if the entry, or a later one through it, would be written outside of the home. */
export function readEntry({ name, type, mode, mtime }: Headers): Entry {
  if (name === MANIFEST && type === 'file') return { type: 'manifest' };
  const isFolder = type === 'directory';
  const path = name.startsWith(HOME_FOLDER) ? name.slice(HOME_FOLDER.length).replace(/\/$/u, '') : '';
  // A link could lead a file that comes after it out of the home; a backup has no devices and pipes.
  if (!isFolder && type !== 'file') throw unsafe(name);
  if (!isBelow(path)) throw unsafe(name);
  return {
    type: isFolder ? 'folder' : 'file',
    path,
    mode: (mode ?? (isFolder ? 0o700 : 0o600)) & 0o777,
    modifiedAt: mtime ?? new Date(0),
  };
}

function unsafe(name: string): AppError {
  return new AppError(
    'backup-unsafe',
    `The backup has an entry that a backup never has (${JSON.stringify(name.slice(0, 200))}), so nothing of it was used. Use a file that the command backup made.`,
  );
}
