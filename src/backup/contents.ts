import type { Stats } from 'node:fs';
import { lstat, readdir, readlink } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { ifThere } from '../storage/files.ts';

/** Something in a home that belongs into its backup. */
export type Item =
  | { readonly type: 'folder' | 'file'; readonly path: string; readonly facts: Stats }
  | { readonly type: 'link'; readonly path: string; readonly target: string };

/**
 * What stays out, by its name in the home. Of the running process: the lock and the sockets. Made again or needed for a
 * while only: the full-text index, long results of tools, logs, what the sandbox mounts. Of this machine: the launcher
 * of the service and programs that an upgrade installed. Copies: earlier backups, and homes that a restore moved aside. The journal is copied on its own.
 */
const LEFT_OUT =
  /^(?:lock(?:[.-].*)?|control\.sock|search\.db(?:-.*)?|state\.db(?:-.*)?|spill|logs|sandbox|bin|programs|backups|before-.*|restored\.json|upgrade\.json|\.probe|\.restore)$/u;

/** What a write left behind that a process did not finish. */
const TEMPORARY = /^\..*\.\d+(?:\.\d+)?\.tmp$/u;

/** Comes first, because what it says of turns and messages must not be newer than the other files. */
export const JOURNAL = 'state.db';

/** The folders that are read right after the journal, in this order; all others come later. */
const FIRST = ['sessions'];

/** Everything of a home that belongs into a backup beside the journal, in the order in which it is read. */
export async function contentsOf(home: string): Promise<readonly Item[]> {
  const names = (await readdir(home)).filter((name) => !LEFT_OUT.test(name));
  const ordered = [...FIRST.filter((name) => names.includes(name)), ...names.filter((name) => !FIRST.includes(name))];
  const items: Item[] = [];
  for (const name of ordered) await collect(home, name, items);
  return items;
}

/** Files that only grow, line by line: a last line without its end is cut off. Those of the workspace are the person's. */
export function growsByLines(path: string): boolean {
  return !path.startsWith('workspace/') && /\.jsonl(?:\.\d+)?$/u.test(path);
}

/** Sockets, pipes and devices are left out, and so is what goes away meanwhile. */
async function collect(home: string, path: string, items: Item[]): Promise<void> {
  if (TEMPORARY.test(basename(path))) return;
  const facts = await ifThere(lstat(join(home, path)));
  if (facts === undefined) return;
  if (facts.isSymbolicLink()) {
    const target = await ifThere(readlink(join(home, path)));
    if (target !== undefined) items.push({ type: 'link', path, target });
  } else if (facts.isFile()) {
    items.push({ type: 'file', path, facts });
  } else if (facts.isDirectory()) {
    items.push({ type: 'folder', path, facts });
    for (const name of ((await ifThere(readdir(join(home, path)))) ?? []).toSorted()) {
      await collect(home, `${path}/${name}`, items);
    }
  }
}
