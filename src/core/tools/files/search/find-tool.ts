import { isAbsolute, relative, sep } from 'node:path';
import * as z from 'zod';
import { within } from '../../../security/paths/rules.ts';
import type { Inside, PathGuard } from '../../../security/paths/open-inside.ts';
import { plural } from '../../../util/text.ts';
import { callerOf } from '../access.ts';
import { bitsOfFiles, type FileOrigins } from '../taint.ts';
import type { ToolContext, ToolResult } from '../../tool.ts';
import type { FindFiles, FoundFiles } from './find.ts';
import { LONGEST_LINE } from './text-lines.ts';
import type { WalkBase } from './walk.ts';

/** The parameter of both tools that shows what git ignores. */
export const IGNORED = z.boolean().optional().describe('True finds what .gitignore names too. Default: false.');

export interface FindToolOptions {
  readonly guard: PathGuard;
  readonly find: FindFiles;
  /** Characters of one page. */
  readonly pageChars: number;
  /** @default nothing is known of strangers */
  readonly origins?: FileOrigins;
}

/** Where a search begins, and how its files are called so that other tools find them. Throws a sentence. */
export async function searchBaseOf(
  guard: PathGuard,
  { pinned }: Inside,
  context: ToolContext,
): Promise<{ readonly base: WalkBase; readonly prefix: string }> {
  const caller = callerOf(context);
  const roots = await guard.rootsFor(caller);
  const { untrusted } = caller.taint;
  const isFolder = pinned.stat.isDirectory();
  const base = {
    path: pinned.path,
    isFolder,
    rules: { access: 'read', caller: { ...caller, taint: { untrusted } }, roots },
  } as const;
  const name = within(roots.workspace, base.path) ? relative(roots.workspace, base.path) : base.path;
  const isWhole = !isFolder || name === '' || name.endsWith(sep);
  return { base, prefix: isWhole ? name : `${name}/` };
}

/** Where a search with a pattern of files begins: at `path`, else in the folder before an absolute pattern's first wildcard. */
export function placeOf(pattern: string | undefined, path: string | undefined): string {
  if (path !== undefined || pattern === undefined || !isAbsolute(pattern)) return path ?? '.';
  return /^[^*?[{\\]*\//u.exec(pattern)?.[0] ?? '/';
}

/** The pattern for a search that begins in the folder of `placeOf`. */
export function patternIn(pattern: string, path: string | undefined): string {
  if (path !== undefined || !isAbsolute(pattern)) return pattern;
  const rest = pattern.slice(placeOf(pattern, path).length);
  return rest === '' ? pattern : `./${rest}`;
}

/** What was found as a result, with the marks of strangers' names and words. `what`: one of the results. */
export async function foundResult(
  found: FoundFiles,
  { title, what, origins }: { title: string; what: string; origins: FileOrigins | undefined },
): Promise<ToolResult> {
  const { text, shown, results, searched, next } = found;
  const bits = await bitsOfFiles(origins, {
    paths: shown.map(({ path }) => path),
    shown: shown
      .filter(({ isQuoted }) => isQuoted)
      .map(({ path, hash, ctimeMs }) => ({ path, hash, stat: { ctimeMs } })),
  });
  const notes = notesOn(found, what);
  const body = results === 0 ? `No ${what} in ${plural(searched, 'file')}.` : text;
  return {
    title,
    output: [body, ...notes].join('\n\n'),
    metadata: { found: results, searched, truncated: next !== null },
    ...bits,
  };
}

function notesOn({ next, closed, ignored, results, binary, beginnings, ended }: FoundFiles, what: string): string[] {
  return [
    ...(results > 0 || binary === 0 ? [] : [`(${plural(binary, 'binary file')} among them, not searched)`]),
    ...(beginnings === 0
      ? []
      : [
          `(${plural(beginnings, 'file')} with a line longer than ${LONGEST_LINE / 1024 / 1024} MB: only the beginning of that line was searched)`,
        ]),
    ...(next === null ? [] : [`(there are more; continue at offset ${next})`]),
    ...(closed === 0
      ? []
      : [
          `(${plural(closed, 'file or folder', 'files or folders')} left out: the owner would have to approve them, or they cannot be opened)`,
        ]),
    ...(ignored === 0
      ? []
      : [
          `(${plural(ignored, 'file or folder', 'files or folders')} left out that git ignores; see with ignored: true)`,
        ]),
    ...(ended === 'time' ? [`(there was no time to look at everything; a smaller path finds every ${what})`] : []),
    ...(ended === 'entries' ? [`(there are too many files to look at all; a smaller path finds every ${what})`] : []),
  ];
}
