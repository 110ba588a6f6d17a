import { open, stat } from 'node:fs/promises';
import { sleep, type Clock } from '../util/clock.ts';
import { ifThere } from './files.ts';
import { logFilePaths } from './log-file.ts';
import { NEWLINE, readLinesBackwards } from './read-lines.ts';

const CHUNK_BYTES = 65_536;
/** How often a followed log is looked at, milliseconds. */
const POLL_MS = 200;
/** How often the files may change places while they are read. */
const MOST_ATTEMPTS = 5;

/** A place in a log: the file, known by its inode because it gets another name, and a byte in it. */
export interface LogPosition {
  readonly inode: number;
  readonly offset: number;
}

interface PresentFile {
  readonly path: string;
  readonly inode: number;
  /** Bytes. */
  readonly size: number;
}

/**
 * The last lines of a log that `wanted` returns something for, oldest first, and the place behind them; older files of the
 * log too. Stops at the first line that is `tooOld`. A line that is still being written is left out. Null: there is no log.
 */
export async function readLog<Line>(
  path: string,
  options: {
    readonly most: number;
    readonly wanted: (line: string) => Line | null;
    readonly tooOld: (line: string) => boolean;
  },
): Promise<{ readonly lines: readonly Line[]; readonly end: LogPosition } | null> {
  for (let attempt = 1; ; attempt += 1) {
    const files = await presentFiles(path);
    const [newest] = files;
    if (newest === undefined) return null;
    const end = { inode: newest.inode, offset: await endOfLastLine(newest) };
    const lines = await lastLines(files, end.offset, options);
    // A file that got another name meanwhile would be read twice or not at all.
    const after = await presentFiles(path);
    const isSame = files.every(({ inode }, at) => inode === after[at]?.inode);
    if (isSame || attempt === MOST_ATTEMPTS) return { lines, end };
  }
}

/**
 * The lines that are added to a log after `from` (null: after its beginning), until the signal; each one time, also when
 * the file gets another name and a new one begins, or is cut to nothing.
 */
export async function* followLog(
  path: string,
  options: { readonly from: LogPosition | null; readonly clock: Clock; readonly signal: AbortSignal },
): AsyncGenerator<string> {
  const { clock, signal } = options;
  let at = options.from;
  while (!signal.aborted) {
    for (const file of sinceThen(await presentFiles(path), at)) {
      const offset = file.inode === at?.inode && at.offset <= file.size ? at.offset : 0;
      const added = await addedTo(file, offset);
      if (added === null) break;
      yield* added.lines;
      at = { inode: file.inode, offset: added.end };
    }
    await sleep(clock, POLL_MS, signal).catch(() => {});
  }
}

/**
 * The files of a log that are there, newest first. One after the other in this order: a file only moves on to the next
 * name, so none is missed, though it may be met twice.
 */
async function presentFiles(path: string): Promise<readonly PresentFile[]> {
  const found = new Map<number, PresentFile>();
  for (const one of logFilePaths(path)) {
    const facts = await ifThere(stat(one));
    if (facts === undefined) continue;
    found.delete(facts.ino);
    found.set(facts.ino, { path: one, inode: facts.ino, size: facts.size });
  }
  return [...found.values()];
}

/** The file of a position and those that came after it, oldest first; all if that file is gone. */
function sinceThen(files: readonly PresentFile[], at: LogPosition | null): readonly PresentFile[] {
  const index = files.findIndex(({ inode }) => inode === at?.inode);
  return (index === -1 ? files : files.slice(0, index + 1)).toReversed();
}

async function lastLines<Line>(
  files: readonly PresentFile[],
  end: number,
  { most, wanted, tooOld }: Parameters<typeof readLog<Line>>[1],
): Promise<readonly Line[]> {
  const newestFirst: Line[] = [];
  for (const [index, { path }] of files.entries()) {
    const lines = readLinesBackwards(path, index === 0 ? { end } : {});
    for await (const { bytes } of lines) {
      if (newestFirst.length >= most) return newestFirst.toReversed();
      const line = bytes.toString('utf8');
      if (tooOld(line)) return newestFirst.toReversed();
      const found = wanted(line);
      if (found !== null) newestFirst.push(found);
    }
  }
  return newestFirst.toReversed();
}

async function endOfLastLine({ path, size }: PresentFile): Promise<number> {
  for await (const { torn, offset } of readLinesBackwards(path, { end: size })) return torn ? offset : size;
  return 0;
}

/** The whole lines of a file from a byte on, and where they end; null if its path has another file by now. */
async function addedTo(
  { path, inode }: PresentFile,
  offset: number,
): Promise<{ readonly lines: readonly string[]; readonly end: number } | null> {
  const handle = await ifThere(open(path, 'r'));
  if (handle === undefined) return null;
  try {
    if ((await handle.stat()).ino !== inode) return null;
    const chunks: Buffer[] = [];
    for (let from = offset; ;) {
      const { buffer, bytesRead } = await handle.read(Buffer.allocUnsafe(CHUNK_BYTES), 0, CHUNK_BYTES, from);
      if (bytesRead === 0) break;
      chunks.push(buffer.subarray(0, bytesRead));
      from += bytesRead;
    }
    const bytes = Buffer.concat(chunks);
    const length = bytes.lastIndexOf(NEWLINE) + 1;
    const text = bytes.subarray(0, length).toString('utf8');
    return { lines: text === '' ? [] : text.slice(0, -1).split('\n'), end: offset + length };
  } finally {
    await handle.close();
  }
}
