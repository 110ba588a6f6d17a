import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import * as z from 'zod';
import type { App } from '../../app.ts';
import { searchByQuestion } from '../../memory/time/search-by-question.ts';
import { exportSession } from '../../session/session-export.ts';
import { SessionIndex } from '../../session/session-index.ts';
import { readSession, sessionEvent, unknownSession } from '../../session/session-log.ts';
import { tapeName } from '../../session/tape-name.ts';
import { ifThere } from '../../storage/files.ts';
import { assistantCommand } from '../../util/assistant-command.ts';
import { AppError } from '../../util/errors.ts';
import { shellWord } from '../../util/text.ts';
import { listOf, operation } from './operation.ts';

const MOST_EXPORT_BYTES = 50_000_000;

const session = z.string().min(1).max(400).describe('Key of the session, such as `telegram:123456789`.');

const sessionFacts = z.object({
  /** Its key. */
  session: z.string(),
  channel: z.string(),
  /** The first words of what a person wrote last; '': nothing is known. */
  title: z.string(),
  /** Milliseconds since 1970. */
  changedAt: z.number(),
  /** Bytes. */
  size: z.number(),
  /** It has a turn now. */
  running: z.boolean(),
});
export type SessionFacts = Readonly<z.output<typeof sessionFacts>>;

const sessionsPage = z.object({
  /** The latest first. */
  sessions: listOf(sessionFacts),
  /** `before` for the next page; null: this is the last. */
  next: z.string().nullable(),
});
export type SessionsPage = Readonly<z.output<typeof sessionsPage>>;

const index = ({ paths, journal }: App): SessionIndex =>
  new SessionIndex(paths.sessions, () => new Set(journal.turns.open().map(({ session: key }) => key)));

export const sessionsList = operation({
  name: 'sessionsList',
  about: 'Lists the conversations, the latest first, a page at a time.',
  changes: null,
  input: z.object({
    limit: z.int().min(1).max(200).describe('How many at most.'),
    before: z.string().max(1_000).exactOptional().describe('`next` of the page before; without it, the first page.'),
    channel: z.string().max(100).exactOptional().describe('Only those of this channel, such as `telegram`.'),
  }),
  output: sessionsPage,
  run: (app, page) => app.once(index).page(page),
});

export const sessionsExport = operation({
  name: 'sessionsExport',
  about:
    'Returns a whole conversation as a text; `session-unknown` if there is none, `session-too-large` if its file has more than 50 MB.',
  changes: null,
  input: z.object({
    session,
    format: z.enum(['md', 'json']).describe('`md`: Markdown to read; `json`: everything, for programs.'),
  }),
  output: z.object({
    /** For a file. */
    name: z.string(),
    text: z.string(),
  }),
  run: async ({ paths, config }, { session: key, format }) => {
    await mustFit(paths.sessions, key);
    const { timezone } = config.agent;
    return {
      name: `${tapeName(key).replace(/\.jsonl$/u, '')}.${format}`,
      text: await exportSession(paths.sessions, { session: key, format, timezone }),
    };
  },
});

export const sessionsRead = operation({
  name: 'sessionsRead',
  about:
    'Returns what happened in a conversation, oldest first; `session-unknown` if there is none, `session-too-large` if its file has more than 50 MB.',
  changes: null,
  input: z.object({ session }),
  output: listOf(sessionEvent),
  run: async ({ paths }, { session: key }) => {
    await mustFit(paths.sessions, key);
    return await readSession(paths.sessions, key);
  },
});

/** Something that a search found. */
const searchHit = z.object({
  source: z.enum(['memory', 'history', 'session']),
  session: z.string().nullable(),
  /** Milliseconds since 1970. */
  at: z.number().nullable(),
  role: z.enum(['user', 'assistant']).nullable(),
  /** One line around what was found. */
  snippet: z.string(),
  /** The question names a time, such as "last week", of which nothing with its words was found. */
  ofAnyTime: z.boolean(),
});

