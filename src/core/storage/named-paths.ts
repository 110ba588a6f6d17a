import { relative, resolve } from 'node:path';

/**
 * Whether a shell command runs inside one of these places (`cwd`), or one of its words names one, a file in one, or a
 * folder below `cwd` that holds one. All paths are absolute.
 */
export function namesPath(command: string, cwd: string, paths: readonly string[]): boolean {
  if (paths.some((place) => isWithin(place, cwd))) return true;
  return wordsOf(command).some((word) => {
    const path = pathOf(word, cwd);
    if (path === undefined) return false;
    const isBelow = path !== cwd && isWithin(cwd, path);
    return paths.some((place) => isWithin(place, path) || (isBelow && isWithin(path, place)));
  });
}

/** Whether a command that walks through folders (`grep -r`, `find`, `*\/`) starts above one of these places. */
export function walksInto(command: string, cwd: string, paths: readonly string[]): boolean {
  const holds = (path: string): boolean => paths.some((place) => isWithin(path, place));
  if (WALKS.test(command)) {
    return holds(cwd) || wordsOf(command).some((word) => holds(pathOf(word, cwd) ?? cwd));
  }
  return wordsOf(command).some((word) => DESCENDS.test(word) && holds(pathOf(word, cwd) ?? cwd));
}

/** Whether `path` is `folder` or lies below it. Both are absolute. */
export function isWithin(folder: string, path: string): boolean {
  const rest = relative(folder, path);
  return rest === '' || (rest !== '..' && !rest.startsWith('../'));
}

/** Programs, and options, that read all folders below the one they are given. */
const WALKS =
  /(?<![\w-])(?:find|fd|rg|ag|ack|tree|du|tar|zip|rsync|git\s+grep|(?:[efz]?grep|ls|cp|cat)\s(?:[^|;&\n]*\s)?(?:-[a-zA-Z]*[rR][a-zA-Z]*|--(?:dereference-)?recursive))(?!\w)/u;

/** A glob pattern that matches folders. */
const DESCENDS = /[*?[][^/]*\//u;

function wordsOf(command: string): readonly string[] {
  return command.split(/[\s'"`;|&<>()$={},:]+/u);
}

/** The absolute path of a word up to its first glob pattern; undefined when nothing is left or it cannot be a path. */
function pathOf(word: string, cwd: string): string | undefined {
  const fixed = word.replace(/[^/]*[*?[].*$/u, '');
  return fixed === '' || fixed.includes('\0') ? undefined : resolve(cwd, fixed);
}

/** Whether a relative path that comes from elsewhere stays below the folder that it's joined to. */
export function isBelow(path: string): boolean {
  return path.split('/').every((part) => part !== '' && part !== '.' && part !== '..' && !/[\\\0]/u.test(part));
}
