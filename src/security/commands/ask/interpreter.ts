import { posix } from 'node:path';
import { INTERPRETER_CODE, INTERPRETERS, type Simple } from '../rules.ts';
import type { Output, Scope } from '../scope.ts';

/** What an interpreter of another language is given to run, as far as the command itself says. */
export function interpreterCode({ name, args, directories }: Simple, scope: Scope): string {
  if (!INTERPRETERS.test(name)) return '';
  const inline = args.filter((_, i) => INTERPRETER_CODE.has(args[i - 1] ?? ''));
  if (inline.length > 0) return inline.join('\n');
  const program = args.find((arg) => !arg.startsWith('-'));
  if (program === undefined) return scope.stdin.text ?? '';
  return directories.map((directory) => fileOf(posix.resolve(directory, program), scope)?.text ?? '').join('\n');
}

/** Whether it runs what came from a server: through a pipe, or a file that the command fetched. */
export function runsFetched({ name, args, directories }: Simple, scope: Scope): boolean {
  if (!INTERPRETERS.test(name) || args.some((arg) => INTERPRETER_CODE.has(arg))) return false;
  const program = args.find((arg) => !arg.startsWith('-'));
  if (program === undefined) return scope.stdin.fetched === true;
  return directories.some((directory) => fileOf(posix.resolve(directory, program), scope)?.fetched === true);
}

function fileOf(path: string, { shared }: Scope): Output | undefined {
  return shared.files.get(path);
}
