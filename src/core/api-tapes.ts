/** For what reads the tapes of sessions. */
export type { EntryOf, MessageEntry, TapeEntry } from './session/entry.ts';
