import { realpath, stat } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, normalize } from 'node:path';
import { approvalHash } from '../../security/access/approval-hash.ts';
import { exactWords, isBuiltin, runsOthers } from '../../security/commands/exact.ts';
import { readSubject, type ReadSubject } from '../../security/commands/readers.ts';
import { filePeek } from '../../security/paths/file-peek.ts';
import { namedFiles } from '../../security/commands/named-files.ts';
import { within } from '../../security/paths/rules.ts';
import { findProgram } from '../../security/enclosure/enclosure.ts';

/** The circumstances of a command that an approval covers in addition to its text. */
export interface CommandProfile {
  /** Real path of the folder in which it starts. */
  readonly folder: string;
  /** `tools.exec.mode`. */
  readonly mode: string;
  /** Whether it runs in the sandbox. */
  readonly enclosed: boolean;
  /** Whether it may use the network. */
  readonly network: boolean;
  /** Names of its environment variables, sorted. */
  readonly environment: readonly string[];
  /** Files of the workspace that the command names, by path, with their content. */
  readonly files: Readonly<Record<string, string>>;
}

/** Builds the profile that a command would have if it ran now. Reads the files that it names. */
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

/** One program with fixed arguments, which can be allowed for all later runs. */
export interface RememberableCommand {
  /** The absolute path of the program, then its arguments. */
  readonly program: readonly string[];
  readonly folder: string;
  readonly hash: string;
  /** What the program reads, if it only reads and prints; such a command may be allowed from a chat. Null: only in the configuration. */
  readonly reads: ReadSubject | null;
}

/**
 * The form in which a command can be allowed for all later runs. Null unless the command is one program with literal arguments.
 * Null also for programs that run other programs (shells, wrappers, interpreters), and for programs in the workspace, because
 * the assistant may change those. `path`: the PATH in which the program is searched.
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
    /** Whether it runs in the background. */
    readonly background: boolean;
  },
): Promise<RememberableCommand | null> {
  const exact = await exactProgram(command, path, workspace);
  if (exact === null) return null;
  const { program, reads } = exact;
  const { folder, enclosed, network, environment } = profile;
  const allowed = { program, folder, enclosed, network, environment, ...(background ? { background } : {}) };
  return { program, folder, hash: approvalHash(allowed), reads };
}

/** Root of the Git repository in which a folder of the workspace lies; the folder itself when there is none. */
export async function repositoryOf(folder: string, workspace: string): Promise<string> {
  const root = await realpath(workspace);
  for (let at = folder; within(root, at); at = dirname(at)) {
    const found = await stat(join(at, '.git')).catch(() => null);
    if (found !== null) return at;
    if (at === root) break;
  }
  return folder;
}

/** Whether `tools.exec.allowCommands` lists this command with the same program path and arguments. */
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

/** Whether a command that the owner allowed in a chat still counts as one that only reads and prints. */
export function isRememberable([file = '', ...args]: readonly string[]): boolean {
  return readSubject(basename(file), args) !== null;
}
