/** For what reads the tapes of sessions. */
export type { AssistantEntry, CallNote, EntryOf, TapeEntry, ToolEntry } from './session/entry.ts';
export { turnOf } from './session/turns.ts';
export type { ModelCall, TapeTurn, ToolResultStep } from './session/turns.ts';
