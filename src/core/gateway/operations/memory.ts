import * as z from 'zod';
import { answers } from './operation.ts';

/** An earlier text of a file whose versions are kept. */
export interface FileVersion {
  readonly id: string;
  /** When it was kept, milliseconds since 1970. */
  readonly at: number;
  /** Why it was replaced, or what it was proposed for. */
  readonly reason: string;
  /** Bytes. */
  readonly size: number;
  /** A proposal was refused as the present text, and waits for a person. */
  readonly kind: 'kept' | 'proposed';
}

/** Where something is mentioned that is to be forgotten, and what becomes of it. */
export interface Forgetting {
  /** How many files of each kind. */
  readonly files: Readonly<Record<string, number>>;
  /** Rows of the journal. */
  readonly rows: number;
  /** Lines that mention it, at most 50 of each file. */
  readonly lines: readonly string[];
  /** Files of the person that mention it and stay as they are, relative to the home. */
  readonly left: readonly string[];
  /** Backups in the home, which keep what they hold. */
  readonly backups: readonly string[];
  /** The same in words for the person who is asked. */
  readonly shown: string;
  /** `found`: nothing is erased. `restarts`: the program starts anew and erases it. `later`: the next start does. */
  readonly state: 'found' | 'restarts' | 'later';
}

/** A fact of MEMORY.md, and where it comes from; times in milliseconds since 1970. */
export interface ListedFact {
  readonly fact: string;
  /** What wrote it, e.g. `memory_write`, `consolidation`, or `edit`: a person changed the file. */
  readonly how: string;
  /** The conversation and the turn in which it was told; null: none, or not known. */
  readonly session: string | null;
  readonly turn: string | null;
  /** When it was told, or written in the file. */
  readonly since: number;
  /** The same in words. */
  readonly source: string;
  /** Null: it stands in the file. */
  readonly ended: {
    readonly at: number;
    readonly how: string;
    readonly session: string | null;
    readonly turn: string | null;
    /** The fact that took its place; null: none did. */
    readonly replacedBy: string | null;
    /** The same in words. */
    readonly text: string;
  } | null;
}

const id = z.string().describe('Id of a version, as `memoryLog` lists it.');

export const memory = {
  memoryLog: answers<readonly FileVersion[]>()({
    description: 'Lists the earlier versions of MEMORY.md, newest first.',
    role: 'owner',
    changes: false,
    params: z.object({}),
  }),
  memoryShow: answers<{ /** Null: the present text. */ readonly version: FileVersion | null; readonly text: string }>()(
    {
      description:
        'Returns MEMORY.md as it is now, or a version of it; `memory-version` if there is none with this id.',
      role: 'owner',
      changes: false,
      params: z.object({ id: id.exactOptional() }),
    },
  ),
  memoryFacts: answers<readonly ListedFact[]>()({
    description:
      'Lists the facts of MEMORY.md in its order, each with when and where it was told; with `past` those that no longer stand there, the last ones first, at most 200.',
    role: 'owner',
    changes: false,
    params: z.object({ past: z.boolean().exactOptional().describe('Those that no longer stand there.') }),
  }),
  memoryRestore: answers<FileVersion>()({
    description:
      'Makes a version the present text of MEMORY.md and keeps the present one as a version; `memory-version` if there is none with this id.',
    role: 'owner',
    changes: true,
    params: z.object({ id }),
  }),
  memoryForget: answers<Forgetting>()({
    description:
      'Shows what mentions these words in one line of the memory, of conversations or of their copies; with `erase` all of it is erased for good at the next start, which follows at once where something starts the program again. `forget-words` for words that could be anywhere.',
    role: 'owner',
    changes: true,
    audit: ({ erase }) => `memory forget (${erase === true ? 'erased' : 'looked for'})`,
    params: z.object({
      words: z.string().max(500).describe('Words that a line has to have, without regard to capitals and punctuation.'),
      erase: z.boolean().exactOptional().describe('Erase it; without this it is only looked for.'),
    }),
  }),
};
