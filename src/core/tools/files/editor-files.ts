import { isEditorSession, type EditorFileReply, type EditorFileRequest, type LentFiles } from '../../bus/editor.ts';
import { Attached } from '../../util/attached.ts';
import { deadline, raceAbort, type Clock } from '../../util/clock.ts';
import { AppError, OwnWordsError } from '../../util/errors.ts';
import { oneLine } from '../../util/text.ts';

/** What became of a text for an editor. `none`: no editor takes it, or it went away. */
export type EditorWrite = 'written' | 'none' | { readonly refused: string };

/** The files of the editor of a conversation. Paths are absolute, as the editor names them. */
export interface EditorBuffers {
  /** The text as the editor shows it, saved or not; null: it does not say. Throws when that is too long to be asked for. */
  readonly read: (path: string, signal: AbortSignal) => Promise<string | null>;
  /** Hands it a new text. Throws a sentence when it did not say in time what became of it. */
  readonly write: (path: string, text: string, signal: AbortSignal) => Promise<EditorWrite>;
}

/** How long an editor may take, ms. */
const READ_MS = 5_000;
const WRITE_MS = 20_000;
/** Characters of its words that are repeated. */
const LONGEST_WORDS = 300;

/** The editors that lend their files, by session; of several of a session the newest is asked. */
export class EditorFiles {
  readonly #attached = new Attached<LentFiles>();
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Asks this editor about the files of the session, until the result is disposed of. */
  attach(sessionKey: string, editor: LentFiles): Disposable {
    return this.#attached.attach(sessionKey, editor);
  }

  /** The files of the editor of one of these sessions, the first that has one when it is asked; undefined: they never have. */
  of(sessions: readonly string[]): EditorBuffers | undefined {
    const own = sessions.filter(isEditorSession);
    if (own.length === 0) return undefined;
    const newest = (): LentFiles | undefined =>
      own.map((key) => this.#attached.newest(key)).find((one) => one !== undefined);
    return {
      read: async (path, signal) => {
        const editor = newest();
        return editor?.reads === true ? await this.#read(editor, path, signal) : null;
      },
      write: async (path, text, signal) => {
        const editor = newest();
        return editor?.writes === true ? await this.#write(editor, { kind: 'write', path, text }, signal) : 'none';
      },
    };
  }

  async #read(editor: LentFiles, path: string, signal: AbortSignal): Promise<string | null> {
    const reply = await this.#ask(editor, { kind: 'read', path }, READ_MS, signal);
    if (typeof reply === 'string') return null;
    if ('tooLong' in reply) {
      throw new AppError('file-too-large', `${path} is too long as the editor shows it now. Ask for it to be saved.`);
    }
    return 'text' in reply ? reply.text : null;
  }

  async #write(editor: LentFiles, request: EditorFileRequest, signal: AbortSignal): Promise<EditorWrite> {
    const reply = await this.#ask(editor, request, WRITE_MS, signal);
    if (reply === 'gone') return 'none';
    if (reply === 'late') {
      const own = `The editor did not say within ${WRITE_MS / 1000} s whether it took the new text. Read the file again before you change it.`;
      throw new OwnWordsError('editor-late', { said: '', own, doubtful: true });
    }
    if ('written' in reply) return 'written';
    return { refused: 'refused' in reply ? oneLine(reply.refused, LONGEST_WORDS) : 'the text is too long' };
  }

  /** Rejects only when `signal` aborts. */
  async #ask(
    editor: LentFiles,
    request: EditorFileRequest,
    limitMs: number,
    signal: AbortSignal,
  ): Promise<EditorFileReply | 'gone' | 'late'> {
    using limit = deadline(this.#clock, limitMs, 'the editor');
    const ended = AbortSignal.any([signal, limit.signal]);
    try {
      return await raceAbort(editor.ask(request, ended), ended);
    } catch {
      signal.throwIfAborted();
      return limit.signal.aborted ? 'late' : 'gone';
    }
  }
}
