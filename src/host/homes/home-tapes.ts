import type { TapeStore } from '../../core/session/stored-tapes.ts';
import type { HomeWriter } from './home-writer.ts';
import type { Postgres } from './postgres.ts';

/** The tapes of a home in PostgreSQL. What is written shares a transaction with the journal's changes. */
export class HomeTapes implements TapeStore {
  readonly #postgres: Postgres;
  readonly #writer: HomeWriter;
  readonly #home: string;
  /** Bytes of each tape, where they are known for certain. */
  readonly #sizes = new Map<string, number>();

  constructor(home: string, { postgres, writer }: { readonly postgres: Postgres; readonly writer: HomeWriter }) {
    this.#home = home;
    this.#postgres = postgres;
    this.#writer = writer;
  }

  readonly list: TapeStore['list'] = async () => {
    const rows = await this.#postgres.query(
      `SELECT session, max(at + size) AS size FROM assistant.tapes WHERE home = $1 AND session NOT LIKE '/%' GROUP BY session`,
      [this.#home],
    );
    return rows.map((row) => ({ key: String(row['session']), size: Number(row['size']) }));
  };

  readonly read: TapeStore['read'] = async ({ key, from, length }) =>
    await readTape(this.#postgres, { home: this.#home, session: key, from, length });

  readonly write: TapeStore['write'] = async ({ key, at, bytes }, signal) => {
    const cuts = this.#sizes.get(key) !== at;
    this.#sizes.delete(key);
    await this.#writer.change({ session: key, at, bytes, cuts }, signal);
    this.#sizes.set(key, at + bytes.length);
  };

  /** Like `write`, but with the journal's next commit at the latest; another transaction may have it before. */
  writeWithJournal({ key, at, bytes }: Parameters<TapeStore['write']>[0]): void {
    this.#writer.changeLater({ session: key, at, bytes, cuts: this.#sizes.get(key) !== at });
    this.#sizes.set(key, at + bytes.length);
  }

  readonly remove: TapeStore['remove'] = async (key, signal) => {
    this.#sizes.delete(key);
    await this.#writer.change({ session: key, at: 0, bytes: new Uint8Array(), cuts: true }, signal);
  };
}

/** A part of a tape; shorter when the tape ends before. */
export async function readTape(
  postgres: Postgres,
  { home, session, from, length }: { home: string; session: string; from: number; length: number },
): Promise<Buffer> {
  const rows = await postgres.query(
    `SELECT at, bytes FROM assistant.tapes WHERE home = $1 AND session = $2 AND at < $3::bigint + $4 AND at + size > $3
     ORDER BY at`,
    [home, session, from, length],
  );
  const start = Number(rows[0]?.['at'] ?? from);
  const bytes = Buffer.concat(rows.map((row) => row['bytes']).filter((part) => part instanceof Uint8Array));
  return bytes.subarray(from - start, from - start + length);
}
