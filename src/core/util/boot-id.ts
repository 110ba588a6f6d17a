import { readFileSync } from 'node:fs';

/** The kernel's id of this boot of the machine; null where the system has none. */
export function bootId(): string | null {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return null;
  }
}
