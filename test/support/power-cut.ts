import { mkdir, readdir, readFile, readlink, stat, symlink, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { errorCode } from '../../src/core/util/errors.ts';

/**
 * What is left of a folder when the power goes: `disk.c` keeps in a shadow folder what each sync made durable; of all that
 * was written later the disk may have any part. Content is decided sector by sector, sizes and names one by one.
 */
export interface PowerCut {
  readonly home: string;
  readonly shadow: string;
  /** Where the folder is put together as the next start finds it. */
  readonly into: string;
  readonly random: () => number;
  /** Paths below the folder that somebody else's syncs made durable. */
  readonly durable: readonly string[];
}

/** Counts as durable whatever a folder holds now. */
export async function keepAll(home: string, shadow: string): Promise<void> {
  await mkdir(shadow, { recursive: true });
  const lines: string[] = [];
  for (const name of await readdir(home)) {
    const path = join(home, name);
    const found = await stat(path, { bigint: true });
    lines.push(`${idOf(found)}\t${name}\n`);
    if (found.isDirectory()) await keepAll(path, shadow);
    else if (found.isFile()) await writeFile(join(shadow, idOf(found)), await readFile(path));
  }
  await writeFile(join(shadow, idOf(await stat(home, { bigint: true }))), lines.join(''));
}

/** Puts together what the disk has after a power cut. */
export async function cutPower(cut: PowerCut): Promise<void> {
  const dice = { ...cut, sector: cut.random() < 0.5 ? 512 : 4096, share: chance(cut.random) };
  await rebuild(cut.home, cut.into, dice);
}

interface Dice extends PowerCut {
  readonly sector: number;
  /** Of later writes that reached the disk, between 0 and 1. */
  readonly share: number;
}

/** Nothing and everything are as likely as all between. */
function chance(random: () => number): number {
  const dice = random();
  if (dice < 0.2) return 0;
  return dice < 0.4 ? 1 : random();
}

async function rebuild(live: string, into: string, dice: Dice): Promise<void> {
  const { random, share, home, durable } = dice;
  await mkdir(into, { mode: 0o700 });
  const now = await namesNow(live);
  const kept = await namesKept(await idAt(live), dice);
  for (const name of new Set([...now.keys(), ...kept.keys()])) {
    const path = join(live, name);
    const isDurable = durable.includes(path.slice(home.length + 1));
    const chosen = isDurable || random() < share ? now.get(name) : kept.get(name);
    if (chosen === undefined || basename(name).endsWith('-shm')) continue;
    const target = join(into, name);
    if (chosen !== now.get(name)) {
      // Removed or replaced since: of its later writes nothing is left.
      await writeFile(target, (await keptBytes(chosen, dice)) ?? Buffer.alloc(0), { mode: 0o600 });
      continue;
    }
    const found = await stat(path).catch(() => undefined);
    if (found?.isDirectory() === true) await rebuild(path, target, dice);
    else if (found?.isFile() === true) {
      const bytes = await readFile(path);
      const then = isDurable ? bytes : mixed((await keptBytes(chosen, dice)) ?? Buffer.alloc(0), bytes, dice);
      await writeFile(target, then, { mode: found.mode });
    } else if (found === undefined) await symlink(await readlink(path), target);
  }
}

/** Bytes that a file has when only some of the later sectors, and perhaps not its later size, reached the disk. */
function mixed(before: Buffer, after: Buffer, { random, share, sector }: Dice): Buffer {
  if (before.equals(after)) return after;
  const [least, most] = [Math.min(before.length, after.length), Math.max(before.length, after.length)];
  const between = least + Math.floor((random() * (most - least)) / sector) * sector;
  const dice = random();
  const size = dice < 0.4 ? after.length : dice < 0.6 ? before.length : between;
  const bytes = Buffer.alloc(size);
  for (let at = 0; at < size; at += sector) {
    const from = random() < share ? after : before;
    from.subarray(at, Math.min(at + sector, size)).copy(bytes, at);
  }
  return bytes;
}

async function namesNow(folder: string): Promise<ReadonlyMap<string, string>> {
  const names = new Map<string, string>();
  for (const name of await readdir(folder)) names.set(name, await idAt(join(folder, name)));
  return names;
}

async function namesKept(id: string, dice: Dice): Promise<ReadonlyMap<string, string>> {
  const lines = (await keptBytes(id, dice))?.toString('utf8').split('\n').filter(Boolean) ?? [];
  return new Map(
    lines.map((line) => {
      const [kept = '', name = ''] = line.split('\t');
      return [name, kept];
    }),
  );
}

async function keptBytes(id: string, { shadow }: Dice): Promise<Buffer | undefined> {
  try {
    return await readFile(join(shadow, id));
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}

async function idAt(path: string): Promise<string> {
  return await stat(path, { bigint: true }).then(idOf, () => `link ${path}`);
}

/** As `disk.c` names it: inodes are used again. */
function idOf({ ino, birthtimeNs }: { readonly ino: bigint; readonly birthtimeNs: bigint }): string {
  return `${ino}-${birthtimeNs}`;
}
