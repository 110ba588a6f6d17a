import { createHash } from 'node:crypto';
import { open, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { pack, type Headers, type Pack } from 'tar-stream';
import { copyDatabase } from '../core/storage/copy-database.ts';
import type { SchemaFacts } from '../core/storage/open-database.ts';
import { ensureDirectory, ifThere, requireSpace } from '../core/storage/files.ts';
import { within } from '../core/security/paths/rules.ts';
import { classifyFailure, isStorageTrouble } from '../core/storage/storage-failure.ts';
import { streamToNewFile } from '../core/storage/stream-file.ts';
import type { Clock } from '../core/util/clock.ts';
import { AppError, errorMessage } from '../core/util/errors.ts';
import { contentsOf, growsByLines, homesIn, JOURNAL, type Item } from './contents.ts';
import { FORMAT, HOME_FOLDER, MANIFEST, type Manifest } from './manifest.ts';

export interface BackupOptions {
  /** What is backed up. Absolute, as is `out`. */
  readonly home: string;
  /** The new file; there must be none. */
  readonly out: string;
  /** Of this program. */
  readonly version: string;
  /** Whether an assistant has the home open. */
  readonly inUse: boolean;
  readonly clock: Pick<Clock, 'now'>;
  /** Told now and then how much of it is read; bytes. */
  readonly onProgress?: (done: number, all: number) => void;
}

export interface BackedUp {
  readonly file: string;
  /** Bytes of the file, and of what is in it. */
  readonly size: number;
  readonly contentSize: number;
  readonly manifest: Manifest;
}

/**
 * Writes a home into one file, mode 0600, also while an assistant runs in it and writes.
 *
 * The journal is copied first, as it is at one moment; the tapes come next and everything else last. So the copy is a
 * home after a power loss that took the journal's newest commits and left the tapes, which is what recovery is made for:
 * a message that a platform was told is accepted is in the journal, and what a turn did is on its tape at least as far
 * as the journal knows. The other order would be a home that no crash leaves: turns closed whose answers no tape has, and
 * effects whose intent is missing, which would be run again. Files that only grow are cut at their last whole line. What
 * tapes name by hash (attachments, prompts) is written before the tape and read after it.
 *
 * Throws `backup-place`, `exists`, `no-home`, or `backup-failed` with one sentence; then there is no file.
 */
export async function createBackup(options: BackupOptions): Promise<BackedUp> {
  const { home, out } = options;
  if ((await ifThere(stat(home))) === undefined) {
    throw new AppError('no-home', `There is no home at ${home}. Name it with --home.`);
  }
  if (within(home, out) && !within(join(home, 'backups'), out)) {
    throw new AppError(
      'backup-place',
      `${out} lies in the home that is backed up. Choose a place outside of it with --out.`,
    );
  }
  if ((await ifThere(stat(out))) !== undefined) {
    throw new AppError('exists', `There is something at ${out} already. Choose another name with --out.`);
  }
  const copies = join(dirname(out), `.assistant-backup.${process.pid}`);
  const journals = (await homesIn(home)).map((inner, n) => ({
    path: inner + JOURNAL,
    copy: `${copies}.${n}.${JOURNAL}.tmp`,
  }));
  try {
    await ensureDirectory(dirname(out));
    return await writeArchive(options, journals);
  } catch (error) {
    const isDisk = isStorageTrouble(classifyFailure(error));
    if (error instanceof AppError && !isDisk) throw error;
    const why = isDisk
      ? `${dirname(out)} could not be written: ${errorMessage(error)}. Make room there, or choose another place with --out.`
      : `${errorMessage(error)}.`;
    throw new AppError('backup-failed', `The backup was not made, and no file is left of it. ${why}`, { cause: error });
  } finally {
    for (const { copy } of journals) await rm(copy, { force: true });
  }
}

/** A journal of the home, relative to it, and where its copy lies meanwhile. */
interface JournalCopy {
  readonly path: string;
  readonly copy: string;
}

async function writeArchive(options: BackupOptions, journals: readonly JournalCopy[]): Promise<BackedUp> {
  const { home, out, version, inUse, clock, onProgress } = options;
  const sizes = await Promise.all(journals.map(async ({ path }) => (await ifThere(stat(join(home, path))))?.size));
  const journalsSize = sizes.reduce<number>((sum, size = 0) => sum + size, 0);
  await requireSpace(dirname(out), journalsSize);
  const createdAt = new Date(clock.now()).toISOString();
  const present = journals.filter((_, n) => sizes[n] !== undefined);
  const schemas: SchemaFacts[] = [];
  for (const { path, copy } of present) schemas.push(await copyDatabase(join(home, path), copy));
  const items = await contentsOf(home);
  const all = sizeOf(items) + journalsSize;
  const archive = pack();
  const written = new Writer(archive, (done) => onProgress?.(Math.min(done, all), all));
  const manifest = (): Manifest => ({
    format: FORMAT,
    version,
    createdAt,
    home,
    inUse,
    journal: newestOf(schemas),
    files: written.files,
    links: items.flatMap((item) => (item.type === 'link' ? [{ path: item.path, target: item.target }] : [])),
  });
  const fill = async (): Promise<void> => {
    try {
      for (const { path, copy } of present) await written.file(copy, path, 0o600);
      for (const item of items) {
        if (item.type === 'folder') await written.folder(item);
        else if (item.type === 'file') await written.file(join(home, item.path), item.path);
      }
      const text = Buffer.from(`${JSON.stringify(manifest(), null, 1)}\n`);
      await written.entry({ name: MANIFEST, mode: 0o600, size: text.length }, [text]);
      archive.finalize();
    } catch (error) {
      archive.destroy(error instanceof Error ? error : new Error(errorMessage(error)));
      throw error;
    }
  };
  let size = 0;
  const stored = pipeline(archive, createGzip(), async (pieces: AsyncIterable<Uint8Array>) => {
    size = await streamToNewFile(out, pieces);
  });
  // What the disk refused ends the reading too, with a less telling error.
  const [end, read] = await Promise.allSettled([stored, fill()]);
  if (end.status === 'rejected') throw end.reason;
  if (read.status === 'rejected') throw read.reason;
  return { file: out, size, contentSize: written.bytes, manifest: manifest() };
}

/** What a program must be able to read to read all of them; null: there is none. */
function newestOf(schemas: readonly SchemaFacts[]): Manifest['journal'] {
  if (schemas.length === 0) return null;
  const most = (key: 'version' | 'oldestReader'): number => Math.max(...schemas.map((schema) => schema[key]));
  return { version: most('version'), oldestReader: most('oldestReader') };
}

function sizeOf(items: readonly Item[]): number {
  return items.reduce((sum, item) => sum + (item.type === 'file' ? item.facts.size : 0), 0);
}

/** Bytes; smaller files are read whole, so that one which is being written is at least as long as its entry says. */
const READ_WHOLE = 4 * 1024 * 1024;
const PIECE = 256 * 1024;

/** Puts files into an archive and remembers their hashes. */
class Writer {
  readonly files: Manifest['files'] = [];
  bytes = 0;
  readonly #archive: Pack;
  readonly #onProgress: (done: number) => void;

  constructor(archive: Pack, onProgress: (done: number) => void) {
    this.#archive = archive;
    this.#onProgress = onProgress;
  }

  async folder({ path, facts }: Extract<Item, { readonly facts: unknown }>): Promise<void> {
    const header = { name: `${HOME_FOLDER}${path}/`, type: 'directory', mode: facts.mode & 0o777 } as const;
    await this.entry({ ...header, mtime: facts.mtime, size: 0 }, []);
  }

  /** Leaves out what is not there any more. `fixedMode`: of the entry, in place of that of the file. */
  async file(from: string, path: string, fixedMode?: number): Promise<void> {
    await using handle = await ifThere(open(from, 'r'));
    if (handle === undefined) return;
    const facts = await handle.stat();
    const end = growsByLines(path) ? await endOfLines(handle, facts.size) : facts.size;
    const whole = end <= READ_WHOLE ? await collected(piecesOf(handle, end)) : undefined;
    const size = whole?.length ?? end;
    const hash = createHash('sha256');
    const counted = async function* (writer: Writer): AsyncGenerator<Uint8Array> {
      let read = 0;
      for await (const piece of whole === undefined ? piecesOf(handle, end) : [whole]) {
        hash.update(piece);
        read += piece.length;
        writer.bytes += piece.length;
        writer.#onProgress(writer.bytes);
        yield piece;
      }
      if (read < size) {
        throw new AppError('file-changed', `${from} became shorter while it was read. Make the backup again.`);
      }
    };
    const mode = fixedMode ?? facts.mode & 0o777;
    const header: Headers = { name: HOME_FOLDER + path, mode, mtime: facts.mtime, size };
    await this.entry(header, counted(this));
    this.files.push({ path, size, mode, sha256: hash.digest('hex') });
  }

  async entry(header: Headers, pieces: Iterable<Uint8Array> | AsyncIterable<Uint8Array>): Promise<void> {
    const done = Promise.withResolvers<void>();
    const entry = this.#archive.entry(header, (error) => {
      if (error === undefined || error === null) done.resolve();
      else done.reject(error);
    });
    if (header.size === 0) entry.end();
    else await Promise.all([pipeline(pieces, entry), done.promise]);
    await done.promise;
  }
}

type OpenFile = Awaited<ReturnType<typeof open>>;

async function* piecesOf(handle: OpenFile, end: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < end;) {
    const { bytesRead, buffer } = await handle.read(Buffer.alloc(Math.min(PIECE, end - at)), 0, undefined, at);
    if (bytesRead === 0) return;
    at += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}

async function collected(pieces: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const all: Uint8Array[] = [];
  for await (const piece of pieces) all.push(piece);
  return Buffer.concat(all);
}

/** Bytes up to the end of the last whole line of the first `size`. */
async function endOfLines(handle: OpenFile, size: number): Promise<number> {
  for (let end = size; end > 0;) {
    const start = Math.max(0, end - PIECE);
    const { bytesRead, buffer } = await handle.read(Buffer.alloc(end - start), 0, undefined, start);
    const at = buffer.subarray(0, bytesRead).lastIndexOf(0x0a);
    if (at !== -1) return start + at + 1;
    end = start;
  }
  return 0;
}
