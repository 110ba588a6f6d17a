import { stat } from 'node:fs/promises';
import * as z from 'zod';
import type { App } from '../../app.ts';
import type { MemoryText } from '../../memory/files/memory-file.ts';
import type { Version } from '../../memory/files/versions.ts';
import { WAS_MARKED } from '../../files/marks.ts';
import { ifThere } from '../../storage/files.ts';
import { AppError } from '../../util/errors.ts';
import { countText } from '../../util/text.ts';
import { fileVersion } from './memory.ts';
import { listOf, operation } from './operation.ts';

/** The files that say who the assistant is, what it knows and what it looks after, each with what it is for. */
const ABOUT = {
  'SOUL.md': 'Who the assistant is: personality, values and how it talks.',
  'AGENTS.md': 'Standing instructions for its work.',
  'USER.md': 'Who you are; only your direct chats see it.',
  'TOOLS.md': 'Notes on how to use its tools here.',
  'HEARTBEAT.md': 'Open tasks that it looks after by itself.',
  'MEMORY.md': 'What it remembers about you.',
  'HISTORY.md': 'What became of earlier conversations.',
} as const;

export type FileName = keyof typeof ABOUT;
const FILE_NAMES = Object.keys(ABOUT) as FileName[];

/** Characters after which a prompt cuts each of these files. */
const MAX_CHARACTERS = 20_000;
const REASON = 'an edit of the owner';
const ADDED_ONLY = 'The assistant adds to HISTORY.md by itself, so it cannot be edited here.';

const name = z.enum(FILE_NAMES).describe('Name of the file.');
const id = z.string().max(40).describe('Id of a version, as `filesLog` lists it.');

const fileText = z.object({
  /** Of HISTORY.md the end; configured secrets are masked. */
  text: z.string(),
  /** Of the whole file, for `filesWrite`. */
  hash: z.string(),
  maxCharacters: z.number(),
  writable: z.boolean(),
  /** Why it cannot be written, one sentence; null: it can. */
  locked: z.string().nullable(),
});
export type FileText = z.output<typeof fileText>;

export const filesList = operation({
  name: 'filesList',
  about: 'Lists the files that say who the assistant is, what it knows and what it looks after.',
  changes: null,
  input: z.object({}),
  output: listOf(
    z.object({
      name: z.enum(FILE_NAMES),
      /** What it is for, one sentence. */
      description: z.string(),
      /** Bytes; 0: there is none. */
      size: z.number(),
      changedAt: z.number().nullable(),
      /** The most that a prompt shows of it. A longer text is refused, unless it is shorter than the one before. */
      maxCharacters: z.number(),
      writable: z.boolean(),
    }),
  ),
  run: (app) =>
    Promise.all(
      FILE_NAMES.map(async (which) => {
        const facts = await ifThere(stat(fileOf(app, which)?.path ?? app.memory.historyPath));
        return {
          name: which,
          description: ABOUT[which],
          size: facts?.size ?? 0,
          changedAt: facts?.mtimeMs ?? null,
          maxCharacters: MAX_CHARACTERS,
          writable: which !== 'HISTORY.md',
        };
      }),
    ),
});

export const filesRead = operation({
  name: 'filesRead',
  about:
    'Returns the text of one of these files, and its hash, which `filesWrite` needs; of a long HISTORY.md it returns the end.',
  changes: null,
  input: z.object({ name }),
  output: fileText,
  run: async (app, { name: which }) => {
    const found = fileOf(app, which);
    const { text, hash } = (await found?.read()) ?? (await app.memory.readHistory());
    const locked = found === null ? ADDED_ONLY : lockOf(app, which, text);
    return { text: app.redact(text), hash, maxCharacters: MAX_CHARACTERS, writable: locked === null, locked };
  },
});

export const filesWrite = operation({
  name: 'filesWrite',
  about:
    'Replaces the text of a file and keeps the one before as a version; `file-changed` if the file no longer has this hash, `file-too-long` for a text that no prompt would show whole, `file-locked` for a file that cannot be edited here.',
  changes: 'files',
  input: z.object({
    name,
    text: z.string().max(1_048_576).describe('The whole new text.'),
    hash: z.string().max(64).describe('The hash of the text that it was made from, as `filesRead` returned it.'),
  }),
  output: z.object({ hash: z.string() }),
  audit: ({ name: which, text, hash }) =>
    `files write ${which}, ${text.length} characters in the place of ${hash.slice(0, 12)}`,
  run: async (app, { name: which, text, hash }) => {
    const file = writable(app, which);
    const now = await file.read();
    const locked = lockOf(app, which, now.text);
    if (locked !== null) throw new AppError('file-locked', locked);
    if (text.length > MAX_CHARACTERS && text.length > now.text.length) throw tooLong(which, text.length);
    const path = app.marks.realOf(file.path);
    const isMarked = app.marks.authorOf(path) !== null;
    const written = await file.replace(text, hash, isMarked ? REASON + WAS_MARKED : REASON);
    if (!written.ok || written.hash === undefined) throw changed(which);
    await app.marks.forgetFile(path);
    if (which === 'MEMORY.md') app.search.scheduleSync();
    return { hash: written.hash };
  },
});

