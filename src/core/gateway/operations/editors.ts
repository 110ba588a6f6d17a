import * as z from 'zod';
import type { EditorServerReport } from '../../bus/editor.ts';
import { answers } from './operation.ts';

/** What is kept of the conversation of a code editor. */
export interface EditorSessionInfo {
  /** Its key, `acp:<id>`. */
  readonly session: string;
  /** The folder that was open in the editor. */
  readonly folder: string;
  /** Whether the conversation may use the folder; null: the owner was not asked yet. */
  readonly allowed: boolean | null;
  /** Only tools that change nothing may be called. */
  readonly readOnly: boolean;
}

/** A file that a call changed. */
export interface EditorChange {
  /** Absolute. */
  readonly path: string;
  /** Null: there was no file. */
  readonly before: string | null;
  readonly after: string;
}

const session = z
  .string()
  .regex(/^acp:[\w-]{1,64}$/u)
  .describe('Key of the conversation, `acp:<id>`.');

export const editors = {
  editorsOpen: answers<EditorSessionInfo>()({
    description:
      'Notes that a code editor opened a conversation in a folder; in another folder than before, the owner is asked again.',
    role: 'owner',
    changes: true,
    params: z.object({ session, folder: z.string().min(1).max(4_000).describe('Absolute path.') }),
  }),
  editorsAllow: answers<EditorSessionInfo>()({
    description:
      'Says whether a conversation of a code editor may read and change the files of its folder; `session-unknown` if no editor opened it.',
    role: 'owner',
    changes: true,
    params: z.object({
      session,
      allowed: z.boolean().describe('False: the conversation goes on without the folder.'),
      always: z.boolean().default(false).describe('With `allowed`: every later conversation in this folder too.'),
    }),
  }),
  editorsReadOnly: answers<EditorSessionInfo>()({
    description:
      'Says whether a conversation of a code editor may only call tools that change nothing; `session-unknown` if no editor opened it.',
    role: 'owner',
    changes: true,
    params: z.object({ session, readOnly: z.boolean().describe('True: nothing is changed from the next message on.') }),
  }),
  editorsShow: answers<EditorSessionInfo | null>()({
    description: 'Returns what is kept of the conversation of a code editor; null: nothing.',
    role: 'owner',
    changes: false,
    params: z.object({ session }),
  }),
  editorsServers: answers<readonly EditorServerReport[]>()({
    description:
      'Waits until the MCP servers that an attached code editor brought to a conversation run, and returns what became of each.',
    role: 'owner',
    changes: false,
    params: z.object({ session }),
  }),
  editorsChanges: answers<readonly EditorChange[]>()({
    description: 'Returns the texts of the files that a call changed, without secrets; none that is larger than 1 MB.',
    role: 'owner',
    changes: false,
    params: z.object({
      session,
      turn: z.string().min(1).max(64).describe('Id of the turn.'),
      call: z.string().min(1).max(200).describe('Id of the call.'),
    }),
  }),
};
