import { createHash } from 'node:crypto';
import type { DatabaseSync } from 'node:sqlite';
import type { SearchQuery } from '../search/retriever.ts';
import { scopeCondition } from '../search/scope.ts';
import { timeCondition } from '../search/time-condition.ts';
import { smallOf, VectorMatrix } from './matrix.ts';

/** A text that has no vector of a model. */
export interface TextToEmbed {
  /** Of the document. */
  readonly id: number;
  readonly text: string;
}

export interface Missing {
  readonly texts: readonly TextToEmbed[];
  /** How many documents have a vector of the model, and how many there are. */
  readonly embedded: number;
  readonly total: number;
}

/** A document that means what a question does. */
export interface Near {
  readonly id: number;
  /** Cosine, up to 1. */
  readonly similarity: number;
}

export const VECTOR_TABLES = `
  CREATE TABLE vectors (
    document INTEGER NOT NULL,
    model    TEXT NOT NULL,
    hash     TEXT NOT NULL,
    scale    REAL NOT NULL,
    small    BLOB NOT NULL,
    vector   BLOB NOT NULL,
    UNIQUE (document, model)
  ) STRICT;
  CREATE INDEX vectors_hash ON vectors (hash);
`;

/** Characters of a text that a vector is made of; models read little more. */
const LONGEST = 2_000;
/** Documents that are read again with all digits, for each one that is wanted. */
const REREAD = 4;

/** Vectors of documents in the database of the index: one row for each document and model, with the hash of its text. */
export class Vectors {
  readonly #db: DatabaseSync;
  #loaded: { readonly model: string; readonly matrix: VectorMatrix } | undefined;

  constructor(db: DatabaseSync) {
    this.#db = db;
  }

