import { lstat } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import type { OpenedFile, PathGuard } from '../../security/paths/guard.ts';
import { LARGEST_COPY } from '../../storage/change-log.ts';
import { ifThere } from '../../storage/files.ts';
import { AppError } from '../../util/errors.ts';
import type { ToolContext } from '../tool.ts';
import { useOf, type FileAccess } from './access.ts';
import { asEditorShows, replaceFile, type ShownFile, type WrittenFile } from './editor-buffer.ts';
import { holdsStrangers } from './taint.ts';

/** Larger files are not read whole; of all that are a copy can be kept. */
const MOST_BYTES = LARGEST_COPY;

/** Opens a file and hands it to `use`; closes it afterwards. Throws a sentence for files over 50 MB. */
export async function withFile<T>(
  { guard, path, context }: { readonly guard: PathGuard; readonly path: string; readonly context: ToolContext },
  use: (file: OpenedFile) => Promise<T>,
): Promise<T> {
  const file = await guard.openForReading(path, useOf(context));
  try {
    const { size } = file.stat;
    if (size > MOST_BYTES) {
      throw new AppError(
        'file-too-large',
        `${path} has ${size} bytes; files over 50 MB are not read. Use exec with head, tail or grep.`,
      );
    }
    return await use(file);
  } finally {
    await file.handle.close();
  }
}

/** The whole file, as the editor of the conversation shows it where it does. Throws a sentence for files over 50 MB. */
export async function readWhole(guard: PathGuard, path: string, context: ToolContext): Promise<ShownFile> {
  return await withFile({ guard, path, context }, async ({ handle, path: real, stat }) =>
    asEditorShows({ path: real, stat, bytes: await handle.readFile() }, { guard, context }),
  );
}

interface FileWrite {
  readonly path: string;
  readonly bytes: Uint8Array;
  /** What it was made from; null: there was no file. @default what is there does not matter */
  readonly read?: ShownFile | null;
}

/**
 * The one way for a tool to create or replace a file: what is there is kept for /undo first; when it cannot be kept,
 * nothing is written. Refuses when the file changed since `read`, or while it was being kept. What is written while
 * strangers' text is in the conversation, or made from what they had a part in, is marked as theirs too.
 */
export async function writeThrough(
  { guard, changes, origins, versioned }: FileAccess,
  { path, bytes, read: known }: FileWrite,
  context: ToolContext,
): Promise<WrittenFile> {
  const place = await guard.check(path, 'write', useOf(context));
  if (place.decision === 'deny') throw new AppError('path-refused', place.reason);
  const read = known ?? undefined;
  const before = known === undefined ? await readBefore(guard, path, context) : known;
  const { sessionKey, turnId, id: callId } = context.call;
  const change = { sessionKey, turnId, callId, path: before?.path ?? place.path };
  const mode = (before?.stat.mode ?? 0o600) & 0o777;
  const folders = before === null ? await missingFolders(place.path) : [];
  await changes.recordChange({
    ...change,
    folders,
    before: before === null ? null : { bytes: before.bytes, mode },
    after: bytes,
  });
  const isTheirs =
    context.conversation.taint.untrusted || (read !== undefined && (await holdsStrangers(origins, read)));
  if (isTheirs) await origins?.mark(path, bytes);
  await (await versioned?.(change.path))?.keepPresent(`a file tool changed ${basename(change.path)}`);
  const written = await replaceFile(
    guard,
    { path, real: change.path, bytes, before, isNewPlace: folders.length > 0 },
    context,
  );
  if (written.found !== undefined) {
    await changes.recordChange({ ...change, before: { bytes, mode }, after: written.found });
    if (isTheirs) await origins?.mark(path, written.found);
  }
  return written;
}

/** The folders of a path that there are not yet, the innermost first. */
async function missingFolders(path: string): Promise<readonly string[]> {
  const missing: string[] = [];
  for (let folder = dirname(path); (await ifThere(lstat(folder))) === undefined; folder = dirname(folder)) {
    missing.push(folder);
  }
  return missing;
}

/** What a write replaces; null: nothing. A file too large for a copy comes without its bytes. */
async function readBefore(
  guard: PathGuard,
  path: string,
  context: ToolContext,
): Promise<ShownFile | (Omit<ShownFile, 'bytes'> & { readonly bytes: null }) | null> {
  try {
    const { handle, path: real, stat } = await guard.openForReading(path, useOf(context));
    try {
      if (stat.size > LARGEST_COPY) return { path: real, stat, bytes: null };
      return await asEditorShows({ path: real, stat, bytes: await handle.readFile() }, { guard, context });
    } finally {
      await handle.close();
    }
  } catch (error) {
    if (error instanceof AppError && error.facts['code'] === 'ENOENT') return null;
    throw error;
  }
}
