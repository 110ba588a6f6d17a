import { lstatSync, readdirSync, readlinkSync, type Stats } from 'node:fs';
import { lstat, readdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { ifThere, ifThereSync } from '../core/storage/files.ts';
import { othersFirst } from '../core/util/wake.ts';

/** A file, folder or link of a home that belongs in its backup. */
export type Item =
  | { readonly type: 'folder' | 'file'; readonly path: string; readonly facts: Stats }
  | { readonly type: 'link'; readonly path: string; readonly target: string };

/**
 * Names in the home that a backup leaves out: the lock and the sockets of the running process; what is made again or kept
 * for a while only (full-text index, long tool results, logs, mounts of the sandbox, what landings replaced); what belongs to this machine (the
 * launcher of the service, programs that an upgrade installed, browsers and their profiles, the mark of a copy of a home in
 * PostgreSQL); earlier backups and homes that a restore moved aside. The journal is copied on its own.
 */
const LEFT_OUT =
  /^(?:lock(?:[.-].*)?|control\.sock|search\.db(?:-.*)?|state\.db(?:-.*)?|spill|logs|landings|sandbox|browser|bin|programs|backups|before-.*|restored\.json|store(?:-copy)?\.json|upgrade\.json|\.probe|\.restore)$/u;

/** Temporary files of writes that did not finish. */
const TEMPORARY = /^\..*\.\d+(?:\.\d+)?\.tmp$/u;

/** The journal. It is read first, because its turns and messages must not be newer than the other files. */
export const JOURNAL = 'state.db';

/** Long tool results. */
const SPILL = 'spill';

/** The folders that are read right after the journal, in this order; all others come later. */
const FIRST = ['sessions'];

/** The folder with the homes of the further assistants. */
const AGENTS = 'agents';

/** The homes in a home: itself (''), and those of its further assistants as `agents/NAME/`. */
export async function homesIn(home: string): Promise<readonly string[]> {
  const names = ((await ifThere(readdir(join(home, AGENTS), { withFileTypes: true }))) ?? [])
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => `${AGENTS}/${name}/`);
  return ['', ...names.toSorted()];
}

/** Everything of a home, and of those in it, that belongs in a backup, except their journals, in the order in which it is read. */
export async function contentsOf(home: string): Promise<readonly Item[]> {
  const items: Item[] = [];
  for (const inner of await homesIn(home)) {
    const folder = inner.slice(0, -1);
    const facts = inner === '' ? undefined : await ifThere(lstat(join(home, folder)));
    if (facts !== undefined) items.push({ type: 'folder', path: folder, facts });
    const names = ((await ifThere(readdir(join(home, inner)))) ?? []).filter(
      (name) => !LEFT_OUT.test(name) && !(inner === '' && name === AGENTS),
    );
    const ordered = [...FIRST.filter((name) => names.includes(name)), ...names.filter((name) => !FIRST.includes(name))];
    for (const name of ordered) await collect(home, inner + name, items);
  }
  return items;
}

/**
 * The same of one file or folder, by its path below the home; '' is the home. Long tool results are among them. Nothing when
 * it is left out or not there.
 */
export async function contentsUnder(home: string, path: string): Promise<readonly Item[]> {
  const [name = ''] = path.split('/');
  const items: Item[] = path === '' ? [...(await contentsOf(home))] : [];
  if (path === '') await collect(home, SPILL, items);
  else if (name === SPILL || !LEFT_OUT.test(name)) await collect(home, path, items);
  return items;
}

/** Whether a file grows line by line, so that an incomplete last line is cut off. The person's files in the workspace never do. */
export function growsByLines(path: string): boolean {
  return !/^(?:agents\/[^/]+\/)?workspace\//u.test(path) && /\.jsonl(?:\.\d+)?$/u.test(path);
}

/** So many are looked at before the rest of the process gets its turn, some milliseconds. */
const SLICE = 500;

/**
 * Leaves out sockets, pipes, devices and whatever disappears meanwhile. A look takes a few microseconds here and many times that in the
 * thread pool, and a process may run many homes.
 */
async function collect(home: string, path: string, items: Item[]): Promise<void> {
  const left = [path];
  let looked = 0;
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    for (const inner of look(home, next, items)) left.push(inner);
    looked += 1;
    if (looked % SLICE === 0) await othersFirst();
  }
}

/** Returns what is in a folder, the last first. */
function look(home: string, path: string, items: Item[]): readonly string[] {
  if (TEMPORARY.test(basename(path))) return [];
  const facts = lstatSync(join(home, path), { throwIfNoEntry: false });
  if (facts === undefined) return [];
  if (facts.isSymbolicLink()) {
    const target = ifThereSync(() => readlinkSync(join(home, path)));
    if (target !== undefined) items.push({ type: 'link', path, target });
  } else if (facts.isFile()) {
    items.push({ type: 'file', path, facts });
  } else if (facts.isDirectory()) {
    items.push({ type: 'folder', path, facts });
    const names = ifThereSync(() => readdirSync(join(home, path))) ?? [];
    return names.toSorted((a, b) => (a < b ? 1 : -1)).map((name) => `${path}/${name}`);
  }
  return [];
}
