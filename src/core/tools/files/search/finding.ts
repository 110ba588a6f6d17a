import { harmless } from '../../../security/text/untrusted.ts';
import type { ReadIgnoreRules } from '../../../security/paths/ignored.ts';
import type { FindTask } from './find-task.ts';
import { gitIgnoreRules } from './git-ignore.ts';

/** A search ends after this many files and folders. */
export const MOST_ENTRIES = 500_000;
/** Folders that are listed, and not entered below the folder that was named. */
export const NOT_ENTERED: ReadonlySet<string> = new Set(['.git', 'node_modules']);

export interface SearchProgress {
  /** Milliseconds since it began. */
  readonly elapsed: () => number;
  /** Told after each file how many there were. */
  readonly progress: (searched: number) => void;
}

/** A file name as it is shown. It is untrusted, so it must not break its line. */
export function shownName({ prefix }: Pick<FindTask, 'prefix'>, { below }: { readonly below: string }): string {
  return harmless(`${prefix}${below}`).replaceAll(/[\r\n]/gu, '␊');
}

/** How the search reads `.gitignore`; undefined when the model wants to see everything. */
export function ignoreRulesFor({ ignored }: Pick<FindTask, 'ignored'>): ReadIgnoreRules | undefined {
  return ignored ? undefined : gitIgnoreRules;
}
