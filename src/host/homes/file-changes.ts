import { createHash } from 'node:crypto';
import { open } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { contentsUnder, growsByLines, type Item } from '../../backup/contents.ts';
import { ifThere } from '../../core/storage/files.ts';
import type { FileChanges, FileSource } from './write-group.ts';
import type { Lease } from './lease.ts';
import type { Postgres } from './postgres.ts';
import { IS_UNNAMED, type Place, type Statement, tapeStatements } from './statements.ts';

/** A file of a home as PostgreSQL has it. */
export interface StoredFile {
  readonly size: number;
  readonly mode: number;
  /** Hex; of a link '' . */
  readonly sha256: string;
  /** Hashes of its pieces. */
  readonly chunks: readonly string[];
  /** Where a symbolic link leads; null for a file. */
  readonly target: string | null;
}

export interface HomeFilesOptions {
  readonly postgres: Postgres;
  readonly name: string;
  readonly lease: Pick<Lease, 'epoch'>;
  /** Absolute path of the home's folder. */
  readonly folder: string;
}

interface Known {
  /** Tells whether the file changed since it was read. */
  readonly facts: string;
  readonly file: StoredFile;
}

/** Bytes of a piece: a file that changes at its end sends only the last. */
const CHUNK_BYTES = 256 * 1024;
/** Bytes of pieces in one statement. */
const BATCH_BYTES = 4 * 1024 * 1024;

/** Kept in another way, or of this machine only: tapes, homes in this one, the marks of a copy. */
const NOT_FILES = /^(?:(?:sessions|agents)(?:\/.*)?|store(?:-copy)?\.json)$/u;

/** The settings of a home: a file like the others, but a folder with settings of its own keeps those. */
export const SETTINGS = 'config.json';

/** Whether a path below the home belongs into PostgreSQL as a file. */
export const isKept = (path: string): boolean => !NOT_FILES.test(path);

/** Files that grow line by line are kept like tapes, under a name that no session has. */
const growingName = (path: string): string => `/${path}`;

/**
 * The files of a home beside journal and tapes, by hash and in pieces. What changed is told by path; the next transaction
 * waits until it is read, and its list of files is committed with what that transaction says about them.
 */
export class HomeFiles implements FileSource {
  readonly #options: HomeFilesOptions;
  readonly #known = new Map<string, Known>();
  readonly #chunks = new Set<string>();
  /** Of files that changed or went since the last look at all files: perhaps no list names them any more. */
  #freed = new Set<string>();
  #touched = new Set<string>();

  constructor(options: HomeFilesOptions) {
    this.#options = options;
  }

  get any(): boolean {
    return this.#touched.size > 0;
  }

