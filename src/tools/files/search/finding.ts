import { harmless } from '../../../security/text/untrusted.ts';
import type { FindTask } from './find-task.ts';

/** Whatever comes after so many names is not looked at. */
export const MOST_ENTRIES = 500_000;
/** Folders that are listed, and not entered below the folder that was named. */
export const NOT_ENTERED: ReadonlySet<string> = new Set(['.git', 'node_modules']);

export interface FindPorts {
  /** Milliseconds since it began. */
  readonly elapsed: () => number;
  /** Told after each file how many there were. */
  readonly progress: (searched: number) => void;
}

/** Whoever made a file chose its name; it stays on its line. */
export function shownName({ prefix }: Pick<FindTask, 'prefix'>, { below }: { readonly below: string }): string {
  return harmless(`${prefix}${below}`).replaceAll(/[\r\n]/gu, '␊');
}
