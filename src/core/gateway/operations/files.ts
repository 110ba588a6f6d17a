import * as z from 'zod';
import type { FileVersion } from './memory.ts';
import { answers } from './operation.ts';

/** The files that say who the assistant is, what it knows and what it looks after. */
export const FILE_NAMES = [
  'SOUL.md',
  'AGENTS.md',
  'USER.md',
  'TOOLS.md',
  'HEARTBEAT.md',
  'MEMORY.md',
  'HISTORY.md',
] as const;

export type FileName = (typeof FILE_NAMES)[number];

export interface FileFacts {
  readonly name: FileName;
  /** What it is for, one sentence. */
  readonly description: string;
  /** Bytes; 0: there is none. */
  readonly size: number;
  readonly changedAt: number | null;
  /** The most that a prompt shows of it. A longer text is refused, unless it is shorter than the one before. */
  readonly maxCharacters: number;
  readonly writable: boolean;
}

export interface FileText {
  /** Of HISTORY.md the end; configured secrets are masked. */
  readonly text: string;
  /** Of the whole file, for `filesWrite`. */
  readonly hash: string;
  readonly maxCharacters: number;
  readonly writable: boolean;
  /** Why it cannot be written, one sentence; null: it can. */
  readonly locked: string | null;
}

const name = z.enum(FILE_NAMES).describe('Name of the file.');
const id = z.string().max(40).describe('Id of a version, as `filesLog` lists it.');

export const files = {
  filesList: answers<readonly FileFacts[]>()({
    description: 'Lists the files that say who the assistant is, what it knows and what it looks after.',
    role: 'owner',
    changes: false,
    params: z.object({}),
  }),
  filesRead: answers<FileText>()({
    description:
      'Returns the text of one of these files, and its hash, which `filesWrite` needs; of a long HISTORY.md it returns the end.',
    role: 'owner',
    changes: false,
    params: z.object({ name }),
  }),
  filesWrite: answers<{ readonly hash: string }>()({
    description:
      'Replaces the text of a file and keeps the one before as a version; `file-changed` if the file no longer has this hash, `file-too-long` for a text that no prompt would show whole, `file-locked` for a file that cannot be edited here.',
    role: 'owner',
    changes: true,
    params: z.object({
      name,
      text: z.string().max(1_048_576).describe('The whole new text.'),
      hash: z.string().max(64).describe('The hash of the text that it was made from, as `filesRead` returned it.'),
    }),
    audit: ({ name: which, text, hash }) =>
      `files write ${which}, ${text.length} characters in the place of ${hash.slice(0, 12)}`,
  }),
  filesLog: answers<readonly FileVersion[]>()({
    description: 'Lists the earlier versions of a file, newest first.',
    role: 'owner',
    changes: false,
    params: z.object({ name }),
  }),
  filesVersion: answers<{ readonly version: FileVersion; readonly text: string }>()({
    description: 'Returns an earlier version of a file; `memory-version` if there is none with this id.',
    role: 'owner',
    changes: false,
    params: z.object({ name, id }),
  }),
  filesRestore: answers<{ readonly hash: string }>()({
    description:
      'Makes a version the present text of a file and keeps the present one as a version; `memory-version` if there is none with this id.',
    role: 'owner',
    changes: true,
    params: z.object({ name, id }),
  }),
};
