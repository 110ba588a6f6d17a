import { JournalStore } from './rows.ts';

/** So many choices among what only outsiders named need no approval in one chat within a day. */
const MOST = 3;
const DAY_MS = 24 * 3_600_000;

/**
 * The choices among addresses that only outsiders named, which nobody was asked about (table `free_choices`). Each could tell
 * them something, so they are counted by the chat, across conversations.
 */
export class FreeChoices extends JournalStore {
  /** Whether this call may make one. A call that was counted may be made again, as after a crash. */
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
