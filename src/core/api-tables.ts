/** For tables of its own in the journal. */
export type { Journal } from './journal/journal.ts';
export { unfinishedTurn } from './journal/rows.ts';
export type { Swept } from './journal/rows.ts';
export type { SweptJournal, Tables } from './journal/tables.ts';
export type { Database, Row } from './storage/database.ts';
export { added } from './storage/open-database.ts';
export type { Aged, Sweep } from './journal/tables.ts';
export type { Migration } from './storage/open-database.ts';
