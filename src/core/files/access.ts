import type { Stats } from 'node:fs';
import { basename, relative, resolve } from 'node:path';
import type { Inside, PathGuard } from '../security/paths/open-inside.ts';
import { changedSince, refused } from '../security/paths/pinned.ts';
import type { PathAccess, PathCaller } from '../security/paths/rules.ts';
import { escapeControlChars } from '../security/text/control-characters.ts';
import { LARGEST_COPY, type ChangeLog } from '../storage/change-log.ts';
import { AppError } from '../util/errors.ts';
import { failureLine } from '../tools/registry/result.ts';
import type { ApprovalRequest, EffectTarget, Planned, ToolContext } from '../tools/tool.ts';
import { decodeText } from './text.ts';
import { WAS_MARKED, weakerOf, type MarkAuthor, type Marks } from './marks.ts';

/** A file whose earlier texts are kept for the owner, such as MEMORY.md. */
export interface VersionedFile {
  /** Keeps the present text. */
  readonly keepPresent: (reason: string) => Promise<void>;
  /** True for a change that loses so much that the owner is asked. @default never */
  readonly losesTooMuch?: (after: string) => Promise<boolean>;
}

/** What a tool that changes files is given. */
export interface FileAccess {
  /** The versioned file at a path; undefined for any other. @default no file has versions */
  readonly versioned?: (path: string) => Promise<VersionedFile | undefined>;
  readonly guard: PathGuard;
  /** Records a file's old content durably before each write. */
  readonly changes: Pick<ChangeLog, 'recordChange'>;
  /** Which files may hold untrusted text. @default none */
  readonly marks?: Marks;
}

/** A file as a tool reads it. */
export interface FileContent {
  /** The real path. */
  readonly path: string;
  /** Of the file on the disk. */
  readonly stat: Stats;
  readonly bytes: Buffer;
  /** What is on the disk, where a `FileStore` shows the file. */
  readonly saved?: Buffer;
}

/** What a write replaces; null: nothing. A file too large for a copy comes without its bytes. */
export type ReplacedFile = (Omit<FileContent, 'bytes'> & { readonly bytes: Buffer | null }) | null;

/** What a write left behind. */
export interface WrittenFile {
  /** What is on the disk, where the store saved something else. */
  readonly found?: Buffer;
  /** For the model. */
  readonly note?: string;
}

/** Keeps the texts of a conversation's files instead of the disk, such as the editor in which they are open. */
export interface FileStore {
  /** The file with the text that the store has; the same file where it has none. */
  read(saved: FileContent, place: Inside, context: ToolContext): Promise<FileContent>;
  /** Takes a new text. Null: it takes none, and nothing was written. Throws when the file isn't `before` any more. */
  write(place: Inside, change: StoredChange, context: ToolContext): Promise<WrittenFile | null>;
}

export interface StoredChange {
  /** As the model named it. */
  readonly path: string;
  readonly bytes: Uint8Array;
  readonly before: ReplacedFile;
}

/** On whose behalf a tool opens a path. */
export function callerOf({ person, conversation, files }: ToolContext): PathCaller {
  const { role, chatType, who } = person;
  const { readRoots, roots = [] } = files;
  return { role, chatType, who, taint: conversation.taint, readRoots, roots };
}

/** Opens a path for a call that is already allowed; a yes covers exactly the path that was shown. Throws a sentence. */
export async function openAllowed(
  guard: PathGuard,
  { path, access }: { readonly path: string; readonly access: PathAccess },
  context: ToolContext,
): Promise<Inside> {
  const place = await guard.openInside(path, access, callerOf(context));
  if (place.asks === null || context.approval?.covers === place.path) return place;
  place[Symbol.dispose]();
  throw refused(`This needs a yes from the owner: ${place.asks}.`);
}

/**
 * The plan of a call about a path, and about `more` of them. What was opened is held until the call is over; `planFor` gets
 * it, all by the paths as they were given.
 */
export async function planInside(
  guard: PathGuard,
  {
    path,
    more = [],
    access,
  }: { readonly path: string; readonly more?: readonly string[]; readonly access: PathAccess },
  context: ToolContext,
  planFor: (place: Inside, places: ReadonlyMap<string, Inside>) => Planned | Promise<Planned>,
): Promise<Planned> {
  const places = new Map<string, Inside>();
  const close = async (): Promise<void> => {
    for (const place of places.values()) place[Symbol.dispose]();
  };
  try {
    const first = await guard.openInside(path, access, callerOf(context));
    places.set(path, first);
    for (const other of more) {
      if (!places.has(other)) places.set(other, await guard.openInside(other, access, callerOf(context)));
    }
    const planned = await planFor(first, places);
    if (!('denied' in planned)) return { ...planned, close };
    await close();
    return planned;
  } catch (error) {
    await close();
    return { denied: failureLine(error) };
  }
}

/** The question whether a path may be read; undefined: nobody is asked. */
export function askToRead({ asks, path }: Inside): ApprovalRequest | undefined {
  if (asks === null) return undefined;
  return { title: 'Read a file', detail: escapeControlChars(path), reason: asks, path };
}

/**
 * The question about a change, also about one that loses too much of a versioned file; undefined: nobody is asked. `after`:
 * the new text, null: it isn't known. `preview`: what is shown of the change.
 */
