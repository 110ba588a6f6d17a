import { posix } from 'node:path';
import { folded, START_NAMES, startKind } from '../paths/names.ts';
import { ANY, isUndecided, patternOf, STAR, UNKNOWN } from './placeholders.ts';
import type { CommandPlace } from './guard.ts';
import { noteRisk, Refusal, type Scope, type Simple } from './scope.ts';
import { HOME, isRawDevice, START } from './targets.ts';

const MOST_PIECES = 64;
/** Only print their words. */
const SPEAKS = /^(?:echo|printf)$/;
/** Change names, not what lies in a file. */
const TAKES = /^(?:rm|unlink|mkdir|ln)$/;
const RECURSIVE = /^(?:chmod|chown|chgrp|setfacl)$/;

/** Judges what a program with these arguments would do to places outside its folder. */
export function judgePlaces({ name, args, directories }: Simple, code: string, scope: Scope): void {
  const absolute = (path: string): string[] => directories.map((directory) => posix.resolve(directory, path));
  const pieces = SPEAKS.test(name) ? [] : args.flatMap((arg) => arg.split(/[=:,]/u, MOST_PIECES));
  const written = writtenBy(name, args).flatMap(absolute);
  judgePaths(
    [...pieces, ...quotedIn(code)].flatMap(absolute),
    written,
    scope,
    TAKES.test(name) ? undefined : `\`${name}\``,
  );
  if (!RECURSIVE.test(name) || !args.some((arg) => /^--recursive$|^-[a-zA-Z]*R/u.test(arg))) return;
  const changed = operands(args).slice(1).flatMap(absolute);
  if (!changed.every((path) => isInside(path, scope.shared.place)))
    noteRisk(scope, 'outside', `it changes the rights of what lies outside the workspace (\`${name} -R\`)`);
}

/** Judges absolute paths that are named and written; `writer`: what writes, undefined when it leaves contents alone. */
export function judgePaths(
  named: readonly string[],
  written: readonly string[],
  scope: Scope,
  writer: string | undefined,
): void {
  for (const path of written) {
    if (writer !== undefined && isRawDevice(path)) throw new Refusal(`${writer} would write over the device ${path}`);
    const concern = meantBy(path, START_NAMES, true)
      .map(writtenPlace)
      .find((reason) => reason !== undefined);
    if (concern !== undefined) noteRisk(scope, 'outside', concern);
  }
  if (named.some((path) => isOwnState(path, scope.shared.place)))
    noteRisk(scope, 'outside', "it names the assistant's own configuration or state");
}

/** Texts in the code of another language that may be paths. */
function quotedIn(code: string): readonly string[] {
  return Array.from(code.matchAll(/(["'`])([~/.][^"'`\n]{1,1000})\1/gu), ([, , text = '']) => text)
    .slice(0, MOST_PIECES)
    .map((text) => text.replace(/^~(?=\/)/u, HOME));
}

/** All operands are written, or taken away. */
const WRITES_ALL = /^(?:tee|truncate|shred|rm|unlink|mkdir)$/;
/** With one of these a program only shows partitions. */
const LOOKS = /^(?:-[plivd]|--(?:print|list|info|verify|dump)|print)$/;
const COPIES = /^(?:cp|mv|install|ln|rsync|scp)$/;

/** Files that a program writes, as far as its arguments say. */
function writtenBy(name: string, args: readonly string[]): readonly string[] {
  const words = operands(args);
  if (/^(?:sgdisk|sfdisk|parted)$/.test(name)) return args.some((arg) => LOOKS.test(arg)) ? [] : words;
  if (name === 'badblocks') return args.some((arg) => /^-\w*w/.test(arg)) ? words : [];
  if (WRITES_ALL.test(name)) return words;
  if (/^(?:dd|dcfldd)$/.test(name)) return args.flatMap((arg) => /^of=(.*)$/su.exec(arg)?.[1] ?? []);
  if (/^(?:sed|perl)$/.test(name)) return args.some((arg) => /^-[a-zA-Z]*i|^--in-place/u.test(arg)) ? words : [];
  const into = args.flatMap((arg, i) => {
    const isNext = /^(?:-o|-O|-t|-P|--output|--output-document|--target-directory)$/u.test(args[i - 1] ?? '');
    return (
      /^--(?:output|output-document|target-directory|directory-prefix)=(.*)$/su.exec(arg)?.[1] ?? (isNext ? arg : [])
    );
  });
  if (/^(?:curl|wget)$/.test(name)) return into;
  if (!COPIES.test(name)) return [];
  const [target, sources] = into[0] === undefined ? [words.at(-1) ?? '', words.slice(0, -1)] : [into[0], words];
  return [target, ...sources.map((source) => `${target}/${posix.basename(source)}`)];
}

/** Why writing there has to be known; undefined when it has not. */
function writtenPlace(path: string): string | undefined {
  if (isBelow(START, path)) return undefined;
  const isHome = path.startsWith(`${HOME}/`);
  const shown = isHome ? path.slice(HOME.length + 1) : path;
  const parts = shown.split('/').map(folded);
  const kind = startKind(parts) ?? (parts.includes('.ssh') ? 'decides who may log in, and how' : undefined);
  return kind && `it writes ${isHome ? '~/' : ''}${shown.replaceAll(UNKNOWN, '…')}, which ${kind}`;
}

/** Whether a path belongs to the assistant itself. */
function isOwnState(path: string, place: CommandPlace): boolean {
  const { home, workspace } = place;
  if (home === undefined) return false;
  const names = home.split('/');
  return realPaths(path, place)
    .flatMap((real) => (isBelow(home, real) ? real : meantBy(real, names)))
    .some((real) => isBelow(home, real) && (workspace === undefined || !isBelow(workspace, real)));
}

/** Whether a change there stays where commands belong: the workspace, and what is only kept for a while. */
function isInside(path: string, place: CommandPlace): boolean {
  const { workspace } = place;
  if (path.includes(UNKNOWN) || [START, '/tmp', '/var/tmp'].some((folder) => isBelow(folder, path))) return true;
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
  const choices = path.split('/').map((part) => {
    if (!isUndecided(part) || part.includes(UNKNOWN) || (spelled && !SPELLED.test(part))) return [part];
    const pattern = patternOf(part);
    const like = names.filter((name) => (part.startsWith('.') || !name.startsWith('.')) && pattern.test(name));
    return like.length === 0 ? [part] : like;
  });
  return choices.reduce((found, names) =>
    found.flatMap((before) => names.map((name) => `${before}/${name}`)).slice(0, MOST_MEANT),
  );
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
