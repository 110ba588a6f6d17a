import { backup, DatabaseSync } from 'node:sqlite';
import { schemaOf, type SchemaFacts } from './open-database.ts';

/** Pages of a step; progress is told after each. */
const PAGES = 2_000;

/**
 * Copies an SQLite file by SQLite's own means, also while another process writes into it: the copy is the file at one
 * moment, which a read transaction holds until the copy is whole. `to` must not
 * exist; remove it when this rejects. Returns the schema of the copy.
 */
export async function copyDatabase(
  from: string,
  to: string,
  onProgress: (share: number) => void = () => {},
): Promise<SchemaFacts> {
  const source = new DatabaseSync(from, { timeout: 5_000 });
  try {
    // Without it each commit of the other process would begin the copy anew.
    source.exec('BEGIN; SELECT count(*) FROM sqlite_schema');
    const progress = ({ totalPages, remainingPages }: { totalPages: number; remainingPages: number }): void =>
      onProgress(totalPages === 0 ? 1 : 1 - remainingPages / totalPages);
    await backup(source, to, { rate: PAGES, progress });
    return schemaOf(source);
  } finally {
    source.close();
  }
}

/** The schema of a file that no other process has open. */
export function readSchema(path: string): SchemaFacts {
  using db = new DatabaseSync(path, { timeout: 5_000 });
  return schemaOf(db);
}
