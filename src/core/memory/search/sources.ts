import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync, type Stats } from 'node:fs';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { keyOfTapeName } from '../../session/tape-name.ts';
import { isEphemeral } from '../../util/ephemeral-session.ts';
import { errorCode } from '../../util/errors.ts';
import { instantOf, machineZone } from '../../util/time-zone.ts';
import { hasStrangersTag } from '../files/history-file.ts';
import type { SearchFiles } from './retriever.ts';
import { readTapeFrom } from './tape-text.ts';
import type { IndexWriter, SearchDocument } from './index-writer.ts';

/** What the index knows of a file. */
interface KnownFile {
  readonly session: string | null;
  readonly stamp: string;
  readonly offset: number;
}

const HISTORY = 'history';
const MEMORY = 'memory';

/** Brings the index up to date with the files. */
export function syncSources(files: SearchFiles, db: DatabaseSync, writer: IndexWriter): void {
  const known = new Map<string, KnownFile>();
  for (const row of db.prepare('SELECT path, session, stamp, offset FROM files').all()) {
    const session = row['session'] === null ? null : String(row['session']);
    known.set(String(row['path']), { session, stamp: String(row['stamp']), offset: Number(row['offset']) });
  }
  const save = db.prepare(
    `INSERT INTO files (path, session, stamp, offset) VALUES (?, ?, ?, ?)
     ON CONFLICT (path) DO UPDATE SET session = excluded.session, stamp = excluded.stamp, offset = excluded.offset`,
  );
  const forget = db.prepare('DELETE FROM files WHERE path = ?');

  for (const { name, stat } of tapesIn(files.sessions)) {
    const before = known.get(name);
    known.delete(name);
    if (before?.stamp === stampOf(stat)) continue;
    writer.together(() => {
      const grown = before !== undefined && inodeOf(before.stamp) === String(stat.ino) && stat.size >= before.offset;
      if (!grown) writer.removeFile(name);
      const path = join(files.sessions, name);
      const key = before?.session ?? keyOfTapeName(name) ?? null;
      const read = readTapeFrom(path, { from: grown ? before.offset : 0, size: stat.size, session: key });
      for (const document of read.documents) writer.add(name, document);
      if (read.session !== null) writer.removeTurns(read.session, read.retracted);
      save.run(name, read.session, stampOf(stat), read.offset);
    });
  }

  const texts = [
    { name: MEMORY, path: join(files.workspace, 'memory', 'MEMORY.md'), parse: factsOf },
    { name: HISTORY, path: join(files.workspace, 'memory', 'HISTORY.md'), parse: paragraphsOf },
  ];
  for (const { name, path, parse } of texts) {
    const stat = statSync(path, { throwIfNoEntry: false });
    const before = known.get(name);
    if (stat === undefined || !stat.isFile()) continue;
    known.delete(name);
    if (before?.stamp === stampOf(stat)) continue;
    writer.together(() => {
      const documents = parse(readFileSync(path, 'utf8'), files.timezone ?? machineZone());
      writer.removeFile(name, new Set(documents.map(({ key }) => key)));
      for (const document of documents) writer.add(name, document);
      save.run(name, null, stampOf(stat), stat.size);
    });
  }

  for (const gone of known.keys()) {
    writer.together(() => {
      writer.removeFile(gone);
      forget.run(gone);
    });
  }
}

/** Oldest change first, so that what is newest is added last. */
function tapesIn(folder: string): readonly { readonly name: string; readonly stat: Stats }[] {
  let names: readonly string[];
  try {
    names = readdirSync(folder);
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return [];
    throw error;
  }
  return names
    .filter((name) => {
      const key = keyOfTapeName(name);
      return key !== undefined && !(key !== null && isEphemeral(key));
    })
    .flatMap((name) => {
      const stat = statSync(join(folder, name), { throwIfNoEntry: false });
      return stat?.isFile() === true ? [{ name, stat }] : [];
    })
    .toSorted((a, b) => a.stat.mtimeMs - b.stat.mtimeMs);
}

function stampOf({ ino, size, mtimeMs }: Stats): string {
  return `${ino}:${size}:${mtimeMs}`;
}

function inodeOf(stamp: string): string {
  return stamp.split(':')[0] ?? '';
}

const OWN = { session: null, turn: null, role: null, untrusted: false } as const;

/** One document for each line of MEMORY.md that says something. */
function factsOf(text: string): readonly SearchDocument[] {
  return text
    .replaceAll(/<!--[\s\S]*?-->/gu, '')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => ({ ...OWN, key: keyOf(line), source: 'memory', at: null, text: line }));
}

/** One document for each paragraph of HISTORY.md. */
function paragraphsOf(text: string, zone: string): readonly SearchDocument[] {
  return text
    .replaceAll(/<!--[\s\S]*?-->/gu, '')
    .replaceAll('\r\n', '\n')
    .split(/\n\s*\n(?=\[\d{4}-)|\n(?=\[\d{4}-\d\d-\d\d \d\d:\d\d\])/u)
    .map((paragraph) => paragraph.trim())
    .filter((paragraph) => paragraph !== '' && !/^#[^\n]*$/u.test(paragraph))
    .map((paragraph) => ({
      ...OWN,
      untrusted: hasStrangersTag(paragraph),
      belowOwner: /^\[[^\]\n]*\] \([^()\n]*, (?:trusted|guest)\)/u.test(paragraph),
      key: keyOf(paragraph),
      source: 'history',
      at: timeOf(paragraph, zone),
      text: paragraph,
    }));
}

/** Of the paragraph's beginning. */
function timeOf(paragraph: string, zone: string): number | null {
  const match = /^\[(\d{4}-\d\d-\d\d) (\d\d:\d\d)\]/u.exec(paragraph);
  const at = match === null ? Number.NaN : Date.parse(`${match[1]}T${match[2]}:00Z`);
  return Number.isNaN(at) ? null : instantOf(at, zone);
}

function keyOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 24);
}
