import { added } from '../../storage/open-database.ts';

/** Migration: paths that may hold untrusted text. */
export const markTable = added(`
  CREATE TABLE marks (
    path      TEXT PRIMARY KEY,
    author    TEXT NOT NULL,
    is_folder INTEGER NOT NULL,
    at        INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
`);
