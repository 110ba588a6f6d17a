import { posix } from 'node:path';
import { folded, START_NAMES, startKind } from '../../path-names.ts';
import { homeNames } from '../../path-rules.ts';
import { ANY, isUndecided, patternOf, STAR, UNKNOWN } from '../marks.ts';
import type { Simple } from '../rules.ts';
import type { Scope } from '../scope.ts';
import { HOME, START } from '../targets.ts';
import { outside, type CommandPlace, type Concern } from './concern.ts';

/** What a program with these arguments would do to places outside its folder. */
export function placeConcerns({ name, args, directories }: Simple, code: string, scope: Scope): Concern[] {
  const { place } = scope.shared;
  const absolute = (path: string): string[] => directories.map((directory) => posix.resolve(directory, path));
  const written = writtenBy(name, args).flatMap(absolute).flatMap(writtenConcern);
  const named = SPEAKS.has(name)
    ? []
    : [...args.flatMap((arg) => arg.split(/[=:,]/u, MOST_PIECES)), ...quotedIn(code)].flatMap(absolute);
  const recursive = RECURSIVE.has(name) && args.some((arg) => /^--recursive$|^-[a-zA-Z]*R/u.test(arg));
  const changed = recursive ? operands(args).slice(1).flatMap(absolute) : [];
  return [
    ...written,
    ...ownStateConcern(named, place),
    ...(changed.some((path) => !isInside(path, place))
      ? [outside(`it changes the rights of what lies outside the workspace (\`${name} -R\`)`)]
      : []),
  ];
}