export const filesLog = operation({
  name: 'filesLog',
  about: 'Lists the earlier versions of a file, newest first.',
  changes: null,
  input: z.object({ name }),
  output: listOf(fileVersion),
  run: async (app, { name: which }) => (await fileOf(app, which)?.log()) ?? [],
});

export const filesVersion = operation({
  name: 'filesVersion',
  about: 'Returns an earlier version of a file; `memory-version` if there is none with this id.',
  changes: null,
  input: z.object({ name, id }),
  output: z.object({ version: fileVersion, text: z.string() }),
  run: async (app, { name: which, id: version }) => {
    const found = await writable(app, which).version(version);
    return { version: found.version, text: app.redact(found.text) };
  },
});

export const filesRestore = operation({
  name: 'filesRestore',
  about:
    'Makes a version the present text of a file and keeps the present one as a version; `memory-version` if there is none with this id.',
  changes: 'files',
  input: z.object({ name, id }),
  output: z.object({ hash: z.string() }),
  run: async (app, { name: which, id: version }) => {
    const file = writable(app, which);
    const { reason } = await file.restore(version);
    if (reason.endsWith(WAS_MARKED)) await app.marks.record([{ path: app.marks.realOf(file.path) }], 'outside');
    if (which === 'MEMORY.md') app.search.scheduleSync();
    return { hash: (await file.read()).hash };
  },
});

/** A file with its versions, as the operations see each of them. */
interface VersionedFile {
  readonly path: string;
  readonly read: () => Promise<MemoryText>;
  readonly replace: (
    text: string,
    ifHash: string,
    reason: string,
  ) => Promise<{ readonly ok: boolean; readonly hash?: string }>;
  readonly log: () => Promise<readonly Version[]>;
  readonly version: (id: string) => Promise<{ readonly version: Version; readonly text: string }>;
  readonly restore: (id: string) => Promise<Version>;
}

/** Null: it has no versions, since it is only added to. */
function fileOf({ keptFiles, memory }: App, which: FileName): VersionedFile | null {
  if (which === 'HISTORY.md') return null;
  if (which !== 'MEMORY.md') {
    const file = keptFiles[which];
    return {
      path: file.path,
      read: () => file.read(),
      replace: (text, ifHash, reason) => file.replace(text, { ifHash, reason }),
      log: () => file.log(),
      version: (version) => file.version(version),
      restore: (version) => file.restore(version),
    };
  }
  return {
    path: memory.path,
    read: () => memory.read(),
    replace: (text, ifHash, reason) => memory.replace(text, { ifHash, reason, allowShrink: true }),
    log: () => memory.log(),
    version: async (given) => {
      const { version, text } = await memory.show(given);
      if (version === null) throw new Error('a version was asked for');
      return { version, text };
    },
    restore: (version) => memory.restore(version),
  };
}

function writable(app: App, which: FileName): VersionedFile {
  const found = fileOf(app, which);
  if (found === null) throw new AppError('file-locked', ADDED_ONLY);
  return found;
}

/** What is masked when it is shown would be lost when it is written back. */
function lockOf(app: App, which: FileName, text: string): string | null {
  return app.redact(text) === text
    ? null
    : `${which} holds a secret that is not shown here, so it cannot be edited here. Open ${fileOf(app, which)?.path ?? which} in an editor.`;
}

function tooLong(which: FileName, length: number): AppError {
  return new AppError(
    'file-too-long',
    `${which} may have ${countText(MAX_CHARACTERS)} characters, because a prompt shows no more of it; this text has ${countText(length)}. Shorten it and save again.`,
    { facts: { length, maxCharacters: MAX_CHARACTERS } },
  );
}

function changed(which: FileName): AppError {
  return new AppError(
    'file-changed',
    `${which} was changed meanwhile, so nothing was written. Read it again, and make your change in the new text.`,
  );
}