export const sessionsSearch = operation({
  name: 'sessionsSearch',
  about: 'Finds what was said in conversations and what the memory holds, best first.',
  changes: null,
  input: z.object({
    text: z.string().min(1).max(400).describe('Words, or a "phrase in quotes".'),
    count: z.int().min(1).max(100).describe('How many results at most.'),
    session: z
      .string()
      .max(400)
      .nullable()
      .exactOptional()
      .describe('Only in this session; null: only in the memory; without it everywhere.'),
  }),
  output: listOf(searchHit),
  run: async ({ search, config, clock }, { text, count, session: key }) => {
    const scope = key === undefined ? ('all' as const) : [key];
    const query = { text, limit: count, scope };
    const { timezone } = config.agent;
    const { hits, time } = await searchByQuestion(search, query, { now: clock.now(), timezone });
    return hits.map(({ source, session: in_ = null, at = null, role = null, snippet }) => ({
      source,
      session: in_,
      at,
      role,
      snippet,
      ofAnyTime: time?.isMissed === true,
    }));
  },
});

export const sessionsDelete = operation({
  name: 'sessionsDelete',
  about: 'Deletes a conversation for good; `session-busy` while it has a turn, `session-unknown` if there is none.',
  changes: 'sessions',
  input: z.object({ session }),
  output: z.null(),
  run: async ({ journal, search, editors, plugins, sessions }, { session: key }) => {
    const isBusy =
      journal.turns.open().some((turn) => turn.session === key) || journal.inbox.waiting(key, 1).length > 0;
    if (isBusy) {
      throw new AppError(
        'session-busy',
        `${key} has a turn that runs or waits. Stop it with /stop in that conversation, then delete it.`,
      );
    }
    const isEditors = editors.of(key) !== undefined;
    await editors.forget(key);
    if (!(await sessions.delete(key)) && !isEditors) throw unknownSession(key);
    await journal.feed.forget(key);
    const failures = await plugins.forget(key);
    search.scheduleSync();
    if (failures.length === 0) return null;
    throw new AppError(
      'session-kept',
      `The conversation is deleted, but not all that belongs to it. ${failures.join(' ')}`,
    );
  },
});

/** What the next request of a session to its model is made of. */
const promptInfo = z.object({
  session: z.string(),
  /** `provider/model` */
  model: z.string(),
  /** Of the system prompt, in order; tokens are estimates. */
  layers: listOf(z.object({ name: z.string(), text: z.string(), tokens: z.number() })),
  tools: z.object({
    count: z.number(),
    tokens: z.number(),
    /** As the model is shown them; `parameters` is a JSON Schema. */
    specs: listOf(
      z.object({ name: z.string(), description: z.string(), parameters: z.record(z.string(), z.unknown()) }),
    ),
  }),
  conversation: z.object({ messages: z.number(), tokens: z.number() }),
  /** Tokens in all, and what the model can read. */
  used: z.number(),
  window: z.number(),
});
export type PromptInfo = z.output<typeof promptInfo>;

export const prompt = operation({
  name: 'prompt',
  about: 'Returns what the next model call of a session is made of, with estimates of its tokens.',
  changes: null,
  input: z.object({ session }),
  output: promptInfo,
  run: async ({ prompts }, { session: key }) => {
    const { layers, tokens, tools, messageCount, model } = await prompts.report(key);
    return {
      session: key,
      model,
      layers: layers.map(({ name, text }, at) => ({ name, text, tokens: tokens.layers[at] ?? 0 })),
      tools: { count: tools.length, tokens: tokens.tools, specs: tools },
      conversation: { messages: messageCount, tokens: tokens.history },
      used: tokens.used,
      window: tokens.window,
    };
  },
});

async function mustFit(folder: string, key: string): Promise<void> {
  const tape = await ifThere(stat(join(folder, tapeName(key))));
  if (tape === undefined || tape.size <= MOST_EXPORT_BYTES) return;
  const command = assistantCommand(`sessions export ${shellWord(key)}`);
  throw new AppError(
    'session-too-large',
    `The conversation is larger than 50 MB. Export it in a terminal: ${command} > conversation.md`,
  );
}
