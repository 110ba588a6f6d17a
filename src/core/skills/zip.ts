import { unzipSync } from 'fflate';
import { AppError, errorMessage } from '../util/errors.ts';
import { oneLine } from '../util/text.ts';
import type { PlanFile } from './install.ts';

const MOST_FILES = 500;
/** Bytes of all files, unpacked. */
const MOST_BYTES = 56 * 1024 * 1024;
const NOT_COPIED = /(?:^|\/)(?:__MACOSX|\.git|\.DS_Store)(?:\/|$)/u;
const END = 0x06_05_4b_50;
const ENTRY = 0x02_01_4b_50;
const LINK = 0o120_000;
const TYPE = 0o170_000;

/**
 * The files of a zip archive that holds a skill, or the folder of one, in memory. Throws `skill-refused` with one
 * sentence for an archive that is broken, too large, has links, or names a place outside of its own folder.
 */
export function unzipSkill(bytes: Uint8Array): { readonly folderName: string; readonly files: readonly PlanFile[] } {
  const modes = modesOf(bytes);
  let size = 0;
  let count = 0;
  const seen = new Set<string>();
  let unpacked: Record<string, Uint8Array>;
  try {
    // It stops at the size that the archive declares, so that a file cannot unpack to more.
    unpacked = unzipSync(bytes, {
      filter: ({ name, originalSize }) => {
        if (name.endsWith('/') || NOT_COPIED.test(name)) return false;
        requireInside(name);
        if (((modes.get(name) ?? 0) & TYPE) === LINK) throw refusal(`${shown(name)} is a link.`);
        if (seen.has(name.toLowerCase())) throw refusal(`${shown(name)} is in it twice.`);
        seen.add(name.toLowerCase());
        size += originalSize;
        count += 1;
        if (size > MOST_BYTES) throw refusal(`It unpacks to more than ${MOST_BYTES / 1024 / 1024} MB.`);
        if (count > MOST_FILES) throw refusal(`It has more than ${MOST_FILES} files.`);
        return true;
      },
    });
  } catch (error) {
    if (error instanceof AppError) throw error;
    throw refusal(`It cannot be read as a zip archive (${oneLine(errorMessage(error), 100)}).`);
  }
  const files = Object.entries(unpacked).map(([path, content]) => ({
    path,
    bytes: content,
    executable: ((modes.get(path) ?? 0) & 0o100) !== 0,
  }));
  return withoutCommonFolder(files);
}

/** A zip of a folder names the folder in front of each file. */
function withoutCommonFolder(files: readonly PlanFile[]): { folderName: string; files: readonly PlanFile[] } {
  const [first = ''] = files[0]?.path.split('/') ?? [];
  const isCommon = files.every(({ path }) => path.startsWith(`${first}/`));
  if (!isCommon) return { folderName: 'skill', files };
  return { folderName: first, files: files.map((file) => ({ ...file, path: file.path.slice(first.length + 1) })) };
}

function requireInside(name: string): void {
  const parts = name.split('/');
  const isOdd = /[\u0000-\u001f\\:]/u.test(name) || parts.some((part) => part === '' || part === '.' || part === '..');
  if (isOdd) throw refusal(`${shown(name)} is not a place inside of its folder.`);
}

/** The modes that the archive's directory gives its files, by name; archives not made on Unix have none. */
function modesOf(bytes: Uint8Array): ReadonlyMap<string, number> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const modes = new Map<string, number>();
  let end = bytes.length - 22;
  while (end >= 0 && view.getUint32(end, true) !== END) end -= 1;
  if (end < 0) return modes;
  let at = view.getUint32(end + 16, true);
  while (at + 46 <= bytes.length && view.getUint32(at, true) === ENTRY) {
    const [name, extra, comment] = [28, 30, 32].map((offset) => view.getUint16(at + offset, true));
    const length = name ?? 0;
    modes.set(
      Buffer.from(bytes.subarray(at + 46, at + 46 + length)).toString('utf8'),
      view.getUint32(at + 38, true) >>> 16,
    );
    at += 46 + length + (extra ?? 0) + (comment ?? 0);
  }
  return modes;
}

function shown(name: string): string {
  return JSON.stringify(oneLine(name, 80));
}

function refusal(why: string): AppError {
  return new AppError('skill-refused', `This archive is not taken: ${why}`);
}