/** Texts in the code of another language that may be paths. */
function quotedIn(code: string): readonly string[] {
  return Array.from(code.matchAll(/(["'`])([~/.][^"'`\n]{1,1000})\1/gu), ([, , text = '']) => text)
    .slice(0, MOST_PIECES)
    .map((text) => text.replace(/^~(?=\/)/u, HOME));
}

/** The same for a file that a redirection reads or writes. */
export function redirectConcerns(path: string, writes: boolean, place: CommandPlace): Concern[] {
  return [...(writes ? writtenConcern(path) : []), ...ownStateConcern([path], place)];
}

/** Only print their words. */
const MOST_PIECES = 64;
const SPEAKS = new Set(['echo', 'printf']);
const RECURSIVE = new Set(['chmod', 'chown', 'chgrp', 'setfacl']);
/** All operands are written, or taken away. */
const WRITES_ALL = new Set(['tee', 'truncate', 'shred', 'rm', 'unlink', 'mkdir']);
const COPIES = new Set(['cp', 'mv', 'install', 'ln', 'rsync', 'scp']);
const WRITES = new Set([...WRITES_ALL, ...COPIES, 'dd', 'sed', 'perl', 'curl', 'wget']);

/** Files that a program writes, as far as its arguments say. */
function writtenBy(name: string, args: readonly string[]): readonly string[] {
  if (!WRITES.has(name)) return [];
  const words = operands(args);
  const into = args.flatMap((arg, i) => {
    const long = /^--(?:output|output-document|target-directory|directory-prefix)=(.*)$/su.exec(arg)?.[1];
    return (
      long ?? (/^(?:-o|-O|-t|-P|--output|--output-document|--target-directory)$/u.test(args[i - 1] ?? '') ? arg : [])
    );
  });
  if (WRITES_ALL.has(name)) return words;
  if (COPIES.has(name)) {
    const [target, sources] = into[0] === undefined ? [words.at(-1) ?? '', words.slice(0, -1)] : [into[0], words];
    return [target, ...sources.map((source) => `${target}/${posix.basename(source)}`)];
  }
  if (name === 'dd') return args.filter((arg) => arg.startsWith('of=')).map((arg) => arg.slice(3));
  if (name === 'sed' || name === 'perl') return args.some((arg) => /^-[a-zA-Z]*i|^--in-place/u.test(arg)) ? words : [];
  return name === 'curl' || name === 'wget' ? into : [];
}

function writtenConcern(path: string): Concern[] {
  return meantBy(path, START_NAMES, true)
    .flatMap((meant) => writtenPlace(meant))
    .slice(0, 1);
}

function writtenPlace(path: string): Concern[] {
  if (isBelow(START, path)) return [];
  const { parts, shown } = partsOf(path);
  const kind = startKind(parts) ?? (parts.includes('.ssh') ? 'decides who may log in, and how' : undefined);
  return kind === undefined ? [] : [outside(`it writes ${shown}, which ${kind}`)];
}

/** Folded names: of a whole path with an empty one first, of one in the home without. */
function partsOf(path: string): { parts: readonly string[]; shown: string } {
  return path.startsWith(`${HOME}/`) ? named('~/', path.slice(HOME.length + 1)) : named('', path);
}

function named(before: string, path: string): { parts: readonly string[]; shown: string } {
  return { parts: path.split('/').map(folded), shown: before + path.replaceAll(UNKNOWN, '…') };
}

/** Whether one of the paths belongs to the assistant itself. */
function ownStateConcern(paths: readonly string[], place: CommandPlace): Concern[] {
  const { home, workspace } = place;
  if (home === undefined) return [];
  const names = [...home.split('/'), ...homeNames()];
  const own = paths
    .flatMap((path) => realPaths(path, place))
    .flatMap((path) => (isBelow(home, path) ? path : meantBy(path, names)))
    .some((path) => isBelow(home, path) && (workspace === undefined || !isBelow(workspace, path)));
  return own ? [outside("it names the assistant's own configuration or state")] : [];
}

/** Whether a change there stays where commands belong: the workspace, and what is only kept for a while. */
function isInside(path: string, place: CommandPlace): boolean {
  const { workspace } = place;
  if (path.includes(UNKNOWN) || isBelow(START, path) || ['/tmp', '/var/tmp'].some((folder) => isBelow(folder, path))) {
    return true;
  }
  return workspace !== undefined && realPaths(path, place).some((real) => isBelow(workspace, real));
}

const MOST_MEANT = 32;
const SPELLED = new RegExp(`[^${STAR}${ANY}${UNKNOWN}]`, 'u');

/**
 * What a path with patterns may lead to: itself, with each of `names` in place of a pattern that could match it. A
 * pattern matches no dot at the beginning. `spelled`: only patterns with a letter of their own count.
 */
function meantBy(path: string, names: readonly string[], spelled = false): readonly string[] {
  if (!isUndecided(path)) return [path];
  let found: readonly string[] = [''];
  for (const [i, part] of path.split('/').entries()) {
    const isPattern = isUndecided(part) && !part.includes(UNKNOWN) && (!spelled || SPELLED.test(part));
    const pattern = isPattern ? patternOf(part) : undefined;
    const like = names.filter(
      (name) => pattern?.test(name) === true && (!name.startsWith('.') || part.startsWith('.')),
    );
    const choices = like.length === 0 ? [part] : like;
    found = found.flatMap((before) => choices.map((choice) => (i === 0 ? choice : `${before}/${choice}`)));
    found = found.slice(0, MOST_MEANT);
  }
  return found;
}

/** What a path of the judged command may be on this machine; none when that is not known. */
function realPaths(path: string, { cwd, workspace, userHome }: CommandPlace): readonly string[] {
  const start = cwd ?? workspace;
  if (!isBelow(HOME, path)) return [path];
  return [
    path,
    ...(userHome === undefined ? [] : [posix.join(userHome, posix.relative(HOME, path))]),
    ...(start === undefined ? [] : [posix.resolve(start, posix.relative(START, path))]),
  ];
}

function isBelow(folder: string, path: string): boolean {
  return path === folder || path.startsWith(folder.endsWith('/') ? folder : `${folder}/`);
}

function operands(args: readonly string[]): string[] {
  return args.filter((arg) => !arg.startsWith('-'));
}
