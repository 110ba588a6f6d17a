import { closeSync, openSync, readSync } from 'node:fs';
import { type TapeEntry, saidIn } from '../../session/entry.ts';
import { parseEntry } from '../../session/tape.ts';
import type { SearchDocument } from './index-writer.ts';

export interface TapePart {
  /** Null while the tape did not say. */
  readonly session: string | null;
  /** What was said in turns that ended. */
  readonly documents: readonly SearchDocument[];
  /** Turns that were taken back. */
  readonly retracted: readonly string[];
  /** Where to read on: behind the last line that need not be read again. */
  readonly offset: number;
}

const CHUNK = 1 << 20;
const NEWLINE = 0x0a;

/**
 * Reads the lines of a tape from an offset on. A turn counts once it has ended: the next read starts where the
 * newest unfinished turn began. Damaged lines are skipped.
 */
export function readTapeFrom(
  path: string,
  { from, size, session }: { readonly from: number; readonly size: number; readonly session: string | null },
): TapePart {
  const documents: SearchDocument[] = [];
  const retracted: string[] = [];
  let key = session;
  let open: { readonly turn: string; readonly offset: number; readonly entries: TapeEntry[] } | undefined;
  let end = from;
  for (const { bytes, offset, next } of linesOf(path, from, size)) {
    end = next;
    const entry = parseEntry(bytes);
    if (entry === undefined) continue;
    if (entry.kind === 'session') key = entry.key;
    if (entry.kind === 'retract') retracted.push(...entry.turns);
    if (entry.turn === null) continue;
    if (open?.turn !== entry.turn) open = { turn: entry.turn, offset, entries: [] };
    open.entries.push(entry);
    if (entry.kind !== 'turn-end') continue;
    // What was said after strangers' words came in may repeat them.
    let untrusted = false;
    const belowOwner = open.entries.some((one) => one.kind === 'turn-start' && one.role !== 'owner');
    for (const said of open.entries) {
      untrusted ||= said.untrusted === true;
      documents.push(...documentsOf(said, { session: key, untrusted, belowOwner }));
    }
    open = undefined;
  }
  return { session: key, documents, retracted, offset: open?.offset ?? end };
}

function documentsOf(
  entry: TapeEntry,
  facts: Required<Pick<SearchDocument, 'session' | 'untrusted' | 'belowOwner'>>,
): readonly SearchDocument[] {
  if (entry.kind !== 'message' || entry.role === 'tool') return [];
  const { id, turn, at, role } = entry;
  return [{ key: id, source: 'session', turn, at, role, ...facts, text: saidIn(entry) }];
}

/** Whole lines only: a torn last one is read when it is whole. */
function* linesOf(
  path: string,
  from: number,
  size: number,
): Generator<{ readonly bytes: Buffer; readonly offset: number; readonly next: number }> {
  const file = openSync(path, 'r');
  try {
    let rest = Buffer.alloc(0);
    let offset = from;
    let read = from;
    while (read < size) {
      const chunk = Buffer.allocUnsafe(Math.min(CHUNK, size - read));
      const length = readSync(file, chunk, 0, chunk.length, read);
      if (length === 0) return;
      read += length;
      rest = Buffer.concat([rest, chunk.subarray(0, length)]);
      let start = 0;
      for (let at = rest.indexOf(NEWLINE); at >= 0; at = rest.indexOf(NEWLINE, start)) {
        const next = offset + at + 1 - start;
        yield { bytes: rest.subarray(start, at), offset, next };
        offset = next;
        start = at + 1;
      }
      rest = rest.subarray(start);
    }
  } finally {
    closeSync(file);
  }
}
