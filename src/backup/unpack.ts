import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { chmod, mkdir, symlink } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { extract, type Entry as ArchiveEntry, type Extract } from 'tar-stream';
import { ensureDirectory, syncDirectory } from '../core/storage/files.ts';
import { within } from '../core/security/paths/rules.ts';
import { classifyFailure, isStorageTrouble } from '../core/storage/storage-failure.ts';
import { streamToFile } from '../core/storage/stream-file.ts';
import { AppError, errorMessage } from '../core/util/errors.ts';
import { readEntry } from './archive-entry.ts';
import { FORMAT, manifestSchema, type Manifest } from './manifest.ts';

/** Bytes that a manifest may have: one of a million files has 150 MB. */
const LONGEST_MANIFEST = 256 * 1024 * 1024;

interface Unpacked {
  readonly manifest: Manifest;
  /** Links that were not made anew because they lead out of the home. */
  readonly linksLeftOut: readonly string[];
}

/**
 * Unpacks an archive into an empty folder that will be `home`, and checks every file against its hash. Throws
 * `backup-damaged`, `backup-unsafe` or `backup-too-new` with one sentence; the folder is then to be thrown away.
 */
export async function unpack(
  file: string,
  folder: string,
  options: {
    readonly home: string;
    /** The version of the journal's schema that this program knows. */
    readonly journalVersion: number;
    /** Told the bytes of the archive that are read. */
    readonly onProgress: (bytes: number) => void;
  },
): Promise<Unpacked> {
  const found = await extractInto(file, folder, options.onProgress);
  const manifest = readManifest(found.manifest, options.journalVersion, file);
  requireSame(manifest, found.hashes, file);
  const linksLeftOut: string[] = [];
  const links = new Set(manifest.links.map(({ path }) => path));
  for (const { path, target } of manifest.links) {
    if (await makeLink(folder, { path, target }, { home: options.home, links })) continue;
    linksLeftOut.push(path);
  }
  for (const [path, mode] of [...found.folders].toReversed()) {
    await chmod(join(folder, path), mode);
    await syncDirectory(join(folder, path));
  }
  await syncDirectory(folder);
  return { manifest, linksLeftOut };
}

interface Extracted {
  readonly manifest: string | undefined;
  /** SHA-256 in hex by path. */
  readonly hashes: ReadonlyMap<string, string>;
  /** Modes by path, those above before those below. */
  readonly folders: ReadonlyMap<string, number>;
}

async function extractInto(file: string, folder: string, onProgress: (bytes: number) => void): Promise<Extracted> {
  const hashes = new Map<string, string>();
  const folders = new Map<string, number>();
  let manifest: string | undefined;
  const take = async (entry: ArchiveEntry): Promise<void> => {
    const read = readEntry(entry.header);
    if (read.type === 'manifest') {
      if ((entry.header.size ?? 0) > LONGEST_MANIFEST) throw damaged(file, 'its list of files is too long');
      const pieces: Uint8Array[] = [];
      for await (const piece of entry) pieces.push(piece);
      manifest = Buffer.concat(pieces).toString('utf8');
    } else if (read.type === 'folder') {
      await mkdir(join(folder, read.path), { recursive: true, mode: 0o700 });
      folders.set(read.path, read.mode | 0o700);
      entry.resume();
    } else {
      if (hashes.has(read.path)) throw damaged(file, `${read.path} is in it twice`);
      const hash = createHash('sha256');
      await streamToFile(join(folder, read.path), hashed(entry, hash), read);
      hashes.set(read.path, hash.digest('hex'));
    }
  };
  const archive = extract();
  const input = createReadStream(file);
  input.on('data', () => onProgress(input.bytesRead));
  try {
    await Promise.all([pipeline(input, createGunzip(), archive), takeAll(archive, take)]);
  } catch (error) {
    if (error instanceof AppError || isStorageTrouble(classifyFailure(error))) throw error;
    throw damaged(file, errorMessage(error), error);
  }
  return { manifest, hashes, folders };
}

async function takeAll(archive: Extract, take: (entry: ArchiveEntry) => Promise<void>): Promise<void> {
  for await (const entry of archive) await take(entry);
}

async function* hashed(
  pieces: AsyncIterable<unknown>,
  hash: ReturnType<typeof createHash>,
): AsyncGenerator<Uint8Array> {
  for await (const piece of pieces) {
    const bytes = piece as Uint8Array;
    hash.update(bytes);
    yield bytes;
  }
}

function readManifest(text: string | undefined, journalVersion: number, file: string): Manifest {
  if (text === undefined) throw damaged(file, 'its list of files is missing');
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw damaged(file, 'its list of files cannot be read', cause);
  }
  const { format } = (value ?? {}) as { readonly format?: unknown };
  const isNewerFormat = typeof format === 'number' && format > FORMAT;
  const parsed = manifestSchema.safeParse(value);
  if (!parsed.success && !isNewerFormat) throw damaged(file, 'its list of files cannot be read');
  const oldestReader = parsed.data?.journal?.oldestReader ?? 0;
  if (!parsed.success || isNewerFormat || oldestReader > journalVersion) {
    const made = parsed.data === undefined ? 'a newer version' : `version ${parsed.data.version}`;
    throw new AppError(
      'backup-too-new',
      `${file} was made by ${made}, whose data this version cannot read. Install that version or a newer one, then restore again.`,
    );
  }
  return parsed.data;
}

function requireSame({ files }: Manifest, hashes: ReadonlyMap<string, string>, file: string): void {
  for (const { path, sha256 } of files) {
    const found = hashes.get(path);
    if (found !== sha256) throw damaged(file, found === undefined ? `${path} is missing` : `${path} is not as it was`);
  }
  const listed = new Set(files.map(({ path }) => path));
  const extra = [...hashes.keys()].find((path) => !listed.has(path));
  if (extra !== undefined) throw damaged(file, `${extra} is not in its list of files`);
}

/** False: it leads out of the home, or lies behind another link. */
async function makeLink(
  folder: string,
  { path, target }: Manifest['links'][number],
  { home, links }: { readonly home: string; readonly links: ReadonlySet<string> },
): Promise<boolean> {
  const above = path.split('/').map((_part, n, parts) => parts.slice(0, n).join('/'));
  if (above.some((one) => links.has(one))) return false;
  const inHome = join(home, path);
  if (!within(home, inHome) || inHome === home) return false;
  if (!within(home, resolve(dirname(inHome), target))) return false;
  await ensureDirectory(dirname(join(folder, path)));
  await symlink(target, join(folder, path));
  return true;
}

function damaged(file: string, why: string, cause?: unknown): AppError {
  return new AppError(
    'backup-damaged',
    `${file} is damaged: ${why}. Nothing was restored. Use another backup, or copy this one anew from where it comes.`,
    cause === undefined ? {} : { cause },
  );
}
