import * as z from 'zod';
import type { EditorSession } from '../../storage/editor-sessions.ts';
import { changedTexts } from '../../files/changed-texts.ts';
import { unknownSession } from '../../session/session-log.ts';
import { listOf, operation } from './operation.ts';

/** What is kept of the conversation of a code editor. */
const editorSession = z.object({
  /** Its key, `acp:<id>`. */
  session: z.string(),
  /** The folder that was open in the editor. */
  folder: z.string(),
  /** Whether the conversation may use the folder; null: the owner was not asked yet. */
  allowed: z.boolean().nullable(),
  /** Only tools that change nothing may be called. */
  readOnly: z.boolean(),
});
export type EditorSessionInfo = Readonly<z.output<typeof editorSession>>;

const session = z
  .string()
  .regex(/^acp:[\w-]{1,64}$/u)
  .describe('Key of the conversation, `acp:<id>`.');

function known(key: string, found: EditorSession | undefined): EditorSession {
  if (found === undefined) throw unknownSession(key);
  return found;
}

export const editorsOpen = operation({
  name: 'editorsOpen',
  about:
    'Notes that a code editor opened a conversation in a folder; in another folder than before, the owner is asked again.',
  changes: 'editors',
  input: z.object({
    session,
    folder: z.string().min(1).max(4_000).describe('Absolute path of the folder that is open in the editor.'),
  }),
  output: editorSession,
  run: ({ editors }, { session: key, folder }) => editors.open(key, folder),
});

export const editorsAllow = operation({
  name: 'editorsAllow',
  about:
    'Says whether a conversation of a code editor may read and change the files of its folder; `session-unknown` if no editor opened it.',
  changes: 'editors',
  input: z.object({
    session,
    allowed: z.boolean().describe('False: the conversation goes on without the folder.'),
    always: z.boolean().default(false).describe('With `allowed`: every later conversation in this folder too.'),
  }),
  output: editorSession,
  run: async ({ editors }, { session: key, allowed, always }) => known(key, await editors.decide(key, allowed, always)),
});

export const editorsReadOnly = operation({
  name: 'editorsReadOnly',
  about:
    'Says whether a conversation of a code editor may only call tools that change nothing; `session-unknown` if no editor opened it.',
  changes: 'editors',
  input: z.object({ session, readOnly: z.boolean().describe('True: nothing is changed from the next message on.') }),
  output: editorSession,
  run: async ({ editors }, { session: key, readOnly }) => known(key, await editors.setReadOnly(key, readOnly)),
});

export const editorsShow = operation({
  name: 'editorsShow',
  about: 'Returns what is kept of the conversation of a code editor; null: nothing.',
  changes: null,
  input: z.object({ session }),
  output: editorSession.nullable(),
  run: async ({ editors }, { session: key }) => editors.of(key) ?? null,
});

export const editorsServers = operation({
  name: 'editorsServers',
  about:
    'Waits until the MCP servers that an attached code editor brought to a conversation run, and returns what became of each.',
  changes: null,
  input: z.object({ session }),
  output: listOf(
    z.object({
      name: z.string(),
      /** Why it does not work; null: it runs. */
      trouble: z.string().nullable(),
      /** How many tools it offers. */
      tools: z.number(),
    }),
  ),
  run: async ({ plugins, redact }, { session: key }) => {
    const reports = await Promise.all(plugins.each('editorServers').map(([, servers]) => servers.started(key)));
    return reports.flat().map((one) => ({ ...one, trouble: one.trouble === null ? null : redact(one.trouble) }));
  },
});

export const editorsChanges = operation({
  name: 'editorsChanges',
  about: 'Returns the texts of the files that a call changed, without secrets; none that is larger than 1 MB.',
  changes: null,
  input: z.object({
    session,
    turn: z.string().min(1).max(64).describe('Id of the turn.'),
    call: z.string().min(1).max(200).describe('Id of the call.'),
  }),
  output: listOf(
    z.object({
      /** Absolute. */
      path: z.string(),
      /** Null: there was no file. */
      before: z.string().nullable(),
      after: z.string(),
    }),
  ),
  run: async ({ changes, redact }, { session: key, turn, call }) => {
    const made = (await changes.of(key, turn)).filter((change) => change.call === call);
    const found = await Promise.all(
      [...Map.groupBy(made, ({ path }) => path)].map(async ([path, [first, ...more]]) => {
        const texts = first === undefined ? null : await changedTexts({ first, last: more.at(-1) ?? first }, changes);
        if (texts === null) return [];
        const before = first?.before === null ? null : redact(texts.before);
        return [{ path, before, after: redact(texts.after) }];
      }),
    );
    return found.flat();
  },
});
