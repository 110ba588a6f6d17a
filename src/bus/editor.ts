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