  /** A file or folder may have changed, appeared or gone. Absolute, or below the home; '' is all. */
  touched(path: string): void {
    const below = path.startsWith(sep) ? relative(this.#options.folder, path) : path;
    if (!below.startsWith('..') && isKept(below)) this.#touched.add(below.split(sep).join('/'));
  }

  /** Pieces that PostgreSQL has. */
  hasChunks(hashes: Iterable<string>): void {
    for (const hash of hashes) this.#chunks.add(hash);
  }

  /** The file here is the one that PostgreSQL has. */
  async isSame(path: string, file: StoredFile): Promise<void> {
    const [item] = await contentsUnder(this.#options.folder, path);
    if (item !== undefined) this.knows(item, file);
  }

  /** Like `isSame`, of a file that was looked at just now. */
  knows(item: Item, file: StoredFile): void {
    this.#known.set(item.path, { facts: factsOf(item), file });
  }

  /** What tells whether each file that PostgreSQL has changed since it was read or brought, by path; see `factsOf`. */
  facts(): ReadonlyMap<string, string> {
    return new Map(Array.from(this.#known, ([path, { facts }]) => [path, facts]));
  }

  async take(): Promise<FileChanges> {
    const touched = this.#touched;
    this.#touched = new Set();
    try {
      const found = new Map<string, Item>();
      for (const path of touched) {
        for (const item of await contentsUnder(this.#options.folder, path)) {
          if (item.type !== 'folder' && isKept(item.path)) found.set(item.path, item);
        }
      }
      const isBelow = (path: string): boolean =>
        Array.from(touched).some((one) => one === '' || path === one || path.startsWith(`${one}/`));
      const gone = Array.from(this.#known.keys()).filter((path) => !found.has(path) && isBelow(path));
      const changed = Array.from(found.values()).filter((item) => this.#known.get(item.path)?.facts !== factsOf(item));
      const read: ReadFile[] = [];
      for (const item of changed) read.push(...(await this.#read(item)));
      for (const path of gone) this.#forget(path);
      for (const { path, known } of read) {
        this.#forget(path);
        this.#known.set(path, known);
      }
      const isLook = touched.has('');
      return {
        isEmpty: gone.length === 0 && read.length === 0 && !(isLook && this.#freed.size > 0),
        statements: (place) => [
          ...gone.flatMap((path) => removal(place, path)),
          ...read.flatMap(({ path, known, appended }) =>
            appended === undefined
              ? [entry(place, path, known.file)]
              : tapeStatements(place, { session: growingName(path), ...appended }),
          ),
          ...(isLook ? this.#removeFreed(place) : []),
        ],
      };
    } catch (error) {
      for (const path of touched) this.#touched.add(path);
      throw error;
    }
  }

  #forget(path: string): void {
    for (const hash of this.#known.get(path)?.file.chunks ?? []) this.#freed.add(hash);
    this.#known.delete(path);
  }

  /**
   * Removes pieces that no list names, in the transaction with the lists. It is called when all files of the transaction were read, and
   * none is read before it is committed, so that a piece that was sent for a list to come is never among them.
   */
  #removeFreed({ home }: Place): readonly Statement[] {
    if (this.#freed.size === 0) return [];
    const named = new Set(Array.from(this.#known.values()).flatMap(({ file }) => file.chunks));
    const unnamed = Array.from(this.#freed).filter((hash) => !named.has(hash));
    this.#freed = new Set();
    for (const hash of unnamed) this.#chunks.delete(hash);
    if (unnamed.length === 0) return [];
    return [
      {
        text: `DELETE FROM assistant.chunks WHERE home = $1 AND hash = ANY($2)
          AND ${IS_UNNAMED}`,
        values: [home, unnamed],
      },
    ];
  }

  async #read(item: Item): Promise<readonly ReadFile[]> {
    const { path } = item;
    const facts = factsOf(item);
    if (item.type === 'link') {
      const file = { size: 0, mode: 0o777, sha256: '', chunks: [], target: item.target };
      return [{ path, known: { facts, file } }];
    }
    await using handle = await ifThere(open(join(this.#options.folder, path), 'r'));
    if (handle === undefined || item.type === 'folder') return [];
    const { mode } = item.facts;
    if (growsByLines(path)) {
      const before = this.#known.get(path);
      const isSame =
        before !== undefined && fileOf(before.facts) === fileOf(facts) && before.file.size <= item.facts.size;
      const at = isSame ? before.file.size : 0;
      const bytes = Buffer.alloc(item.facts.size - at);
      const { bytesRead } = await handle.read(bytes, 0, bytes.length, at);
      const file = { size: at + bytesRead, mode: mode & 0o777, sha256: '', chunks: [], target: null };
      return [{ path, known: { facts, file }, appended: { at, bytes: bytes.subarray(0, bytesRead), cuts: !isSame } }];
    }
    const whole = createHash('sha256');
    const chunks: string[] = [];
    let size = 0;
    let batch = new Map<string, Uint8Array>();
    for (;;) {
      const { buffer, bytesRead } = await handle.read(Buffer.alloc(CHUNK_BYTES), 0, CHUNK_BYTES, size);
      if (bytesRead === 0) break;
      const bytes = buffer.subarray(0, bytesRead);
      whole.update(bytes);
      size += bytesRead;
      const hash = createHash('sha256').update(bytes).digest('hex');
      chunks.push(hash);
      if (!this.#chunks.has(hash)) batch.set(hash, bytes);
      if (batch.size * CHUNK_BYTES < BATCH_BYTES) continue;
      await this.#send(batch);
      batch = new Map();
    }
    await this.#send(batch);
    const file = { size, mode: mode & 0o777, sha256: whole.digest('hex'), chunks, target: null };
    return [{ path, known: { facts, file } }];
  }

  /**
   * Sent before the transaction whose list names them; a piece that no list names does no harm. From an owner that lost the home
   * nothing is taken.
   */
  async #send(batch: ReadonlyMap<string, Uint8Array>): Promise<void> {
    if (batch.size === 0) return;
    const { postgres, name, lease } = this.#options;
    await postgres.query(
      `INSERT INTO assistant.chunks (home, hash, bytes) SELECT name, hash, bytes
       FROM unnest($3::text[], $4::bytea[]) AS c (hash, bytes), assistant.homes WHERE name = $1 AND epoch = $2
       ON CONFLICT DO NOTHING`,
      [name, lease.epoch, [...batch.keys()], [...batch.values()]],
    );
    this.hasChunks(batch.keys());
  }
}

interface ReadFile {
  readonly path: string;
  readonly known: Known;
  /** Of a file that grows by lines: what it has now from a byte on. */
  readonly appended?: { readonly at: number; readonly bytes: Uint8Array; readonly cuts: boolean };
}

/** Which file it is, and then what changes with its content. */
export function factsOf(item: Item): string {
  if (item.type === 'link') return `link ${item.target}`;
  const { ino, size, mtimeMs, ctimeMs, mode } = item.facts;
  return `${ino} ${size} ${mtimeMs} ${ctimeMs} ${mode}`;
}

const fileOf = (facts: string): string | undefined => facts.split(' ')[0];

function entry({ home, revision }: Place, path: string, file: StoredFile): Statement {
  return {
    text: `INSERT INTO assistant.files (home, path, size, mode, sha256, chunks, target, revision)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (home, path) DO UPDATE SET size = excluded.size,
      mode = excluded.mode, sha256 = excluded.sha256, chunks = excluded.chunks, target = excluded.target,
      revision = excluded.revision`,
    values: [home, path, file.size, file.mode, file.sha256, file.chunks, file.target, revision],
  };
}

function removal(place: Place, path: string): readonly Statement[] {
  if (growsByLines(path)) {
    return tapeStatements(place, { session: growingName(path), at: 0, bytes: new Uint8Array(), cuts: true });
  }
  return [{ text: 'DELETE FROM assistant.files WHERE home = $1 AND path = $2', values: [place.home, path] }];
}
