import { basename, dirname } from 'node:path';
import { within } from '../../security/paths/rules.ts';
import { walksInto, namesPath } from '../../storage/named-paths.ts';
import type { UntrustedFiles } from '../../storage/untrusted-files.ts';
import type { ToolResult } from '../tool.ts';

/** Where untrusted text of files, and untrusted names of files, come from. */
export const TEXT_SOURCE = 'a file that others helped to write';
export const NAMES_SOURCE = 'file names that others chose';

/** Which files strangers had a part in. */
export type FileOrigins = Pick<
  UntrustedFiles,
  'mark' | 'holds' | 'holdsFolder' | 'holdsUnder' | 'knowsName' | 'isNamedIn' | 'during'
>;

export type ResultBits = Pick<ToolResult, 'untrusted' | 'private'>;

/** The default mark: files that tools may read are private to the owner. */
const OWNERS: ResultBits = { private: true };

/** The same origins, with files in further folders counting as untrusted too. `folders`: real paths. */
export function withFolders(origins: FileOrigins, folders: () => Promise<readonly string[]>): FileOrigins {
  const isIn = async (path: string): Promise<boolean> => (await folders()).some((folder) => within(folder, path));
  return {
    mark: (name, bytes) => origins.mark(name, bytes),
    holds: async (file) => (await origins.holds(file)) || (await isIn(file.path)),
    holdsFolder: async (path) => (await origins.holdsFolder(path)) || (await isIn(path)),
    holdsUnder: async (root) =>
      (await origins.holdsUnder(root)) ||
      (await folders()).some((folder) => within(root, folder) || within(folder, root)),
    knowsName: (names) => origins.knowsName(names),
    isNamedIn: async (command, cwd) => {
      if (await origins.isNamedIn(command, cwd)) return true;
      if (cwd === undefined) return false;
      const places = await folders();
      return namesPath(command, cwd, places) || walksInto(command, cwd, places);
    },
    during: (work) => origins.during(work),
  };
}

/** A file as it was read. `saved`: what is on the disk where an editor shows something else. */
type ReadFile = Parameters<FileOrigins['holds']>[0] & { readonly saved?: Uint8Array };

/** Whether strangers had a part in a file, on the disk or in the editor. Without origins nothing is known of them. */
export async function holdsStrangers(origins: FileOrigins | undefined, file: ReadFile): Promise<boolean> {
  if (origins === undefined) return false;
  const { saved, ...shown } = file;
  if (await origins.holds(shown)) return true;
  return saved !== undefined && (await origins.holds({ path: file.path, stat: file.stat, bytes: saved }));
}

/** The bits of a result that shows something of a file. Without origins nothing is known of strangers. */
export async function bitsOfFile(origins: FileOrigins | undefined, file: ReadFile): Promise<ResultBits> {
  return (await holdsStrangers(origins, file)) ? { ...OWNERS, untrusted: true } : OWNERS;
}

/** The bits of a result that names what is in some folders, by their real paths. */
export async function bitsOfFolders(
  origins: FileOrigins | undefined,
  { folders, names }: { readonly folders: readonly string[]; readonly names: readonly string[] },
): Promise<ResultBits> {
  if (origins === undefined) return OWNERS;
  const isUntrusted =
    (await origins.knowsName(names)) || (await anyOf(folders, (folder) => origins.holdsFolder(folder)));
  return isUntrusted ? { ...OWNERS, untrusted: true } : OWNERS;
}

/** The bits of a result that names files, by their real paths, and shows something of some of them. */
export async function bitsOfFiles(
  origins: FileOrigins | undefined,
  { paths, shown }: { readonly paths: readonly string[]; readonly shown: readonly ReadFile[] },
): Promise<ResultBits> {
  if (origins !== undefined && (await anyOf(shown, (file) => holdsStrangers(origins, file))))
    return { ...OWNERS, untrusted: true };
  const folders = [...new Set(paths.map((path) => dirname(path)))];
  return await bitsOfFolders(origins, { folders, names: paths.map((path) => basename(path)) });
}

async function anyOf<T>(items: readonly T[], is: (item: T) => Promise<boolean>): Promise<boolean> {
  for (const item of items) if (await is(item)) return true;
  return false;
}
