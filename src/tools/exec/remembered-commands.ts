import { realpath, stat } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, normalize } from 'node:path';
import { approvalHash } from '../../security/access/approval-hash.ts';
import { exactWords, isBuiltin, runsOthers } from '../../security/commands/exact.ts';
import { readSubject, type ReadSubject } from '../../security/commands/readers.ts';
import { filePeek } from '../../security/paths/file-peek.ts';
import { namedFiles } from '../../security/commands/named-files.ts';
import { within } from '../../security/paths/rules.ts';
import { findProgram } from './shell.ts';

/** What a yes to a command covers beside its text. */
export interface CommandProfile {
  /** Real path of the folder it starts in. */
  readonly folder: string;
  readonly mode: string;
  readonly enclosed: boolean;
  readonly network: boolean;
  /** Names of the variables it sees. */
  readonly environment: readonly string[];
  /** Files of the workspace that it names, with their content. */
  readonly files: Readonly<Record<string, string>>;
}

/** The profile of a command as it would run now. */
export async function profileOf(
  command: string,
  profile: Omit<CommandProfile, 'files' | 'environment'> & { readonly environment: object; readonly workspace: string },
): Promise<CommandProfile & Readonly<Record<string, unknown>>> {
  const { folder, mode, enclosed, network, environment, workspace } = profile;
  return {
    folder,
    mode,
    enclosed,
    network,
    environment: Object.keys(environment).toSorted(),
    files: await namedFiles(command, { folder, workspace: await realpath(workspace) }, filePeek),
  };
}

/** An exact program with exact arguments, which reaches the same each time. */
export interface RememberableCommand {
  /** The absolute path of the program, then its arguments. */
  readonly program: readonly string[];
  readonly folder: string;
  readonly hash: string;
  /** What it looks at, if it only reads and prints: then it may be allowed for good in a chat. Null: only the configuration can. */
  readonly reads: ReadSubject | null;
}

/**
 * A command as it could be allowed for good; null for all but one plain program with spelled out arguments, for shells,
 * wrappers, interpreters and the like, and for programs that lie in the workspace, which the assistant may write.
 */
export async function rememberableCommandOf(
  command: string,
  profile: CommandProfile,
  {
    path,
    workspace,
    background,
  }: {
    readonly path: string;
    readonly workspace: string;
    /** It is to go on by itself. */ readonly background: boolean;
  },
): Promise<RememberableCommand | null> {
  const exact = await exactProgram(command, path, workspace);
  if (exact === null) return null;
  const { program, reads } = exact;
  const { folder, enclosed, network, environment } = profile;
  const allowed = { program, folder, enclosed, network, environment, ...(background ? { background } : {}) };
  return { program, folder, hash: approvalHash(allowed), reads };
}

/** The repository that a folder of the workspace lies in; the folder itself where there is none. */
export async function repositoryOf(folder: string, workspace: string): Promise<string> {
  const root = await realpath(workspace);
  for (let at = folder; within(root, at); at = dirname(at)) {
    const found = await stat(join(at, '.git')).catch(() => null);
    if (found !== null) return at;
    if (at === root) break;
  }
  return folder;
}

/** Whether the configuration allows this very command (tools.exec.allowCommands). */
export function isListed({ program }: RememberableCommand, allowCommands: readonly string[]): boolean {
  return allowCommands.some((listed) => {
    const words = exactWords(listed.trim());
    return words !== null && words.length === program.length && words.every((word, i) => word === program[i]);
  });
}

async function exactProgram(
  command: string,
  path: string,
  workspace: string,
): Promise<Pick<RememberableCommand, 'program' | 'reads'> | null> {
  const words = exactWords(command);
  if (words === null) return null;
  const [name = '', ...args] = words;
  const file = isAbsolute(name)
    ? normalize(name)
    : name.includes('/') || isBuiltin(name)
      ? null
      : findProgram(name, path);
  if (file == null) return null;
  const real = await realpath(file).catch(() => null);
  if (real === null || !(await stat(real)).isFile()) return null;
  const places = [file, real];
  if (places.some((place) => runsOthers(basename(place), args) || within(workspace, place))) return null;
  if (within(await realpath(workspace), real)) return null;
  const subjects = places.map((place) => readSubject(basename(place), args));
  return { program: [file, ...args], reads: subjects.includes(null) ? null : (subjects[0] ?? null) };
}

/** Whether what an owner allowed for good, once, may still be. */
export function isRememberable([file = '', ...args]: readonly string[]): boolean {
  return readSubject(basename(file), args) !== null;
}
