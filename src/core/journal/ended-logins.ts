import { JournalStore } from './rows.ts';

/** Logins of browsers that a person ended by logging out, by the hash of their cookie. */
export class EndedLogins extends JournalStore {
  has(hash: string): boolean {
    return this.journal.db.get('SELECT hash FROM ended_logins WHERE hash = ?', hash) !== undefined;
  }

  /** Ends a login for good; durable when it resolves. `until`: when its cookie expires anyway, ms since 1970. */
  add(hash: string, until: number): Promise<void> {
    const { db, clock } = this.journal;
    return db.write(() => {
      db.run('DELETE FROM ended_logins WHERE until <= ?', clock.now());
      db.run('INSERT OR REPLACE INTO ended_logins (hash, until) VALUES (?, ?)', hash, until);
    });
  }
}
