import { basename } from 'node:path';
import * as z from 'zod';
import type { Clock } from '../util/clock.ts';
import { quarantine, readIfExists, replaceDurable } from './files.ts';

const sessionSchema = z.object({
  /** The folder that was open in the editor. Absolute. */
  folder: z.string(),
  /** What the owner said of this folder for this conversation; null: not asked yet. */
  allowed: z.boolean().nullable(),
  /** Only tools that change nothing may be called. */
  readOnly: z.boolean(),
  /** When it was opened last, milliseconds since 1970. */
  at: z.number(),
});
const fileSchema = z.object({
  version: z.literal(1),
  /** Folders that every conversation of an editor may use. */
  folders: z.array(z.string()),
  sessions: z.record(z.string(), sessionSchema),
});

type Kept = z.output<typeof fileSchema>;

/** What is kept of the conversation of an editor. */
export interface EditorSession {
  readonly session: string;
  readonly folder: string;
  /** Whether the conversation may use the folder; null: the owner was not asked yet. */
  readonly allowed: boolean | null;
  readonly readOnly: boolean;
}

export interface EditorSessionsOptions {
  readonly path: string;
  /** Where a damaged file goes. */
  readonly quarantine: string;
  readonly clock: Pick<Clock, 'now'>;
  /** Told where a damaged file was kept. */
  readonly onDamage: (kept: string) => void;
  /** Whether a folder needs no yes: every conversation may use it. */
  readonly isOpen: (folder: string) => boolean;
}

/** The oldest beyond these are forgotten; their conversations stay, without a folder. */
const MOST_SESSIONS = 1_000;
const MOST_FOLDERS = 200;

/** The conversations of editors: their folders and what the owner allowed. One small file, replaced as a whole. */
export class EditorSessions {
  readonly #options: EditorSessionsOptions;
  #kept: Kept;
  #writing: Promise<void> = Promise.resolve();

  private constructor(options: EditorSessionsOptions, kept: Kept) {
    this.#options = options;
    this.#kept = kept;
  }

  /** A damaged file is kept aside, and nothing counts as allowed. */
  static async open(options: EditorSessionsOptions): Promise<EditorSessions> {
    const text = await readIfExists(options.path);
    const nothing: Kept = { version: 1, folders: [], sessions: {} };
    if (text === undefined) return new EditorSessions(options, nothing);
    const kept = parsed(text);
    if (kept === undefined)
      options.onDamage(await quarantine(options.quarantine, basename(options.path), Buffer.from(text)));
    return new EditorSessions(options, kept ?? nothing);
  }

  /** Undefined: no editor opened it, or it is forgotten. */
  of(session: string): EditorSession | undefined {
    const found = Object.hasOwn(this.#kept.sessions, session) ? this.#kept.sessions[session] : undefined;
    if (found === undefined) return undefined;
    const { folder, allowed, readOnly } = found;
    const isAllowed = this.#options.isOpen(folder) || this.#kept.folders.includes(folder);
    return { session, folder, allowed: allowed ?? (isAllowed ? true : null), readOnly };
  }

  /** The folder that a conversation may use; undefined: none. */
  folderOf(session: string): string | undefined {
    const found = this.of(session);
    return found?.allowed === true ? found.folder : undefined;
  }

  /** The conversation was opened in a folder. In another one than before, the owner is asked anew. */
  async open(session: string, folder: string): Promise<EditorSession> {
    const before = this.#kept.sessions[session];
    const same = before?.folder === folder ? before : undefined;
    const { allowed = null } = same ?? {};
    return await this.#put(session, { folder, allowed, readOnly: before?.readOnly ?? false });
  }

  /** What the owner said of the folder of a conversation; `always`: of every conversation in it. */
  async decide(session: string, allowed: boolean, always: boolean): Promise<EditorSession | undefined> {
    const before = this.#kept.sessions[session];
    if (before === undefined) return undefined;
    const folders = [...this.#kept.folders.filter((folder) => folder !== before.folder), before.folder];
    return await this.#put(
      session,
      { ...before, allowed },
      allowed && always ? folders.slice(-MOST_FOLDERS) : undefined,
    );
  }

  async setReadOnly(session: string, readOnly: boolean): Promise<EditorSession | undefined> {
    const before = this.#kept.sessions[session];
    return before === undefined ? undefined : await this.#put(session, { ...before, readOnly });
  }

  /** Nothing is kept of this conversation any more; folders that may always be used stay. */
  async forget(session: string): Promise<void> {
    const { [session]: found, ...rest } = this.#kept.sessions;
    if (found !== undefined) await this.#write({ ...this.#kept, sessions: rest });
  }

  async #put(
    session: string,
    facts: Omit<z.output<typeof sessionSchema>, 'at'>,
    folders = this.#kept.folders,
  ): Promise<EditorSession> {
    const all = Object.entries({ ...this.#kept.sessions, [session]: { ...facts, at: this.#options.clock.now() } });
    const newest = all.toSorted(([, a], [, b]) => b.at - a.at).slice(0, MOST_SESSIONS);
    await this.#write({ version: 1, folders, sessions: Object.fromEntries(newest) });
    const { folder, allowed, readOnly } = facts;
    return this.of(session) ?? { session, folder, allowed, readOnly };
  }

  async #write(kept: Kept): Promise<void> {
    const before = this.#kept;
    this.#kept = kept;
    const written = this.#writing.then(() => replaceDurable(this.#options.path, `${JSON.stringify(this.#kept)}\n`));
    this.#writing = written.catch(() => {});
    try {
      await written;
    } catch (error) {
      this.#kept = before;
      throw error;
    }
  }
}

/** The text of such a file without the folders that `drops` names, and the conversations in them. */
export function withoutFolders(text: string, drops: (folder: string) => boolean): string {
  const kept = parsed(text);
  if (kept === undefined) return text;
  const sessions = Object.entries(kept.sessions).filter(([, { folder }]) => !drops(folder));
  const folders = kept.folders.filter((folder) => !drops(folder));
  if (sessions.length === Object.keys(kept.sessions).length && folders.length === kept.folders.length) return text;
  return `${JSON.stringify({ ...kept, folders, sessions: Object.fromEntries(sessions) })}\n`;
}

function parsed(text: string): Kept | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return fileSchema.safeParse(value).data;
  } catch {
    return undefined;
  }
}
