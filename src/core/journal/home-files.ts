import type { Row } from '../storage/database.ts';
import type { HomeFileRecord } from '../storage/home-files.ts';
import { JournalStore } from './rows.ts';

/** SQL: all records. */
export const HOME_FILES = 'SELECT path, bytes, seen_at FROM home_files';

/** What the home's own files were like, so that a later look can say what is missing. */
export class HomeFileRecords extends JournalStore {
  /** By path within the home. */
  all(): ReadonlyMap<string, HomeFileRecord> {
    return homeFilesOf(this.journal.db.all(HOME_FILES));
  }

  /** Replaces some records; null removes one, so that its file is no longer expected. */
  keep(records: ReadonlyMap<string, HomeFileRecord | null>): Promise<void> {
    const { db } = this.journal;
    return db.write(() => {
      for (const [path, record] of records) {
        if (record === null) db.run('DELETE FROM home_files WHERE path = ?', path);
        else db.run('INSERT OR REPLACE INTO home_files VALUES (?, ?, ?)', path, record.bytes, record.seenAt);
      }
    });
  }
}

/** The rows of `HOME_FILES`, by path. */
export function homeFilesOf(rows: readonly Row[]): ReadonlyMap<string, HomeFileRecord> {
  return new Map(rows.map((row) => [row.text('path'), { bytes: row.number('bytes'), seenAt: row.number('seen_at') }]));
}
