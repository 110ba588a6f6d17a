import type { Stats } from 'node:fs';
import { realpath } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { fitsEditor } from '../../bus/editor.ts';
import type { Inside, PathGuard } from '../../security/paths/open-inside.ts';
import { changedSince, isSameFile } from '../../security/paths/pinned.ts';
import { within } from '../../security/paths/rules.ts';
import { OwnWordsError } from '../../util/errors.ts';
import { ifThere } from '../../storage/files.ts';
import type { ToolContext } from '../tool.ts';
import { callerOf } from './access.ts';
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

/** What is on the disk. */
export async function readOpened(place: Inside): Promise<ShownFile> {
  await using handle = await place.open();
  return { path: place.path, stat: place.pinned.stat, bytes: await handle.readFile() };
}

/** The file with the text that the editor shows. What is no text, or too long, stays as it is on the disk. */
export async function asEditorShows(file: ShownFile, place: Inside, context: ToolContext): Promise<ShownFile> {
  const { editor } = context.files;
  if (editor === undefined) return file;
  const decoded = decodeText(file.bytes);
  if ('binary' in decoded || !fitsEditor(decoded.text)) return file;
  const name = await nameInEditor(place, context);
  const given = name === undefined ? null : await editor.read(name, context.signal);
  if (given === null) return file;
  const bareEnds = decoded.text.includes('\r\n') && !given.includes('\r\n');
  const shown = { ...file, saved: file.bytes, bareEnds };
  if (plain(given) === plain(decoded.text)) return shown;
  const text = bareEnds ? given.replaceAll('\n', '\r\n') : given;
  return { ...shown, bytes: Buffer.from(encodeText(text.replace(/^\ufeff/u, ''), decoded.format)) };
}

interface Replacement {
  /** As the model named it. */
  readonly path: string;
  readonly bytes: Uint8Array;
  readonly before: (Omit<ShownFile, 'bytes'> & { readonly bytes: Buffer | null }) | null;
}

/**
 * Replaces a file, or makes it, through the editor where it takes texts, else on the disk. Refuses when the file is not
 * what it was made from any more, on the disk or in the editor.
 */
export async function replaceFile(
  guard: PathGuard,
  place: Inside,
  { path, bytes, before }: Replacement,
  context: ToolContext,
): Promise<WrittenFile> {
  const facts = { path: place.path, created: place.stat === null };
  const { editor } = context.files;
  const text = editor === undefined || place.newFolders.length > 0 ? undefined : textFor({ bytes, before });
  const name = text === undefined ? undefined : await nameInEditor(place, context);
  if (editor === undefined || text === undefined || name === undefined) {
    await place.write(bytes);
    return facts;
  }
  const onDisk = async (): Promise<ShownFile | null> => {
    using now = await guard.openInside(place.path, 'write', callerOf(context));
    return now.stat === null ? null : await readOpened(now);
  };
  const now = await onDisk();
  const isSame = isSameFile(now?.stat ?? null, place.stat);
  const shown = isSame && now !== null && before?.saved !== undefined ? await asEditorShows(now, place, context) : null;
  if (!isSame || (shown !== null && before?.bytes?.equals(shown.bytes) !== true)) {
    throw changedSince(path);
  }
  const became = await editor.write(name, text, context.signal);
  const after = await onDisk();
  if (after?.bytes.equals(bytes) === true) return facts;
  if (became === 'written') return { ...facts, ...differing(after, { before: place.stat, text }) };
  if (became !== 'none' && before !== null && isUnsaved(before)) {
    const own =
      'The editor did not take the new text, and shows changes of this file that are not saved: ask the owner to save it.';
    throw new OwnWordsError('editor-refused', { said: became.refused, own });
  }
  await place.write(bytes);
  return facts;
}

/** The text for an editor; undefined: it is none, or too long. */
function textFor({ bytes, before }: Pick<Replacement, 'bytes' | 'before'>): string | undefined {
  const decoded = decodeText(bytes);
  if ('binary' in decoded || before?.bytes === null) return undefined;
  const text = before?.bareEnds === true ? decoded.text.replaceAll('\r\n', '\n') : decoded.text;
  return fitsEditor(text) ? text : undefined;
}

/** What is on the disk after the editor took a text, where that is something else. */
function differing(
  now: ShownFile | null,
  { before, text }: { readonly before: Stats | null; readonly text: string },
): Pick<WrittenFile, 'found' | 'note'> {
  if (now === null || (before !== null && isSameFile(now.stat, before))) return { note: NOT_SAVED };
  const saved = decodeText(now.bytes);
  const isSame = !('binary' in saved) && plain(saved.text) === plain(text);
  return { found: now.bytes, ...(isSame ? {} : { note: RESHAPED }) };
}

/**
 * The path by which the editor knows a file: one below the folder that is open in it, which may be used without a
 * question. Undefined: it is not asked.
 */
async function nameInEditor({ path, asks }: Inside, context: ToolContext): Promise<string | undefined> {
  if (asks !== null) return undefined;
  for (const root of context.files.roots ?? []) {
    const place = await ifThere(realpath(root));
    if (place !== undefined && within(place, path)) return join(root, relative(place, path));
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
