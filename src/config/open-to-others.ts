import { stat } from 'node:fs/promises';
import { collectSecrets } from './secrets.ts';

const MAY_WRITE = 0o022;
const MAY_READ = 0o044;

/**
 * What other users of this machine may do with the configuration file, one sentence with the command that ends it. That
 * they may read it is only told when a key stands in it. `written`: the file's values as they stand there.
 */
export async function openToOthers(path: string, written: unknown): Promise<readonly string[]> {
  // Windows has no such modes.
  if (process.platform === 'win32') return [];
  const mode = (await stat(path).catch(() => undefined))?.mode ?? 0;
  const remedy = `Run: chmod 600 ${shellWord(path)}`;
  const shown = (mode & 0o777).toString(8);
  if ((mode & MAY_WRITE) !== 0) {
    return [
      `${path} may be changed by other users of this machine (mode ${shown}): whoever changes it runs commands as you. ${remedy}`,
    ];
  }
  if ((mode & MAY_READ) === 0 || !holdsKeys(written)) return [];
  return [`${path} holds keys and may be read by other users of this machine (mode ${shown}). ${remedy}`];
}

/** Whether a key itself stands there; a variable's or a file's name is none. */
function holdsKeys(written: unknown): boolean {
  return collectSecrets(written, {}, []).some((value) => !/\$\{\w+\}/u.test(value));
}

function shellWord(text: string): string {
  return /^[\w./@+-]+$/u.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
