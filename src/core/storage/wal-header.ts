import { closeSync, openSync, readSync } from 'node:fs';

/** Bytes of the header, of which the checksum covers all but the last eight. */
const HEADER_BYTES = 32;
/** The first word; its last bit says in which order the words of the checksum are. */
const MAGIC = 0x377f0682;

/**
 * Whether the write-ahead log of a database has a header that SQLite does not accept (https://sqlite.org/fileformat.html#walformat):
 * it would leave out the whole log without a word. Ask before the database is opened.
 */
export function isLogDiscarded(database: string): boolean {
  const header = Buffer.alloc(HEADER_BYTES);
  try {
    const file = openSync(`${database}-wal`, 'r');
    try {
      if (readSync(file, header, 0, HEADER_BYTES, 0) < HEADER_BYTES) return false;
    } finally {
      closeSync(file);
    }
  } catch {
    return false;
  }
  const magic = header.readUInt32BE(0);
  if ((magic & ~1) >>> 0 !== MAGIC) return true;
  const word = (at: number): number => ((magic & 1) === 1 ? header.readUInt32BE(at) : header.readUInt32LE(at));
  let [first, second] = [0, 0];
  for (let at = 0; at < HEADER_BYTES - 8; at += 8) {
    first = (first + word(at) + second) >>> 0;
    second = (second + word(at + 4) + first) >>> 0;
  }
  return first !== header.readUInt32BE(HEADER_BYTES - 8) || second !== header.readUInt32BE(HEADER_BYTES - 4);
}
