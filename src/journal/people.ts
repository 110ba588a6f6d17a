import type { Row } from '../storage/database.ts';
import type { LedgerPorts } from './rows.ts';

/** Somebody who was let in by a code. */
export interface Person {
  readonly channel: string;
  /** The platform's immutable id. */
  readonly id: string;
  /** As they call themselves; nothing is known to be true of it. */
  readonly name: string | null;
  readonly role: 'trusted';
  /** Milliseconds since 1970. */
  readonly addedAt: number;
  readonly addedBy: string;
}

/** Who was let in beside those whom the configuration lists. */
export class People {
  readonly #ports: LedgerPorts;

  constructor(ports: LedgerPorts) {
    this.#ports = ports;
  }

  isPaired(channel: string, id: string): boolean {
    return this.#ports.db.get('SELECT 1 FROM people WHERE channel = ? AND user_id = ?', channel, id) !== undefined;
  }

  /** Oldest first. */
  list(): readonly Person[] {
    return this.#ports.db.all('SELECT * FROM people ORDER BY added_at, channel, user_id').map(toPerson);
  }

  /** Part of a transaction of the caller's. */
  insert({ channel, id, role, name, addedAt, addedBy }: Person): void {
    this.#ports.db.run(
      'INSERT OR REPLACE INTO people (channel, user_id, role, name, added_at, added_by) VALUES (?, ?, ?, ?, ?, ?)',
      channel,
      id,
      role,
      name,
      addedAt,
      addedBy,
    );
  }

  /** Shuts somebody out again; undefined when they were not let in. */
  remove(channel: string, id: string): Promise<Person | undefined> {
    const { db } = this.#ports;
    return db.write(() => {
      const row = db.get('SELECT * FROM people WHERE channel = ? AND user_id = ?', channel, id);
      db.run('DELETE FROM people WHERE channel = ? AND user_id = ?', channel, id);
      return row === undefined ? undefined : toPerson(row);
    });
  }
}

function toPerson(row: Row): Person {
  return {
    channel: row.text('channel'),
    id: row.text('user_id'),
    name: row.textOrNull('name'),
    role: 'trusted',
    addedAt: row.number('added_at'),
    addedBy: row.text('added_by'),
  };
}