export async function askToChange(
  { versioned }: FileAccess,
  { asks, path }: Inside,
  change: { readonly title: string; readonly after: string | null; readonly preview: () => string | Promise<string> },
): Promise<ApprovalRequest | undefined> {
  const file = asks === null && change.after !== null ? await versioned?.(path) : undefined;
  const isLoss = (await file?.losesTooMuch?.(change.after ?? '')) === true;
  const reason = isLoss ? `less than half of ${basename(path)} would be left` : asks;
  if (reason === null) return undefined;
  return { title: change.title, detail: `${escapeControlChars(path)}\n${await change.preview()}`, reason, path };
}

/** The file of a path as a receipt names it: from the workspace on where it lies in it. */
export function fileTarget(path: string, { files: { workingDirectory } }: ToolContext): EffectTarget {
  const whole = resolve(workingDirectory, path);
  const inside = relative(workingDirectory, whole);
  return { kind: 'file', target: inside === '' || inside.startsWith('..') ? whole : inside };
}

/** What is on the disk. */
export async function readOpened(place: Inside): Promise<FileContent> {
  await using handle = await place.open();
  return { path: place.path, stat: place.pinned.stat, bytes: await handle.readFile() };
}

/** The whole file, as the store of the conversation has it. Throws a sentence for files over 50 MB. */
export async function readWhole(place: Inside, path: string, context: ToolContext): Promise<FileContent> {
  requireReadable(place, path);
  const saved = await readOpened(place);
  return (await context.files.store?.read(saved, place, context)) ?? saved;
}

/** Throws a sentence for files over 50 MB, and where there is none. */
export function requireReadable(place: Inside, path: string): void {
  const { size } = place.pinned.stat;
  if (size <= LARGEST_COPY) return;
  const why = `${path} has ${size} bytes; files over 50 MB are not read. Use exec with head, tail or grep.`;
  throw new AppError('file-too-large', why);
}

/** What a write would replace now. */
export async function readReplaced(place: Inside, context: ToolContext): Promise<ReplacedFile> {
  const { stat, path } = place;
  if (stat === null) return null;
  return stat.size > LARGEST_COPY ? { path, stat, bytes: null } : await readWhole(place, path, context);
}

/** Replaces a file, or makes it, in the store of the conversation where that takes it, else on the disk. */
export async function putFile(place: Inside, change: StoredChange, context: ToolContext): Promise<WrittenFile> {
  const stored = await context.files.store?.write(place, change, context);
  if (stored == null) await place.write(change.bytes);
  return stored ?? {};
}

/**
 * The one way for a tool to create or replace a file: what is there is kept for /undo first; when it cannot be kept,
 * nothing is written. Refuses when the file is not the one that was opened, or not what it was made from (`read`). The file
 * is marked with the author of what is written; new text by the owner clears the file's own mark.
 */
export async function writeThrough(
  { changes, marks, versioned }: FileAccess,
  place: Inside,
  {
    path,
    bytes,
    read,
    before = read,
    author = null,
  }: {
    /** As the model named it. */
    readonly path: string;
    readonly bytes: Uint8Array;
    /** What it was made from. @default nothing */
    readonly read?: FileContent | null;
    readonly before?: ReplacedFile;
    /** Another author of the new content. @default none */
    readonly author?: MarkAuthor | null;
  },
  context: ToolContext,
): Promise<WrittenFile> {
  // It was to be new.
  if (before === null && place.stat !== null) throw changedSince(path);
  const replaced = before === undefined ? await readReplaced(place, context) : before;
  const { sessionKey, turnId, id: callId } = context.call;
  const mode = (place.stat?.mode ?? 0o600) & 0o777;
  const change = { sessionKey, turnId, callId, path: place.path };
  const known = marks?.authorOf(place.path) ?? null;
  const authors = [authorOf(context), author, read == null ? null : (marks?.authorOf(read.path) ?? null)];
  const theirs = authors
    .filter((one) => one !== null)
    .reduce<MarkAuthor | null>((weak, one) => (weak === null ? one : weakerOf(weak, one)), null);
  await changes.recordChange({
    ...change,
    folders: place.newFolders,
    before: replaced === null ? null : { bytes: replaced.bytes, mode, author: known },
    after: bytes,
  });
  // The names of new folders are untrusted text, too.
  const named = [place.path, ...place.newFolders].map((one) => ({ path: one }));
  if (theirs !== null) await marks?.record(named, theirs);
  await (
    await versioned?.(place.path)
  )?.keepPresent(`a file tool changed ${basename(place.path)}${known === null ? '' : WAS_MARKED}`);
  const written = await putFile(place, { path, bytes, before: replaced }, context);
  if (written.found !== undefined) {
    await changes.recordChange({ ...change, before: { bytes, mode, author: theirs }, after: written.found });
  }
  if (theirs === null) await marks?.forgetFile(place.path);
  return written;
}

/** The author of what a call writes; null: the owner or the assistant. */
function authorOf({ conversation, person }: ToolContext): MarkAuthor | null {
  if (conversation.taint.untrusted) return 'outside';
  return person.role === 'owner' ? null : person.role;
}

/** The text that a change replaces, for a preview. A file that may not be read as freely stays unseen. */
export async function freeText(
  guard: PathGuard,
  { path }: Inside,
  before: ReplacedFile,
  context: ToolContext,
): Promise<string> {
  if (before?.bytes == null) return '';
  const decoded = decodeText(before.bytes);
  if ('binary' in decoded) return '';
  try {
    using readable = await guard.openInside(path, 'read', callerOf(context));
    return readable.asks === null ? decoded.text : '';
  } catch {
    return '';
  }
}
