import { createHash } from 'node:crypto';
import { join } from 'node:path';

/** Longest readable part of a name. */
const LONGEST = 60;

/** Where in `root` the files of one session lie; the folder need not exist. No two sessions share one. */
export function sessionFolder(root: string, sessionKey: string): string {
  const hash = createHash('sha256').update(Buffer.from(sessionKey, 'utf16le')).digest('hex').slice(0, 16);
  return join(root, `${fileName(sessionKey)}-${hash}`);
}

/** A text as a plain name, not always a different one for a different text. */
export function fileName(text: string): string {
  return (
    text
      .toLowerCase()
      .replaceAll(/[^a-z0-9._-]/gu, '_')
      .replace(/^\.+/u, '_')
      .slice(0, LONGEST) || '_'
  );
}
