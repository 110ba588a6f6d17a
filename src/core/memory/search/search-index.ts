import type { SearchFiles, MemoryHit, SearchQuery } from './retriever.ts';
import { closeSync, mkdirSync, openSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { mayBeDamage } from '../../storage/storage-failure.ts';
import { VECTOR_TABLES, Vectors } from '../meaning/vectors.ts';
import { findDocuments } from './find.ts';
import { IndexWriter } from './index-writer.ts';
import { syncSources } from './sources.ts';

/** Most documents that are found by meaning. */
const MOST_NEAR = 30;

/** What a question means, by a model. */
export interface QuestionVector {
  readonly model: string;
  /** Of length 1. */
  readonly vector: Float32Array;
}

export interface SearchIndex {
  /** Takes in what is new in the files. Cheap when nothing is. */
  sync(): void;
  /** `question`: what the query means, by a model. */
  search(query: SearchQuery, question: QuestionVector | null): readonly MemoryHit[];
  readonly vectors: Vectors;
  /** Closes and deletes it. */
  destroy(): void;
}

/** Raised with every change of the tables: an index of another version is made again. */
const VERSION = 4;

const TABLES = `
  CREATE TABLE files (path TEXT PRIMARY KEY, session TEXT, stamp TEXT NOT NULL, offset INTEGER NOT NULL) STRICT;
  CREATE TABLE documents (
    id        INTEGER PRIMARY KEY,
    file      TEXT NOT NULL,
    key       TEXT NOT NULL,
    source    TEXT NOT NULL,
    session   TEXT,
    turn      TEXT,
    at        INTEGER,
    role      TEXT,
    -- 1: it holds text of others; 2: it is of a turn of somebody with fewer rights than the owner.
    untrusted INTEGER NOT NULL,
    text      TEXT NOT NULL,
    UNIQUE (file, key)
  ) STRICT;
  CREATE INDEX documents_turn ON documents (session, turn);
  CREATE INDEX documents_at ON documents (at);
  CREATE VIRTUAL TABLE words USING fts5(
    body, singles, scope, content='', contentless_delete=1,
    tokenize="unicode61 remove_diacritics 2 categories 'L* N* Co So'");
  CREATE VIRTUAL TABLE vocabulary USING fts5vocab(words, row);
  CREATE TABLE known (word TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
  CREATE VIRTUAL TABLE spellings USING fts5(word, tokenize='trigram', detail=full);
  CREATE VIRTUAL TABLE trigrams USING fts5vocab(spellings, row);
  ${VECTOR_TABLES}
  PRAGMA user_version = ${VERSION};
`;

/** Opens the index, or makes a new one where it is lost, damaged or of another version. */
export function openSearchIndex(files: SearchFiles, log: (line: string) => void): SearchIndex {
  const db = openOrMake(files.database, log);
  const writer = new IndexWriter(db);
  const vectors = new Vectors(db);
  return {
    sync: () => syncSources(files, db, writer),
    search: (query, question) => {
      if (question === null || query.by === 'words') return findDocuments(db, query);
      return findDocuments(db, query, vectors.near(query, question, MOST_NEAR));
    },
    vectors,
    destroy: () => {
      db.close();
      remove(files.database);
    },
  };
}

function openOrMake(path: string, log: (line: string) => void): DatabaseSync {
  try {
    return open(path);
  } catch (error) {
    if (!mayBeDamage(error)) throw error;
    log(`The index of the memory could not be opened and is made again: ${String(error)}`);
    remove(path);
    return open(path);
  }
}

function open(path: string): DatabaseSync {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  closeSync(openSync(path, 'a', 0o600));
  const db = new DatabaseSync(path, { timeout: 2_000 });
  try {
    // Nothing here is lost that could not be made again.
    db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA cache_size = -16000;');
    const version = Number(db.prepare('PRAGMA user_version').get()?.['user_version'] ?? 0);
    if (version === VERSION) return db;
    if (version !== 0) throw new Error(`it has version ${version}, not ${VERSION}`);
    db.exec(`BEGIN IMMEDIATE; ${TABLES} COMMIT;`);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

function remove(path: string): void {
  for (const suffix of ['', '-wal', '-shm', '-journal']) rmSync(path + suffix, { force: true });
}
