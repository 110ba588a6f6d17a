import { posix } from 'node:path';
import { readSubject } from '../../security/commands/readers.ts';

/** Programs and builtins beside those of `readSubject` that change nothing by themselves. */
const HARMLESS: ReadonlySet<string> = new Set([
  'cd',
  'pwd',
  'echo',
  'printf',
  'test',
  '[',
  'true',
  'false',
  'type',
  'sleep',
]);
/** Programs that search, and the arguments with which they do more. */
const SEARCHERS: ReadonlyMap<string, RegExp> = new Map([
  ['find', /^-(?:delete|exec|ok|fprint|fls)/u],
  ['rg', /^--(?:pre|hostname-bin)/u],
]);

/**
 * Whether a command line only looks, by the names of its programs: that it found nothing is then no failure worth telling.
 * No guard: what may run is decided elsewhere. What it does not understand counts as a change.
 */
export function onlyReads(command: string): boolean {
  const quiet = command.replaceAll(/\s*(?:2>&1|[12&]?>\s?\/dev\/null)/gu, '');
  if (/[>`]|\$\(|<\(/u.test(quiet)) return false;
  const parts = quiet.split(/\|\|?|&&|;|\n/u).map((part) => part.trim());
  return parts.every((part) => part === '' || looks(part.split(/\s+/u))) && parts.some((part) => part !== '');
}

function looks([program = '', ...args]: readonly string[]): boolean {
  const name = posix.basename(program);
  if (HARMLESS.has(name)) return true;
  const more = SEARCHERS.get(name);
  return more === undefined ? readSubject(name, args) !== null : !args.some((arg) => more.test(arg));
}
