import type { Stats } from 'node:fs';
import { realpath } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { fitsEditor } from '../../bus/editor.ts';
import type { PathGuard } from '../../security/paths/guard.ts';
import { sameFile } from '../../security/paths/inodes.ts';
import { within, type PathAccess } from '../../security/paths/rules.ts';
import { AppError, OwnWordsError } from '../../util/errors.ts';
import { ifThere } from '../../storage/files.ts';
import type { ToolContext } from '../tool.ts';
import { useOf } from './access.ts';
import { decodeText, encodeText } from './file-text.ts';

/** A file as it is read: as the editor of the conversation shows it where it does, else as it is on the disk. */
export interface ShownFile {
  /** The real path. */
  readonly path: string;
  /** Of the file on the disk. */
  readonly stat: Stats;
  readonly bytes: Buffer;
  /** What is on the disk, where an editor shows the file. */
  readonly saved?: Buffer;
  /** The editor shows CRLF as bare line ends. */
  readonly bareEnds?: boolean;
}

/** What a write left behind. */
export interface WrittenFile {
  readonly path: string;
  readonly created: boolean;
  /** What is on the disk, where the editor saved something else. */
  readonly found?: Buffer;
  /** For the model. */
  readonly note?: string;
}

const NOT_SAVED = 'The editor has the new text and did not save it: commands and searches still find the old one.';
const RESHAPED =
  'The editor changed the text when it saved it, for instance by formatting it: read the file again before you change it.';

/** Whether the editor shows something that is not saved. */
export function isUnsaved({ bytes, saved }: { readonly bytes: Buffer | null; readonly saved?: Buffer }): boolean {
  return saved !== undefined && bytes?.equals(saved) === false;
}

/** The file with the text that the editor shows. What is no text, or too long, stays as it is on the disk. */
export async function asEditorShows(
  file: ShownFile,
  { guard, context }: { readonly guard: PathGuard; readonly context: ToolContext },
): Promise<ShownFile> {
  const { editor } = context.files;
  if (editor === undefined) return file;
  const decoded = decodeText(file.bytes);
  if ('binary' in decoded || !fitsEditor(decoded.text)) return file;
  const name = await nameInEditor(guard, { real: file.path, access: 'read' }, context);
  const given = name === undefined ? null : await editor.read(name, context.signal);
  if (given === null) return file;
  const bareEnds = decoded.text.includes('\r\n') && !given.includes('\r\n');
  const shown = { ...file, saved: file.bytes, bareEnds };
  if (plain(given) === plain(decoded.text)) return shown;
  const text = bareEnds ? given.replaceAll('\n', '\r\n') : given;
  return { ...shown, bytes: Buffer.from(encodeText(text.replace(/^\ufeff/u, ''), decoded.format)) };
}

/**
 * Replaces a file, or makes it, through the editor where it takes texts, else on the disk. Refuses when the file is not
 * what it was made from any more, on the disk or in the editor.
 */
export async function replaceFile(
  guard: PathGuard,
  write: {
    readonly path: string;
    readonly real: string;
    readonly bytes: Uint8Array;
    readonly before: (Omit<ShownFile, 'bytes'> & { readonly bytes: Buffer | null }) | null;
    /** Folders have to be made for it. */
    readonly isNewPlace: boolean;
  },
  context: ToolContext,
): Promise<WrittenFile> {
  const { path, bytes, before } = write;
  const onDisk = async (): Promise<WrittenFile> =>
    await guard.writeFile(path, bytes, { ...useOf(context), unchangedSince: before?.stat ?? null });
  const { editor } = context.files;
  const text = editor === undefined ? undefined : textFor(write);
  if (editor === undefined || text === undefined) return await onDisk();
  const name = await nameInEditor(guard, { real: write.real, access: 'write' }, context);
  if (name === undefined) return await onDisk();
  await requireUnchanged(guard, write, context);
  const became = await editor.write(name, text, context.signal);
  const now = await onDiskNow(guard, path, context);
  const facts = { path: write.real, created: before === null };
  if (now?.bytes.equals(bytes) === true) return facts;
  if (became === 'written') return { ...facts, ...differing(now, { before, text }) };
  if (became !== 'none' && before !== null && isUnsaved(before)) {
    const own =
      'The editor did not take the new text, and shows changes of this file that are not saved: ask the owner to save it.';
    throw new OwnWordsError('editor-refused', { said: became.refused, own });
  }
  return await onDisk();
}

/** The text for an editor; undefined: it is none, or too long. */
function textFor({
  bytes,
  before,
  isNewPlace,
}: Pick<Parameters<typeof replaceFile>[1], 'bytes' | 'before' | 'isNewPlace'>): string | undefined {
  const decoded = decodeText(bytes);
  if (isNewPlace || 'binary' in decoded || before?.bytes === null) return undefined;
  const text = before?.bareEnds === true ? decoded.text.replaceAll('\r\n', '\n') : decoded.text;
  return fitsEditor(text) ? text : undefined;
}

/** What is on the disk after the editor took a text, where that is something else. */
function differing(
  now: ShownFile | null,
  { before, text }: { readonly before: { readonly stat: Stats } | null; readonly text: string },
): Pick<WrittenFile, 'found' | 'note'> {
  if (now === null || (before !== null && sameFile(now.stat, before.stat))) return { note: NOT_SAVED };
  const saved = decodeText(now.bytes);
  const isSame = !('binary' in saved) && plain(saved.text) === plain(text);
  return { found: now.bytes, ...(isSame ? {} : { note: RESHAPED }) };
}

/** Throws a sentence when the file is not the one that was read, or the editor shows another text than then. */
async function requireUnchanged(
  guard: PathGuard,
  { path, before }: Pick<Parameters<typeof replaceFile>[1], 'path' | 'before'>,
  context: ToolContext,
): Promise<void> {
  const now = await onDiskNow(guard, path, context);
  const same = sameFile(now?.stat, before?.stat ?? null);
  const shown =
    same && now !== null && before?.saved !== undefined ? await asEditorShows(now, { guard, context }) : null;
  if (same && (shown === null || before?.bytes?.equals(shown.bytes) === true)) return;
  throw new AppError('path-refused', `${path} changed after it was read. Read it again before you change it.`);
}

/** Null: there is no file. */
async function onDiskNow(guard: PathGuard, path: string, context: ToolContext): Promise<ShownFile | null> {
  try {
    const { handle, path: real, stat } = await guard.openForReading(path, useOf(context));
    return await handle
      .readFile()
      .then((bytes) => ({ path: real, stat, bytes }))
      .finally(() => handle.close());
  } catch (error) {
    if (error instanceof AppError && error.facts['code'] === 'ENOENT') return null;
    throw error;
  }
}

/**
 * The path by which the editor knows a file: one below the folder that is open in it, which may be used without a
 * question. Undefined: it is not asked.
 */
async function nameInEditor(
  guard: PathGuard,
  { real, access }: { readonly real: string; readonly access: PathAccess },
  context: ToolContext,
): Promise<string | undefined> {
  for (const root of context.files.roots ?? []) {
    const place = await ifThere(realpath(root));
    if (place === undefined || !within(place, real)) continue;
    const { decision } = await guard.check(real, access, useOf(context));
    return decision === 'allow' ? join(root, relative(place, real)) : undefined;
  }
  return undefined;
}

/** Without what editors make of the ends of lines and files. */
function plain(text: string): string {
  return text
    .replace(/^\ufeff/u, '')
    .replaceAll('\r\n', '\n')
    .replace(/\n$/u, '');
}
