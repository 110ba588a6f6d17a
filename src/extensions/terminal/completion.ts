import { readdir } from 'node:fs/promises';
import { join, relative } from 'node:path';

export interface CompletionPorts {
  /** Names of the commands that begin with a slash, without it. */
  readonly commands: () => Promise<readonly string[]>;
  /** Absolute path of the folder in which files are looked for. */
  readonly folder: string;
}

export interface InputCompletion {
  /** How much of what stands before the cursor is replaced. */
  readonly length: number;
  /** What it is replaced with; as long as the candidates agree. */
  readonly text: string;
  /** What it could become, where that is more than one thing. */
  readonly candidates: readonly string[];
}

const MOST_CANDIDATES = 60;

/** Completes what stands before the cursor: a command at the beginning, else the path of a file; null where nothing fits. */
export async function complete(before: string, { commands, folder }: CompletionPorts): Promise<InputCompletion | null> {
  const command = /^\/(?<name>[\w-]*)$/u.exec(before)?.groups?.['name'];
  if (command !== undefined) {
    const names = (await commands()).filter((name) => name.startsWith(command)).toSorted();
    return completion(command, names, names.length === 1 ? ' ' : '', (name) => `/${name}`);
  }
  const path = /[^\s"'`(]*$/u.exec(before)?.[0] ?? '';
  if (path === '') return null;
  const slash = path.lastIndexOf('/') + 1;
  const begun = path.slice(slash);
  const names = (await namesIn(folder, path.slice(0, slash))).filter(
    (name) => name.startsWith(begun) && (begun.startsWith('.') || !name.startsWith('.')),
  );
  return completion(begun, names, '', (name) => name);
}

function completion(
  begun: string,
  names: readonly string[],
  end: string,
  shown: (name: string) => string,
): InputCompletion | null {
  if (names.length === 0) return null;
  return {
    length: begun.length,
    text: commonStart(names) + end,
    candidates: names.length === 1 ? [] : names.slice(0, MOST_CANDIDATES).map(shown),
  };
}

/** The names in a folder below `root`, folders with a slash; none of a folder outside of it, and none that cannot be typed. */
async function namesIn(root: string, path: string): Promise<readonly string[]> {
  const folder = join(root, path);
  if (path.startsWith('/') || relative(root, folder).split('/')[0] === '..') return [];
  try {
    const entries = await readdir(folder, { withFileTypes: true });
    return entries
      .filter(({ name }) => !/[\s\p{C}]/u.test(name))
      .map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name))
      .toSorted();
  } catch {
    return [];
  }
}

function commonStart([first = '', ...others]: readonly string[]): string {
  let length = first.length;
  for (const other of others) {
    while (!other.startsWith(first.slice(0, length))) length -= 1;
  }
  return first.slice(0, length);
}
