import { existsSync } from 'node:fs';
import type { PairedRole } from '../bus/messages.ts';
import type { Row } from '../storage/database.ts';
import { openToRead } from '../storage/open-database.ts';
import { JournalStore } from './rows.ts';

/** A person who got a role by a pairing code. */
export interface Person {
  readonly channel: string;
  /** The platform's immutable id. */
  readonly id: string;
  /** The name that the person chose on the platform; not verified. */
  readonly name: string | null;
  readonly role: PairedRole;
  /** Milliseconds since 1970. */
  readonly addedAt: number;
  readonly addedBy: string;
}

/** The people who were paired by a code, in addition to those in the configuration. */
export class People extends JournalStore {
  /** The role of a paired person; undefined: not paired. */
  pairedRole(channel: string, id: string): PairedRole | undefined {
    const row = this.journal.db.get('SELECT role FROM people WHERE channel = ? AND user_id = ?', channel, id);
    return row === undefined ? undefined : asPairedRole(row.text('role'));
  }

  /** The paired people of a channel or of all channels, oldest first. */
  list(channel?: string): readonly Person[] {
    const rows = this.journal.db.all('SELECT * FROM people ORDER BY added_at, channel, user_id').map(toPerson);
    return channel === undefined ? rows : rows.filter((person) => person.channel === channel);
  }

  /** Changes the role of a paired person; undefined when the person is not paired. */
  setRole(channel: string, id: string, role: PairedRole): Promise<Person | undefined> {
    const { db } = this.journal;
    return db.write(() => {
      db.run('UPDATE people SET role = ? WHERE channel = ? AND user_id = ?', role, channel, id);
      const row = db.get('SELECT * FROM people WHERE channel = ? AND user_id = ?', channel, id);
      return row === undefined ? undefined : toPerson(row);
    });
  }

  /** Inserts or replaces a person within the caller's transaction. */
  insert({ channel, id, role, name, addedAt, addedBy }: Person): void {
    this.journal.db.run(
      'INSERT OR REPLACE INTO people (channel, user_id, role, name, added_at, added_by) VALUES (?, ?, ?, ?, ?, ?)',
      channel,
      id,
      role,
      name,
      addedAt,
      addedBy,
    );
  }

  /** Removes a paired person and returns the row; undefined when the person was not paired. */
  remove(channel: string, id: string): Promise<Person | undefined> {
    const { db } = this.journal;
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
    role: asPairedRole(row.text('role')),
    addedAt: row.number('added_at'),
    addedBy: row.text('added_by'),
  };
}

/** An unknown role is the least one. */
export function asPairedRole(role: string): PairedRole {
  return role === 'owner' || role === 'trusted' ? role : 'guest';
}

/** The paired people, read from the file of a journal that no process has open; empty when it cannot be read. */
export function peopleOnDisk(path: string): readonly Pick<Person, 'channel' | 'id' | 'role'>[] {
  const rows = rowsOnDisk(path, 'SELECT channel, user_id, role FROM people');
  return rows.map((row) => ({
    channel: String(row['channel']),
    id: String(row['user_id']),
    role: asPairedRole(String(row['role'])),
  }));
}

/** The newest direct chat of an owner, read from the file of a closed journal; undefined when none or it cannot be read. */
export function ownersChatOnDisk(path: string): { readonly channel: string; readonly chatId: string } | undefined {
  const [row] = rowsOnDisk(
    path,
    `SELECT channel, chat FROM inbound WHERE role = 'owner' AND origin = 'user' AND channel NOT IN ('terminal', 'web')
     AND json_extract(payload, '$.chatType') = 'direct' ORDER BY seq DESC LIMIT 1`,
  );
  return row === undefined ? undefined : { channel: String(row['channel']), chatId: String(row['chat']) };
}

function rowsOnDisk(path: string, sql: string): readonly Readonly<Record<string, unknown>>[] {
  if (!existsSync(path)) return [];
  try {
    const db = openToRead(path, { isOpen: false });
    try {
      return db.prepare(sql).all();
    } finally {
      db.close();
    }
  } catch {
    return [];
  }
}
