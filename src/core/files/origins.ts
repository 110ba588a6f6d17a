import type { UntrustedFiles } from '../storage/untrusted-files.ts';
import type { ToolResult } from '../tools/tool.ts';

/** Where untrusted text of files, and untrusted names of files, come from. */
export const TEXT_SOURCE = 'a file that others helped to write';
export const NAMES_SOURCE = 'file names that others chose';

/** Which files strangers had a part in. */
export type FileOrigins = Pick<
  UntrustedFiles,
  'mark' | 'holds' | 'holdsFolder' | 'holdsUnder' | 'knowsName' | 'isNamedIn' | 'during'
>;

export type ResultBits = Pick<ToolResult, 'untrusted' | 'private'>;

/** A file as it was read. `saved`: what is on the disk where an editor shows something else. */
type ReadFile = Parameters<FileOrigins['holds']>[0] & { readonly saved?: Uint8Array };

/** Whether strangers had a part in a file, on the disk or in the editor. Without origins nothing is known of them. */
export async function holdsStrangers(origins: FileOrigins | undefined, file: ReadFile): Promise<boolean> {
  if (origins === undefined) return false;
  const { saved, ...shown } = file;
  if (await origins.holds(shown)) return true;
  return saved !== undefined && (await origins.holds({ path: file.path, stat: file.stat, bytes: saved }));
}

/**
 * The bits of a result that shows something of files (`shown`), and names what is in folders, by their real paths. Files that
 * tools may read are private to the owner.
 */
export async function bitsOf(
  origins: FileOrigins | undefined,
  {
    shown = [],
    names = [],
    folders = [],
  }: {
    readonly shown?: readonly ReadFile[];
    readonly names?: readonly string[];
    readonly folders?: Iterable<string>;
  },
): Promise<ResultBits> {
  const theirs: ResultBits = { private: true, untrusted: true };
  for (const file of shown) if (await holdsStrangers(origins, file)) return theirs;
  if (names.length > 0 && (await origins?.knowsName(names)) === true) return theirs;
  for (const folder of folders) if ((await origins?.holdsFolder(folder)) === true) return theirs;
  return { private: true };
}
