import { closeSync, openSync } from 'node:fs';
import { errorCode } from '../util/errors.ts';

const FULL: ReadonlySet<string | undefined> = new Set(['EMFILE', 'ENFILE']);

/**
 * What to do when this process, or the machine, has as many files open as it may; null: it may open more. Ask after a failure:
 * SQLite only says that it could not open the file.
 */
export function openFilesSentence(): string | null {
  try {
    closeSync(openSync(process.execPath, 'r'));
    return null;
  } catch (error) {
    if (!FULL.has(errorCode(error))) return null;
    return 'No more files may be open in this process: raise the limit (ulimit -n 65536, or LimitNOFILE=65536 in its service).';
  }
}
