import { within } from '../security/path-rules.ts';
import { namesPath, type UntrustedFiles } from '../storage/untrusted-files.ts';
import type { ToolResult } from './tool.ts';

/** Which files strangers had a part in. */
export type FileOrigins = Pick<UntrustedFiles, 'mark' | 'holds' | 'holdsFolder' | 'knowsName' | 'isNamedIn' | 'during'>;

export type ResultBits = Pick<ToolResult, 'untrusted' | 'private'>;

/** Whatever lies where tools may read is the owner's. */
const OWNERS: ResultBits = { private: true };

/** The same, where whatever lies in some more folders is by strangers too. `folders`: real paths. */
export function withFolders(origins: FileOrigins, folders: () => Promise<readonly string[]>): FileOrigins {
  const isIn = async (path: string): Promise<boolean> => (await folders()).some((folder) => within(folder, path));
  return {
    mark: (name, bytes) => origins.mark(name, bytes),
    holds: async (file) => (await origins.holds(file)) || (await isIn(file.path)),
    holdsFolder: async (path) => (await origins.holdsFolder(path)) || (await isIn(path)),
    knowsName: (names) => origins.knowsName(names),
    isNamedIn: async (command, cwd) =>
      (await origins.isNamedIn(command, cwd)) || (cwd !== undefined && namesPath(command, cwd, await folders())),
    during: (work) => origins.during(work),
  };
}

/** The bits of a result that shows something of a file. Without origins nothing is known of strangers. */
export async function bitsOfFile(
  origins: FileOrigins | undefined,
  file: Parameters<FileOrigins['holds']>[0],
): Promise<ResultBits> {
  return (await origins?.holds(file)) === true ? { ...OWNERS, untrusted: true } : OWNERS;
}

/** The bits of a result that names what is in a folder. */
export async function bitsOfFolder(
  origins: FileOrigins | undefined,
  folder: { readonly path: string; readonly names: readonly string[] },
): Promise<ResultBits> {
  if (origins === undefined) return OWNERS;
  const isUntrusted = (await origins.holdsFolder(folder.path)) || (await origins.knowsName(folder.names));
  return isUntrusted ? { ...OWNERS, untrusted: true } : OWNERS;
}
