import type { Cursor } from '../bus/messages.ts';
import { JournalStore, type JournalDatabase } from './rows.ts';

/** At most this many cursors of one channel are kept; the ones that moved longest ago are deleted. */
const MOST_CURSORS = 5_000;

/** The read cursors of channels whose platform does not take acknowledgements. */
export class CursorStore extends JournalStore {
  /** The cursors of one channel: place → platform id of the newest message read. The one that moved last comes last. */
  of(channel: string): ReadonlyMap<string, string> {
    const rows = this.journal.db.all(
      'SELECT place, last FROM cursors WHERE channel = ? ORDER BY updated_at, place',
      channel,
    );
    return new Map(rows.map((row) => [row.text('place'), row.text('last')]));
  }
}

/** Stores cursors within the caller's transaction. */
export function moveCursors({ db, clock }: JournalDatabase, cursors: readonly Cursor[]): void {
  for (const { channel, place, last } of cursors) {
    db.run(
      `INSERT INTO cursors (channel, place, last, updated_at) VALUES (?, ?, ?, ?)
       ON CONFLICT (channel, place) DO UPDATE SET last = excluded.last, updated_at = excluded.updated_at`,
      channel,
      place,
      last,
      clock.now(),
    );
  }
  for (const channel of new Set(cursors.map((cursor) => cursor.channel))) {
    const count = db.get('SELECT count(*) AS n FROM cursors WHERE channel = ?', channel)?.number('n') ?? 0;
    if (count <= MOST_CURSORS) continue;
    db.run(
      `DELETE FROM cursors WHERE channel = ? AND place IN
         (SELECT place FROM cursors WHERE channel = ? ORDER BY updated_at LIMIT ?)`,
      channel,
      channel,
      count - MOST_CURSORS,
    );
  }
}
