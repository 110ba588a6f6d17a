import { stat } from 'node:fs/promises';
import type { App } from '../../core/app.ts';
import { FILE_NAMES, type FileFacts, type FileName } from '../../core/gateway/operations/files.ts';
import type { RequestHandlers } from '../../core/gateway/operations/operations.ts';
import { type MemoryText } from '../../core/memory/files/memory-file.ts';
import type { MemoryStore } from '../../core/memory/files/store.ts';
import type { Version } from '../../core/memory/files/versions.ts';
import { ifThere } from '../../core/storage/files.ts';
import { AppError } from '../../core/util/errors.ts';
import { countText } from '../../core/util/text.ts';

type FileRequests = 'filesList' | 'filesRead' | 'filesWrite' | 'filesLog' | 'filesVersion' | 'filesRestore';

/** Characters after which a prompt cuts each of these files. */
const MAX_CHARACTERS = 20_000;
const REASON = 'an edit of the owner';
const ADDED_ONLY = 'The assistant adds to HISTORY.md by itself, so it cannot be edited here.';

const ABOUT: Readonly<Record<FileName, string>> = {
  'SOUL.md': 'Who the assistant is: personality, values and how it talks.',
  'AGENTS.md': 'Standing instructions for its work.',
  'USER.md': 'Who you are; only your direct chats see it.',
  'TOOLS.md': 'Notes on how to use its tools here.',
  'HEARTBEAT.md': 'Open tasks that it looks after by itself.',
  'MEMORY.md': 'What it remembers about you.',
  'HISTORY.md': 'What became of earlier conversations.',
};

/** A file with its versions, as the operations see each of them. */
interface VersionedFile {
  readonly path: string;
  readonly read: () => Promise<MemoryText>;
  readonly replace: (text: string, ifHash: string) => Promise<{ readonly ok: boolean; readonly hash?: string }>;
  readonly log: () => Promise<readonly Version[]>;
  readonly version: (id: string) => Promise<{ readonly version: Version; readonly text: string }>;
  readonly restore: (id: string) => Promise<Version>;
}

/** What a person may ask about the files that say who the assistant is and what it knows. */
export function fileRequests({ keptFiles, memory, search, redact }: App): Pick<RequestHandlers, FileRequests> {
  const fileFor = (name: FileName): VersionedFile | null => {
    if (name === 'HISTORY.md') return null;
    if (name === 'MEMORY.md') return versionedMemory(memory);
    const file = keptFiles[name];
    return {
      path: file.path,
      read: () => file.read(),
      replace: (text, ifHash) => file.replace(text, { ifHash, reason: REASON }),
      log: () => file.log(),
      version: (id) => file.version(id),
      restore: (id) => file.restore(id),
    };
  };
  const writable = (name: FileName): VersionedFile => {
    const found = fileFor(name);
    if (found === null) throw new AppError('file-locked', ADDED_ONLY);
    return found;
  };
  /** What is masked when it is shown would be lost when it is written back. */
  const lockOf = (name: FileName, text: string): string | null =>
    redact(text) === text
      ? null
      : `${name} holds a secret that is not shown here, so it cannot be edited here. Open ${fileFor(name)?.path ?? name} in an editor.`;
  return {
    filesList: () =>
      Promise.all(
        FILE_NAMES.map(async (name): Promise<FileFacts> => {
          const facts = await ifThere(stat(fileFor(name)?.path ?? memory.historyPath));
          return {
            name,
            description: ABOUT[name],
            size: facts?.size ?? 0,
            changedAt: facts?.mtimeMs ?? null,
            maxCharacters: MAX_CHARACTERS,
            writable: name !== 'HISTORY.md',
          };
        }),
      ),
    filesRead: async ({ name }) => {
      const found = fileFor(name);
      const { text, hash } = (await found?.read()) ?? (await memory.readHistory());
      const locked = found === null ? ADDED_ONLY : lockOf(name, text);
      return { text: redact(text), hash, maxCharacters: MAX_CHARACTERS, writable: locked === null, locked };
    },
    filesWrite: async ({ name, text, hash }) => {
      const file = writable(name);
      const now = await file.read();
      const locked = lockOf(name, now.text);
      if (locked !== null) throw new AppError('file-locked', locked);
      if (text.length > MAX_CHARACTERS && text.length > now.text.length) throw tooLong(name, text.length);
      const written = await file.replace(text, hash);
      if (!written.ok || written.hash === undefined) throw changed(name);
      if (name === 'MEMORY.md') search.scheduleSync();
      return { hash: written.hash };
    },
    filesLog: async ({ name }) => (await fileFor(name)?.log()) ?? [],
    filesVersion: async ({ name, id }) => {
      const { version, text } = await writable(name).version(id);
      return { version, text: redact(text) };
    },
    filesRestore: async ({ name, id }) => {
      const file = writable(name);
      await file.restore(id);
      if (name === 'MEMORY.md') search.scheduleSync();
      return { hash: (await file.read()).hash };
    },
  };
}

function versionedMemory(memory: MemoryStore): VersionedFile {
  return {
    path: memory.path,
    read: () => memory.read(),
    replace: (text, ifHash) => memory.replace(text, { ifHash, reason: REASON, allowShrink: true }),
    log: () => memory.log(),
    version: async (id) => {
      const { version, text } = await memory.show(id);
      if (version === null) throw new Error('a version was asked for');
      return { version, text };
    },
    restore: (id) => memory.restore(id),
  };
}

function tooLong(name: FileName, length: number): AppError {
  return new AppError(
    'file-too-long',
    `${name} may have ${countText(MAX_CHARACTERS)} characters, because a prompt shows no more of it; this text has ${countText(length)}. Shorten it and save again.`,
    { facts: { length, maxCharacters: MAX_CHARACTERS } },
  );
}

function changed(name: FileName): AppError {
  return new AppError(
    'file-changed',
    `${name} was changed meanwhile, so nothing was written. Read it again, and make your change in the new text.`,
  );
}
