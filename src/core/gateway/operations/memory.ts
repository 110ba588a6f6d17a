import * as z from 'zod';
import { mentionsText } from '../../agent/commands/memory.ts';
import type { FactRecord } from '../../memory/facts/source.ts';
import { endText, sourceText } from '../../memory/facts/text.ts';
import { listOf, operation } from './operation.ts';

/** An earlier text of a file whose versions are kept. */
export const fileVersion = z.object({
  id: z.string(),
  /** When it was kept, milliseconds since 1970. */
  at: z.number(),
  /** Why it was replaced, or what it was proposed for. */
  reason: z.string(),
  /** Bytes. */
  size: z.number(),
  /** A proposal was refused as the present text, and waits for a person. */
  kind: z.enum(['kept', 'proposed']),
});
export type FileVersion = Readonly<z.output<typeof fileVersion>>;

const id = z.string().describe('Id of a version, as `memoryLog` lists it.');

export const memoryLog = operation({
  name: 'memoryLog',
  about: 'Lists the earlier versions of MEMORY.md, newest first.',
  changes: null,
  input: z.object({}),
  output: listOf(fileVersion),
  run: ({ memory }) => memory.log(),
});

export const memoryShow = operation({
  name: 'memoryShow',
  about: 'Returns MEMORY.md as it is now, or a version of it; `memory-version` if there is none with this id.',
  changes: null,
  input: z.object({ id: id.exactOptional() }),
  output: z.object({
    /** Null: the present text. */
    version: fileVersion.nullable(),
    text: z.string(),
  }),
  run: ({ memory }, given) => memory.show(given.id),
});

const MOST_PAST = 200;

/** A fact of MEMORY.md, and where it comes from; times in milliseconds since 1970. */
const listedFact = z.object({
  fact: z.string(),
  /** What wrote it, e.g. `memory_write`, `consolidation`, or `edit`: a person changed the file. */
  how: z.string(),
  /** The conversation and the turn in which it was told; null: none, or not known. */
  session: z.string().nullable(),
  turn: z.string().nullable(),
  /** When it was told, or written in the file. */
  since: z.number(),
  /** The same in words. */
  source: z.string(),
  /** Null: it stands in the file. */
  ended: z
    .object({
      at: z.number(),
      how: z.string(),
      session: z.string().nullable(),
      turn: z.string().nullable(),
      /** The fact that took its place; null: none did. */
      replacedBy: z.string().nullable(),
      /** The same in words. */
      text: z.string(),
    })
    .nullable(),
});

export const memoryFacts = operation({
  name: 'memoryFacts',
  about:
    'Lists the facts of MEMORY.md in its order, each with when and where it was told; with `past` those that no longer stand there, the last ones first, at most 200.',
  changes: null,
  input: z.object({ past: z.boolean().exactOptional().describe('Those that no longer stand there.') }),
  output: listOf(listedFact),
  run: async ({ memory, config }, { past = false }) => {
    const { timezone } = config.agent;
    const toListed = (fact: string, record: FactRecord): z.input<typeof listedFact> => {
      const { how, session, turn, since, ended } = record;
      const source = sourceText(record, timezone);
      return { fact, how, session, turn, since, source, ended: ended && { ...ended, text: endText(record, timezone) } };
    };
    if (past) return (await memory.endedFacts(MOST_PAST)).map((record) => toListed(record.fact, record));
    return (await memory.facts()).map(({ fact, record }) => toListed(fact, record));
  },
});

export const memoryRestore = operation({
  name: 'memoryRestore',
  about:
    'Makes a version the present text of MEMORY.md and keeps the present one as a version; `memory-version` if there is none with this id.',
  changes: 'memory',
  input: z.object({ id }),
  output: fileVersion,
  run: ({ memory }, given) => memory.restore(given.id),
});

/** Where something is mentioned that is to be forgotten, and what becomes of it. */
const forgetting = z.object({
  /** How many files of each kind. */
  files: z.record(z.string(), z.number()),
  /** Rows of the journal. */
  rows: z.number(),
  /** Lines that mention it, at most 50 of each file. */
  lines: listOf(z.string()),
  /** Files of the person that mention it and stay as they are, relative to the home. */
  left: listOf(z.string()),
  /** Backups in the home, which keep what they hold. */
  backups: listOf(z.string()),
  /** The same in words for the person who is asked. */
  shown: z.string(),
  /** `found`: nothing is erased. `restarts`: the program starts anew and erases it. `later`: the next start does. */
  state: z.enum(['found', 'restarts', 'later']),
});
export type Forgetting = z.output<typeof forgetting>;

export const memoryForget = operation({
  name: 'memoryForget',
  about:
    'Shows what mentions these words in one line of the memory, of conversations or of their copies; with `erase` all of it is erased for good at the next start, which follows at once where something starts the program again. `forget-words` for words that could be anywhere.',
  changes: 'memory',
  input: z.object({
    words: z.string().max(500).describe('Words that a line has to have, without regard to capitals and punctuation.'),
    erase: z.boolean().exactOptional().describe('Erase it; without this it is only looked for.'),
  }),
  output: forgetting,
  audit: ({ erase }) => `memory forget (${erase === true ? 'erased' : 'looked for'})`,
  run: async (app, { words, erase = false }) => {
    const found = await app.forgetting.lookFor(words);
    const state: Forgetting['state'] = erase ? await app.forgetting.forget(words, null) : 'found';
    return { ...found, shown: mentionsText(found), state };
  },
});
