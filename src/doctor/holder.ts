import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { isAlive, readName } from '../core/storage/lock.ts';

/** A process that has a home, as far as that can be seen without touching its lock. */
export interface Holder {
  /** Null: the system does not say. */
  readonly pid: number | null;
}

/**
 * Who holds the lock of a home, read from the kernel's list: taking the lock to see would keep an assistant from starting.
 * Where the system has no such list, the process whose name is left beside the lock counts if it lives. Null: no one.
 */
export function findHolder(
  lock: string,
  { root, hostname }: { readonly root: string; readonly hostname: string },
): Holder | null {
  const file = statSync(lock, { throwIfNoEntry: false });
  if (file === undefined) return null;
  const list = readList(join(root, 'proc/locks'));
  if (list !== null) {
    const held = list
      .split('\n')
      .find((line) => new RegExp(String.raw`\s[0-9a-f]+:[0-9a-f]+:${file.ino}\s`, 'u').test(line));
    if (held === undefined) return null;
    const pid = Number(/(?:READ|WRITE)\s+(-?\d+)\s/u.exec(held)?.[1]);
    return { pid: pid > 0 ? pid : null };
  }
  const name = readName(lock);
  return name !== undefined && name.hostname === hostname && isAlive(name.pid) ? { pid: name.pid } : null;
}

function readList(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}
