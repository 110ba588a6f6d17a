import { basename } from 'node:path';
import type { Inside, PathGuard } from '../../security/paths/open-inside.ts';
import { changedSince } from '../../security/paths/pinned.ts';
import { LARGEST_COPY } from '../../storage/change-log.ts';
import { AppError } from '../../util/errors.ts';
import type { ToolContext } from '../tool.ts';
import { callerOf, type FileAccess } from './access.ts';
import { asEditorShows, readOpened, replaceFile, type ShownFile, type WrittenFile } from './editor-buffer.ts';
import { decodeText } from './file-text.ts';
import { holdsStrangers } from './taint.ts';

/** What a write replaces; null: nothing. A file too large for a copy comes without its bytes. */
export type ReplacedFile = (Omit<ShownFile, 'bytes'> & { readonly bytes: Buffer | null }) | null;

/** The whole file, as the editor of the conversation shows it where it does. Throws a sentence for files over 50 MB. */
export async function readWhole(place: Inside, path: string, context: ToolContext): Promise<ShownFile> {
  requireReadable(place, path);
  return await asEditorShows(await readOpened(place), place, context);
}

/** Throws a sentence for files over 50 MB, and where there is none. */
export function requireReadable(place: Inside, path: string): void {
  const { size } = place.pinned.stat;
  if (size <= LARGEST_COPY) return;
  throw new AppError(
    'file-too-large',
    `${path} has ${size} bytes; files over 50 MB are not read. Use exec with head, tail or grep.`,
  );
}

/** What a write would replace now. */
export async function readReplaced(place: Inside, context: ToolContext): Promise<ReplacedFile> {
  const { stat, path } = place;
  if (stat === null) return null;
  if (stat.size > LARGEST_COPY) return { path, stat, bytes: null };
  return await asEditorShows(await readOpened(place), place, context);
}

/**
 * The one way for a tool to create or replace a file: what is there is kept for /undo first; when it cannot be kept,
 * nothing is written. Refuses when the file is not the one that was opened, or not what it was made from (`read`). What is
 * written while strangers' text is in the conversation, or made from what they had a part in, is marked as theirs too.
 */
export async function writeThrough(
  { guard, changes, origins, versioned }: FileAccess,
  place: Inside,
  {
    path,
    bytes,
    read,
    before = read,
  }: {
    /** As the model named it. */
    readonly path: string;
    readonly bytes: Uint8Array;
    /** What it was made from. @default nothing */
    readonly read?: ShownFile | null;
    readonly before?: ReplacedFile;
  },
  context: ToolContext,
): Promise<WrittenFile> {
  // It was to be new.
  if (before === null && place.stat !== null) throw changedSince(path);
  const replaced = before === undefined ? await readReplaced(place, context) : before;
  const { sessionKey, turnId, id: callId } = context.call;
  const change = { sessionKey, turnId, callId, path: place.path };
  const mode = (place.stat?.mode ?? 0o600) & 0o777;
  await changes.recordChange({
    ...change,
    folders: place.newFolders,
    before: replaced === null ? null : { bytes: replaced.bytes, mode },
    after: bytes,
  });
  const isMade = read !== undefined && read !== null;
  const isTheirs = context.conversation.taint.untrusted || (isMade && (await holdsStrangers(origins, read)));
  if (isTheirs) await origins?.mark(path, bytes);
  await (await versioned?.(place.path))?.keepPresent(`a file tool changed ${basename(place.path)}`);
  const written = await replaceFile(guard, place, { path, bytes, before: replaced }, context);
  if (written.found !== undefined) {
    await changes.recordChange({ ...change, before: { bytes, mode }, after: written.found });
    if (isTheirs) await origins?.mark(path, written.found);
  }
  return written;
}

/** The text that a change replaces, for a preview. A file that may not be read as freely stays unseen. */
export async function freeText(
  guard: PathGuard,
  { path }: Inside,
  before: ReplacedFile,
  context: ToolContext,
): Promise<string> {
  if (before?.bytes === undefined || before.bytes === null) return '';
  const decoded = decodeText(before.bytes);
  if ('binary' in decoded) return '';
  try {
    using readable = await guard.openInside(path, 'read', callerOf(context));
    return readable.asks === null ? decoded.text : '';
  } catch {
    return '';
  }
}
