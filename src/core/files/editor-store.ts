import type { Stats } from 'node:fs';
import { realpath } from 'node:fs/promises';
import { join, relative } from 'node:path';
import type { App } from '../app.ts';
import {
  fitsEditor,
  isEditorSession,
  type EditorFileReply,
  type EditorFileRequest,
  type LentFiles,
} from '../bus/editor.ts';
import type { Inside } from '../security/paths/open-inside.ts';
import { changedSince, isSameFile } from '../security/paths/pinned.ts';
import { within } from '../security/paths/rules.ts';
import { ifThere } from '../storage/files.ts';
import { Attached } from '../util/attached.ts';
import { deadline, raceAbort } from '../util/clock.ts';
import { AppError, OwnWordsError } from '../util/errors.ts';
import { oneLine } from '../util/text.ts';
import type { ToolContext } from '../tools/tool.ts';
import {
  callerOf,
  readOpened,
  type FileContent,
  type FileStore,
  type StoredChange,
  type WrittenFile,
} from './access.ts';
import { decodeText, encodeText } from './text.ts';

/** How long an editor may take, ms. */
const READ_MS = 5_000;
const WRITE_MS = 20_000;
/** Characters of its words that are repeated. */
const LONGEST_WORDS = 300;
const NOT_SAVED = 'The editor has the new text and did not save it: commands and searches still find the old one.';
const RESHAPED =
  'The editor changed the text when it saved it, for instance by formatting it: read the file again before you change it.';
const UNSAVED =
  'The editor did not take the new text, and shows changes of this file that are not saved: ask the owner to save it.';
const LATE = `The editor did not say within ${WRITE_MS / 1000} s whether it took the new text. Read the file again before you change it.`;

type Needed = Pick<App, 'clock' | 'guard'>;

/** The editors that lend their files, by session; of several of a session the newest is asked. */
export class EditorFiles {
  readonly #attached = new Attached<LentFiles>();
  readonly #app: Needed;

  constructor(app: Needed) {
    this.#app = app;
  }

  /** Asks this editor about the files of the session, until the result is disposed of. */
  attach(sessionKey: string, editor: LentFiles): Disposable {
    return this.#attached.attach(sessionKey, editor);
  }

  /** The files of the editor of one of these sessions, the first that has one when it is asked; undefined: they never have. */
  of(sessions: readonly string[]): FileStore | undefined {
    const own = sessions.filter(isEditorSession);
    const newest = (): LentFiles | undefined =>
      own.map((key) => this.#attached.newest(key)).find((one) => one !== undefined);
    return own.length === 0 ? undefined : new EditorStore(newest, this.#app);
  }
}

/** The files that are open in an editor: those below its folder, as far as they hold text. */
class EditorStore implements FileStore {
  readonly #editor: () => LentFiles | undefined;
  readonly #app: Needed;

  constructor(editor: () => LentFiles | undefined, app: Needed) {
    this.#editor = editor;
    this.#app = app;
  }

  async read(saved: FileContent, place: Inside, context: ToolContext): Promise<FileContent> {
    const path = await nameInEditor(place, context);
    return path === undefined ? saved : ((await this.#shown(saved, path, context.signal))?.content ?? saved);
  }

  async write(place: Inside, { path, bytes, before }: StoredChange, context: ToolContext): Promise<WrittenFile | null> {
    const decoded = decodeText(bytes);
    const name = await nameInEditor(place, context);
    const old = before?.bytes;
    if ('binary' in decoded || old === null || place.newFolders.length > 0 || name === undefined) return null;
    const onDisk = async (): Promise<FileContent | null> => {
      using now = await this.#app.guard.openInside(place.path, 'write', callerOf(context));
      return now.stat === null ? null : await readOpened(now);
    };
    const now = await onDisk();
    if (!isSameFile(now?.stat ?? null, place.stat)) throw changedSince(path);
    const shown = before?.saved === undefined || now === null ? null : await this.#shown(now, name, context.signal);
    const isShown = before?.saved === undefined || (shown?.content ?? now)?.bytes.equals(old ?? Buffer.of()) === true;
    if (!isShown) throw changedSince(path);
    const text = shown?.hasBareEnds === true ? decoded.text.replaceAll('\r\n', '\n') : decoded.text;
    const editor = this.#editor();
    if (editor?.writes !== true || !fitsEditor(text)) return null;
    const reply = await this.#ask(editor, { kind: 'write', path: name, text }, WRITE_MS, context.signal);
    if (reply === 'late') throw new OwnWordsError('editor-late', { said: '', own: LATE, doubtful: true });
    const after = await onDisk();
    if (after?.bytes.equals(bytes) === true) return {};
    if (reply === 'gone') return null;
    if ('written' in reply) return differing(after, { before: place.stat, text });
    if (before?.saved?.equals(old ?? Buffer.of()) === false) {
      const said = 'refused' in reply ? oneLine(reply.refused, LONGEST_WORDS) : 'the text is too long';
      throw new OwnWordsError('editor-refused', { said, own: UNSAVED });
    }
    return null;
  }

  /** The file as the editor shows it, and whether it shows CRLF as bare line ends; null: it doesn't say. */
  async #shown(
    saved: FileContent,
    path: string,
    signal: AbortSignal,
  ): Promise<{ readonly content: FileContent; readonly hasBareEnds: boolean } | null> {
    const decoded = decodeText(saved.bytes);
    const editor = this.#editor();
    if ('binary' in decoded || !fitsEditor(decoded.text) || editor?.reads !== true) return null;
    const reply = await this.#ask(editor, { kind: 'read', path }, READ_MS, signal);
    if (typeof reply === 'string') return null;
    if ('tooLong' in reply) {
      throw new AppError('file-too-large', `${path} is too long as the editor shows it now. Ask for it to be saved.`);
    }
    if (!('text' in reply)) return null;
    const content = { ...saved, saved: saved.bytes };
    const hasBareEnds = decoded.text.includes('\r\n') && !reply.text.includes('\r\n');
    if (plain(reply.text) === plain(decoded.text)) return { content, hasBareEnds };
    const text = (hasBareEnds ? reply.text.replaceAll('\n', '\r\n') : reply.text).replace(/^\ufeff/u, '');
    return { content: { ...content, bytes: Buffer.from(encodeText(text, decoded.format)) }, hasBareEnds };
  }

  /** Rejects only when `signal` aborts. */
  async #ask(
    editor: LentFiles,
    request: EditorFileRequest,
    limitMs: number,
    signal: AbortSignal,
  ): Promise<EditorFileReply | 'gone' | 'late'> {
    using limit = deadline(this.#app.clock, limitMs, 'the editor');
    const ended = AbortSignal.any([signal, limit.signal]);
    try {
      return await raceAbort(editor.ask(request, ended), ended);
    } catch {
      signal.throwIfAborted();
      return limit.signal.aborted ? 'late' : 'gone';
    }
  }
}

/** What is on the disk after the editor took a text, where that is something else. */
function differing(
  now: FileContent | null,
  { before, text }: { readonly before: Stats | null; readonly text: string },
): WrittenFile {
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