  /**
   * The newest documents without a vector of a model, at most `most` with `characters` in all, and one at least. One with the
   * same text as another gets its vector at once. When none is missing, those of other models are deleted.
   */
  missing(model: string, { most, characters }: { readonly most: number; readonly characters: number }): Missing {
    this.#copyKnown(model);
    const rows = this.#db
      .prepare(
        `SELECT d.id, substr(d.text, 1, ${LONGEST}) AS text FROM documents d
         WHERE NOT EXISTS (SELECT 1 FROM vectors v WHERE v.document = d.id AND v.model = ?) ORDER BY d.id DESC LIMIT ?`,
      )
      .all(model, most);
    const texts: TextToEmbed[] = [];
    let length = 0;
    for (const row of rows) {
      const text = String(row['text']).toWellFormed();
      length += text.length;
      if (texts.length > 0 && length > characters) break;
      texts.push({ id: Number(row['id']), text });
    }
    if (rows.length === 0) this.#db.prepare('DELETE FROM vectors WHERE model <> ?').run(model);
    const count = (sql: string, ...values: string[]): number =>
      Number(this.#db.prepare(sql).get(...values)?.['n'] ?? 0);
    return {
      texts,
      embedded: count('SELECT count(*) AS n FROM vectors WHERE model = ?', model),
      total: count('SELECT count(*) AS n FROM documents'),
    };
  }

  /** Keeps vectors of length 1; an empty one marks a text that the model does not take. A document that is gone is passed over. */
  keep(
    model: string,
    made: readonly { readonly id: number; readonly text: string; readonly vector: Float32Array }[],
  ): void {
    const put = this.#db.prepare(
      `INSERT OR REPLACE INTO vectors (document, model, hash, scale, small, vector)
       SELECT id, ?, ?, ?, ?, ? FROM documents WHERE id = ? AND substr(text, 1, ${LONGEST}) = ?`,
    );
    this.#together(() => {
      for (const { id, text, vector } of made) {
        const small = smallOf(vector);
        const { scale, values } = small;
        const { changes } = put.run(model, hashOf(text), scale, bytesOf(values), bytesOf(vector), id, text);
        if (changes > 0 && this.#loaded?.model === model) this.#loaded.matrix.add(id, small);
      }
    });
  }

  /** What means the most like a question, within the query's scope and times, best first. */
  near(
    query: SearchQuery,
    { model, vector }: { readonly model: string; readonly vector: Float32Array },
    most: number,
  ): readonly Near[] {
    if (this.#loaded?.model !== model) this.#loaded = { model, matrix: this.#load(model, vector.length) };
    const { matrix } = this.#loaded;
    if (matrix.dimensions !== vector.length) return [];
    const { candidates, floor } = matrix.nearest(vector, { most: most * REREAD, isAllowed: this.#allowed(query) });
    const exact = this.#db.prepare('SELECT vector FROM vectors WHERE document = ? AND model = ?');
    return candidates
      .flatMap((id): readonly Near[] => {
        const bytes = exact.get(id, model)?.['vector'];
        return bytes instanceof Uint8Array ? [{ id, similarity: dot(vector, floatsOf(bytes)) }] : [];
      })
      .filter(({ similarity }) => similarity >= floor)
      .toSorted((a, b) => b.similarity - a.similarity)
      .slice(0, most);
  }

  #load(model: string, dimensions: number): VectorMatrix {
    const matrix = new VectorMatrix(dimensions);
    // The whole vectors behind the small ones are four times as much to read.
    for (const row of this.#db.prepare('SELECT document, scale, small FROM vectors WHERE model = ?').iterate(model)) {
      const { small } = row;
      if (!(small instanceof Uint8Array)) continue;
      const values = new Int8Array(small.buffer, small.byteOffset, small.byteLength);
      matrix.add(Number(row['document']), { values, scale: Number(row['scale']) });
    }
    return matrix;
  }

  /** Undefined: everything may be found. */
  #allowed(query: SearchQuery): ((id: number) => boolean) | undefined {
    const scope = scopeCondition(query.scope);
    const time = timeCondition(query);
    if (scope.values.length + time.values.length === 0) return undefined;
    const rows = this.#db
      .prepare(`SELECT d.id FROM documents d WHERE ${scope.sql} AND ${time.sql}`)
      .all(...scope.values, ...time.values);
    const ids = new Set(rows.map(({ id }) => Number(id)));
    return (id) => ids.has(id);
  }

  /** Many short texts are said again and again. */
  #copyKnown(model: string): void {
    const rows = this.#db
      .prepare(
        `SELECT d.id, substr(d.text, 1, ${LONGEST}) AS text FROM documents d
         WHERE length(d.text) <= 80 AND NOT EXISTS (SELECT 1 FROM vectors v WHERE v.document = d.id AND v.model = ?)
         ORDER BY d.id DESC LIMIT 500`,
      )
      .all(model);
    const copy = this.#db.prepare(
      `INSERT OR IGNORE INTO vectors (document, model, hash, scale, small, vector)
       SELECT ?1, model, hash, scale, small, vector FROM vectors WHERE hash = ?2 AND model = ?3 LIMIT 1`,
    );
    this.#together(() => {
      for (const { id, text } of rows) {
        const { changes } = copy.run(Number(id), hashOf(String(text).toWellFormed()), model);
        if (changes > 0) this.#loaded = undefined;
      }
    });
  }

  #together(work: () => void): void {
    this.#db.exec('BEGIN IMMEDIATE');
    try {
      work();
      this.#db.exec('COMMIT');
    } catch (error) {
      if (this.#db.isTransaction) this.#db.exec('ROLLBACK');
      throw error;
    }
  }
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 32);
}

function bytesOf({ buffer, byteOffset, byteLength }: Float32Array | Int8Array): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}

function floatsOf(bytes: Uint8Array): Float32Array {
  return new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength));
}

function dot(a: Float32Array, b: Float32Array): number {
  if (a.length !== b.length) return 0;
  let sum = 0;
  for (let at = 0; at < a.length; at += 1) sum += (a[at] ?? 0) * (b[at] ?? 0);
  return sum;
}
