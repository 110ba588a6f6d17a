import { createHash } from 'node:crypto';
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { SearchSource } from './retriever.ts';
import { singlesOf, wordsOf } from './words.ts';
import { cut } from '../../util/text.ts';

/** Something that can be found. */
export interface SearchDocument {
  /** Names it in its file. */
  readonly key: string;
  readonly source: SearchSource;
  readonly session: string | null;
  readonly turn: string | null;
  readonly at: number | null;
  readonly role: string | null;
  readonly untrusted: boolean;
  /** Of a turn of somebody with fewer rights than the owner. @default false */
  readonly belowOwner?: boolean;
  readonly text: string;
}

/** Characters of one document that are indexed. */
const LONGEST = 20_000;
const LONGEST_WORD = 40;

/** The word that stands for a session in the index. */
export function scopeWord(session: string | null): string {
  return session === null ? 'own' : `s${createHash('sha256').update(session).digest('hex').slice(0, 20)}`;
}

/** Adds documents to the index and takes them out. */
export class IndexWriter {
  readonly #db: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();
  /** Words whose spelling is indexed, as far as they were met since it was opened. */
  readonly #known = new Set<string>();

  constructor(db: DatabaseSync) {
    this.#db = db;
  }

  /** Runs `work` as one transaction. */
  together(work: () => void): void {
    this.#db.exec('BEGIN IMMEDIATE');
    try {
      work();
      this.#db.exec('COMMIT');
    } catch (error) {
      this.#known.clear();
      // A full disk may have rolled it back already.
      if (this.#db.isTransaction) this.#db.exec('ROLLBACK');
      throw error;
    }
  }

  /** A document that is there already stays as it is. */
  add(file: string, document: SearchDocument): void {
    const text = cut(document.text, LONGEST).toWellFormed();
    if (text.trim() === '') return;
    const { key, source, session, turn, at, role, untrusted, belowOwner = false } = document;
    const { changes, lastInsertRowid } = this.#run(
      `INSERT OR IGNORE INTO documents (file, key, source, session, turn, at, role, untrusted, text)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      [file, key, source, session, turn, at, role, untrusted ? 1 : belowOwner ? 2 : 0, text],
    );
    if (changes === 0) return;
    const words = wordsOf(text);
    this.#run('INSERT INTO words (rowid, body, singles, scope) VALUES (?, ?, ?, ?)', [
      lastInsertRowid,
      words.join(' '),
      singlesOf(text),
      scopeWord(session),
    ]);
    for (const word of new Set(words)) this.#learn(word);
  }

  /** Takes out those of a file, or those of it that `keep` does not name. */
  removeFile(file: string, keep?: ReadonlySet<string>): void {
    const rows = this.#prepare('SELECT id, key FROM documents WHERE file = ?').all(file);
    for (const { id, key } of rows) if (keep?.has(String(key)) !== true) this.#remove(Number(id));
  }

  removeTurns(session: string, turns: readonly string[]): void {
    for (const turn of turns) {
      const rows = this.#prepare('SELECT id FROM documents WHERE session = ? AND turn = ?').all(session, turn);
      for (const { id } of rows) this.#remove(Number(id));
    }
  }

  #remove(id: number): void {
    this.#run('DELETE FROM words WHERE rowid = ?', [id]);
    this.#run('DELETE FROM vectors WHERE document = ?', [id]);
    this.#run('DELETE FROM documents WHERE id = ?', [id]);
  }

  #learn(word: string): void {
    if (word.length < 4 || word.length > LONGEST_WORD || this.#known.has(word)) return;
    this.#known.add(word);
    const { changes } = this.#run('INSERT OR IGNORE INTO known (word) VALUES (?)', [word]);
    if (changes > 0) this.#run('INSERT INTO spellings (word) VALUES (?)', [word]);
  }

  #run(sql: string, values: readonly (string | number | bigint | null)[]): ReturnType<StatementSync['run']> {
    return this.#prepare(sql).run(...values);
  }

  #prepare(sql: string): StatementSync {
    const known = this.#statements.get(sql) ?? this.#db.prepare(sql);
    this.#statements.set(sql, known);
    return known;
  }
}
