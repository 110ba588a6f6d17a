import { JournalStore } from './rows.ts';

/** So many free choices has a chat within a day. */
const MOST = 3;
const DAY_MS = 24 * 3_600_000;

/**
 * Counts fetches of addresses that only outsiders named, and choices on web pages, that needed no approval (table
 * `free_choices`). Which of them are made could spell a secret, so the count is per chat and continues across conversations.
 */
export class FreeChoices extends JournalStore {
  /** Takes a free choice for this call; false if they are used up. A counted call may be repeated, such as after a crash. */
  take(callId: string, chat: string): Promise<boolean> {
    const { db, clock } = this.journal;
    return db.write(() => {
      db.run('DELETE FROM free_choices WHERE at <= ?', clock.now() - DAY_MS);
      if (db.get('SELECT 1 FROM free_choices WHERE call_id = ?', callId) !== undefined) return true;
      const made = db.get('SELECT count(*) AS made FROM free_choices WHERE chat = ?', chat)?.number('made') ?? 0;
      if (made >= MOST) return false;
      db.run('INSERT INTO free_choices (call_id, chat, at) VALUES (?, ?, ?)', callId, chat, clock.now());
      return true;
    });
  }
}
