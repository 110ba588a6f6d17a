/** For what reads the tapes of sessions. */
export type { EntryOf, MessageEntry, TapeEntry } from './session/entry.ts';
export { turnOf } from './session/turns.ts';
export type { ModelCall, ToolResultStep } from './session/turns.ts';
