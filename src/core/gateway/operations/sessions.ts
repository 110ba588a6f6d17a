import * as z from 'zod';
import { answers } from './operation.ts';

/** Something that a search found. */
export interface SearchHit {
  readonly source: 'memory' | 'history' | 'session';
  readonly session: string | null;
  /** Milliseconds since 1970. */
  readonly at: number | null;
  readonly role: 'user' | 'assistant' | null;
  /** One line around what was found. */
  readonly snippet: string;
  /** The question names a time, such as "last week", of which nothing with its words was found. */
  readonly ofAnyTime: boolean;
}

export interface SessionFacts {
  /** Its key. */
  readonly session: string;
  readonly channel: string;
  /** The first words of what a person wrote last; '': nothing is known. */
  readonly title: string;
  /** Milliseconds since 1970. */
  readonly changedAt: number;
  /** Bytes. */
  readonly size: number;
  /** It has a turn now. */
  readonly running: boolean;
}

export interface SessionsPage {
  /** The latest first. */
  readonly sessions: readonly SessionFacts[];
  /** `before` for the next page; null: this is the last. */
  readonly next: string | null;
}

/** What the next request of a session to its model is made of. */
export interface PromptInfo {
  readonly session: string;
  /** `provider/model` */
  readonly model: string;
  /** Of the system prompt, in order; tokens are estimates. */
  readonly layers: readonly { readonly name: string; readonly text: string; readonly tokens: number }[];
  readonly tools: {
    readonly count: number;
    readonly tokens: number;
    /** As the model is shown them; `parameters` is a JSON Schema. */
    readonly specs: readonly {
      readonly name: string;
      readonly description: string;
      readonly parameters: Readonly<Record<string, unknown>>;
    }[];
  };
  readonly conversation: { readonly messages: number; readonly tokens: number };
  /** Tokens in all, and what the model can read. */
  readonly used: number;
  readonly window: number;
}

const session = z.string().min(1).max(400).describe('Key of the session, such as `telegram:123456789`.');

export const sessions = {
  sessionsList: answers<SessionsPage>()({
    description: 'Lists the conversations, the latest first, a page at a time.',
    role: 'owner',
    changes: false,
    params: z.object({
      limit: z.int().min(1).max(200).describe('How many at most.'),
      before: z.string().max(1_000).exactOptional().describe('`next` of the page before; without it, the first page.'),
      channel: z.string().max(100).exactOptional().describe('Only those of this channel, such as `telegram`.'),
    }),
  }),
  sessionsExport: answers<{ /** For a file. */ readonly name: string; readonly text: string }>()({
    description:
      'Returns a whole conversation as a text; `session-unknown` if there is none, `session-too-large` if its file has more than 50 MB.',
    role: 'owner',
    changes: false,
    params: z.object({
      session,
      format: z.enum(['md', 'json']).describe('`md`: Markdown to read; `json`: everything, for programs.'),
    }),
  }),
  sessionsSearch: answers<readonly SearchHit[]>()({
    description: 'Finds what was said in conversations and what the memory holds, best first.',
    role: 'owner',
    changes: false,
    params: z.object({
      text: z.string().min(1).max(400).describe('Words, or a "phrase in quotes".'),
      count: z.int().min(1).max(100).describe('How many results at most.'),
      session: z
        .string()
        .max(400)
        .nullable()
        .exactOptional()
        .describe('Only in this session; null: only in the memory; without it everywhere.'),
    }),
  }),
  sessionsDelete: answers<null>()({
    description:
      'Deletes a conversation for good; `session-busy` while it has a turn, `session-unknown` if there is none.',
    role: 'owner',
    changes: true,
    params: z.object({ session }),
  }),
  prompt: answers<PromptInfo>()({
    description: 'Returns what the next model call of a session is made of, with estimates of its tokens.',
    role: 'owner',
    changes: false,
    params: z.object({ session }),
  }),
};
