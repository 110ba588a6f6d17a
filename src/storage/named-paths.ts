import { relative, resolve } from 'node:path';

/**
 * Whether a command that runs in `cwd` runs in one of these places, or has a word for one, for what lies in it, or for
 * a folder below `cwd` that holds it. All paths are absolute.
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

/** Whether a command that walks through folders starts in one that holds one of these places, without naming it. */
export function comesBy(command: string, cwd: string, paths: readonly string[]): boolean {
  const holds = (path: string): boolean => paths.some((place) => isWithin(path, place));
  if (WALKS.test(command)) {
    return holds(cwd) || wordsOf(command).some((word) => holds(pathOf(word, cwd) ?? cwd));
  }
  return wordsOf(command).some((word) => DESCENDS.test(word) && holds(pathOf(word, cwd) ?? cwd));
}

/** Both are absolute. */
export function isWithin(folder: string, path: string): boolean {
  const rest = relative(folder, path);
  return rest === '' || (rest !== '..' && !rest.startsWith('../'));
}

/** Programs that go into the folders below the one they are given. */
const WALKS =
  /(?<![\w-])(?:find|fd|rg|ag|ack|tree|du|tar|zip|rsync|git\s+grep|(?:[efz]?grep|ls|cp|cat)\s(?:[^|;&\n]*\s)?(?:-[a-zA-Z]*[rR][a-zA-Z]*|--(?:dereference-)?recursive))(?!\w)/u;

/** A pattern that stands for names of folders too. */
const DESCENDS = /[*?[][^/]*\//u;

function wordsOf(command: string): readonly string[] {
  return command.split(/[\s'"`;|&<>()$={},:]+/u);
}

/** What of a word is no pattern, from `cwd`; undefined when nothing is left, or no file can be called so. */
function pathOf(word: string, cwd: string): string | undefined {
  const fixed = word.replace(/[^/]*[*?[].*$/u, '');
  return fixed === '' || fixed.includes('\0') ? undefined : resolve(cwd, fixed);
}
