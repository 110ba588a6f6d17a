import { harmless } from '../../../security/text/untrusted.ts';
import type { FindTask, FoundFiles, GlobTask, ShownFile } from './find.ts';
import { globMatcher } from './glob-pattern.ts';
import { newLeftOut, walkFiles } from './walk.ts';

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

interface Match {
  readonly name: string;
  readonly path: string;
  readonly mtimeMs: number;
  readonly ctimeMs: number;
}

/** Files by their names, those that changed last first. */
export async function globFiles(task: GlobTask, { elapsed, progress }: SearchProgress): Promise<FoundFiles> {
  const matches = globMatcher(task.pattern, task.base.path);
  const left = newLeftOut();
  const found: Match[] = [];
  let searched = 0;
  const want = (below: string): 'yes' | 'no' | 'stop' => {
    if (elapsed() > task.budgetMs) return 'stop';
    searched += 1;
    progress(searched);
    return matches(below) ? 'yes' : 'no';
  };
  for await (const file of walkFiles(task.base, { want, ignored: task.ignored }, left)) {
    const { mtimeMs, ctimeMs } = file.look() ?? {};
    if (mtimeMs === undefined || ctimeMs === undefined) continue;
    found.push({ name: shownName(task, file), path: file.path, mtimeMs, ctimeMs });
  }
  const ended = left.ended === 'stopped' ? 'time' : left.ended;
  const sorted = found.toSorted((a, b) => b.mtimeMs - a.mtimeMs || (a.name < b.name ? -1 : 1));
  return {
    ...page(sorted, task),
    searched,
    closed: left.closed,
    ignored: left.ignored,
    binary: 0,
    beginnings: 0,
    ended,
  };
}

function page(
  sorted: readonly Match[],
  { offset, limit, pageChars }: GlobTask,
): Pick<FoundFiles, 'text' | 'shown' | 'results' | 'next'> {
  const lines: string[] = [];
  const shown: ShownFile[] = [];
  let used = 0;
  for (const { name, path, ctimeMs } of sorted.slice(offset, offset + limit)) {
    used += name.length + 1;
    if (used > pageChars && lines.length > 0) break;
    lines.push(name);
    shown.push({ path, hash: null, isQuoted: false, ctimeMs });
  }
  const next = offset + lines.length;
  return { text: lines.join('\n'), shown, results: lines.length, next: next < sorted.length ? next : null };
}
