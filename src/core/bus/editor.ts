import * as z from 'zod';
import type { InboundMessage } from './messages.ts';

/** The first part of the key of a session that a code editor began: `acp:<id>`. */
export const EDITOR_CHANNEL = 'acp';

/** The id of a session in an editor. */
const SESSION = /^acp:[\w-]{1,64}$/u;

/**
 * Whether a session belongs to a code editor. Its messages come and go by the terminal, in the terminal session of the
 * same name.
 */
export function isEditorSession(session: string): boolean {
  return SESSION.test(session);
}

const facts = z.object({
  /** Texts that the editor sent with the message: of files, selections or diagnostics. @default none */
  files: z.array(z.object({ name: z.string(), text: z.string() })).default([]),
  /** The folder that is open in the editor, and whether the conversation may use it; null: it is not known. @default null */
  folder: z.object({ path: z.string(), allowed: z.boolean() }).nullable().default(null),
  /** Only tools that change nothing may be called. @default false */
  readOnly: z.boolean().default(false),
});

/** What an editor adds to a message. */
export type EditorFacts = z.infer<typeof facts>;

/** Its name in the metadata of a message. */
export const EDITOR_FACTS = 'editor';

/** What an editor added to a message; null for one that did not come from an editor. */
export function editorFactsOf(
  message: Pick<InboundMessage, 'sessionKey' | 'metadata'> | undefined,
): EditorFacts | null {
  if (message === undefined || !isEditorSession(message.sessionKey)) return null;
  return facts.safeParse(message.metadata[EDITOR_FACTS] ?? {}).data ?? facts.parse({});
}

/** What an editor is asked about a file, by its absolute path: the text that it shows, or to take a new one. */
export type EditorFileRequest =
  | { readonly kind: 'read'; readonly path: string }
  | { readonly kind: 'write'; readonly path: string; readonly text: string };

const fileReply = z.union([
  z.object({ text: z.string() }),
  z.object({ written: z.literal(true) }),
  /** Its own words. */
  z.object({ refused: z.string() }),
  /** The text that it shows has more bytes than `LONGEST_EDITOR_TEXT`. */
  z.object({ tooLong: z.literal(true) }),
]);

/** What an editor says to that. */
export type EditorFileReply = z.infer<typeof fileReply>;

/** An editor that lends its files: tells the texts that it shows (`reads`), takes new ones (`writes`). */
export interface LentFiles {
  readonly reads: boolean;
  readonly writes: boolean;
  /** Rejects when the editor went away, or with the reason of the signal. */
  readonly ask: (request: EditorFileRequest, signal: AbortSignal) => Promise<EditorFileReply>;
}

/** Names of servers that an editor brings. */
const serverName = z.string().min(1).max(100);

/** An MCP server that an editor brings to a conversation: one that is started, or one that is reached. */
export const editorServer = z.union([
  z.object({
    name: serverName,
    command: z.string().min(1),
    args: z.array(z.string()),
    env: z.record(z.string(), z.string()),
  }),
  z.object({
    name: serverName,
    type: z.enum(['http', 'sse']),
    url: z.url({ protocol: /^https?$/u }),
    headers: z.record(z.string(), z.string()),
  }),
]);
export type EditorServer = z.infer<typeof editorServer>;

/** Servers that one editor may bring to a conversation. */
export const MOST_EDITOR_SERVERS = 20;

/** What became of such a server. */
export interface EditorServerReport {
  readonly name: string;
  /** Why it does not work; null: it runs. */
  readonly trouble: string | null;
  /** How many tools it offers. */
  readonly tools: number;
}

/** Runs the servers that editors bring. */
export interface EditorServers {
  /** Starts them for a session alone, and ends them when the result is disposed of. */
  readonly attach: (session: string, servers: readonly EditorServer[]) => Disposable;
  /** Resolves when the servers that an editor brought to a session last are running or have failed. */
  readonly started: (session: string) => Promise<readonly EditorServerReport[]>;
}

/** Bytes of a text, as JSON, that goes to an editor or comes from one. */
const LONGEST_EDITOR_TEXT = 600_000;

/** Whether a text is short enough to go to an editor or to come from one. */
export function fitsEditor(text: string): boolean {
  return text.length <= LONGEST_EDITOR_TEXT && Buffer.byteLength(JSON.stringify(text)) <= LONGEST_EDITOR_TEXT;
}

/** What an editor said about a file; anything else is a refusal. */
export function editorFileReply(given: unknown): EditorFileReply {
  return fileReply.safeParse(given).data ?? { refused: 'its answer could not be understood' };
}
