import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import * as z from 'zod';
import type { MentionsFound } from '../agent/commands/memory.ts';
import { outboundTo } from '../agent/outgoing.ts';
import type { InboundMessage } from '../bus/messages.ts';
import { parseInbound } from '../journal/rows.ts';
import { journalTexts } from '../journal/texts.ts';
import { backupsIn, forgetInHome } from '../memory/forget/home.ts';
import { Mention } from '../memory/forget/mention.ts';
import { forgetJson } from '../memory/forget/texts.ts';
import { listTapes } from '../session/reader.ts';
import { readIfExists, replaceDurable } from '../storage/files.ts';
import { countTexts, rewriteTexts } from '../storage/rewrite-texts.ts';
import { errorMessage } from '../util/errors.ts';
import type { App } from '../app.ts';
import type { Ground } from '../assistant/base.ts';

/** Lies in a home of which something is to be forgotten, until all of it is done. */
const requestSchema = z.object({
  id: z.string(),
  /** What is to be forgotten; null: it is, and what else belongs to it remains to be done. */
  words: z.string().nullable(),
  /** The message that asked for it, without its content: there it is said that it is done. Null: a program asked. */
  asked: z.string().nullable(),
  /** Sessions whose tapes were rewritten, which a store of tapes has to get anew. */
  sessions: z.array(z.string()),
  /** Backups that still hold it. */
  backups: z.array(z.string()),
});

/** So that the reply is on its way before the process ends. */
const RESTART_DELAY_MS = 500;

type Request = z.output<typeof requestSchema>;

type Place = Pick<Ground, 'paths'>;

const fileOf = ({ paths }: Place): string => join(paths.home, 'forget.json');

export async function lookFor(
  words: string,
  { paths, program }: Pick<App, 'paths' | 'program'>,
): Promise<MentionsFound> {
  const mention = new Mention(words);
  const { tapes: _, ...found } = await forgetInHome(paths, mention, { erases: false });
  const rows = countTexts(paths.state, journalTexts(program.tables), (text) => {
    forgetJson(text, mention);
    return mention.taken().length > 0;
  });
  return { ...found, rows, backups: await backupsIn(paths.backups) };
}

/** Notes that it is to be forgotten for good, which the next start does before anything else. Durable when it resolves. */
async function askToForget(
  place: Place,
  { id, words, asked }: { readonly id: string; readonly words: string; readonly asked: InboundMessage | null },
): Promise<void> {
  const bare = asked === null ? null : { ...asked, text: '', media: [], context: [], metadata: {} };
  if (bare !== null) {
    delete bare.replyTo;
    delete bare.shared;
  }
  await put(place, { id, words, asked: bare === null ? null : JSON.stringify(bare), sessions: [], backups: [] });
}

/** What a person may have erased for good. */
export interface Forgetting {
  /** Looks for these words; changes nothing. Throws `forget-words` for words that could be anywhere. */
  readonly lookFor: (words: string) => Promise<MentionsFound>;
  /**
   * Has the next start erase them. `restarts`: that follows at once; `later`: nothing starts the program again by itself.
   * `asked`: the message that is answered when it is done.
   */
  readonly forget: (words: string, asked: InboundMessage | null) => Promise<'restarts' | 'later'>;
}

export function createForgetting(app: App): Forgetting {
  return {
    lookFor: (words) => lookFor(words, app),
    forget: async (words, asked) => {
      const { restart } = app;
      await askToForget(app, { id: app.newId(), words, asked });
      if (restart === undefined) return 'later';
      app.clock.timer(RESTART_DELAY_MS, restart);
      return 'restarts';
    },
  };
}

/**
 * Forgets what was asked for, in a home that nothing else uses yet. A start that is cut off does it again from the beginning.
 * False: nothing was to be forgotten.
 */
export async function forgetBeforeStart(place: Pick<Ground, 'paths' | 'log' | 'program'>): Promise<boolean> {
  const request = await read(place);
  if (request === undefined || request.words === null) return false;
  const { paths, log, program } = place;
  const mention = new Mention(request.words);
  const { tapes } = await forgetInHome(paths, mention, { erases: true });
  const rewritten = new Set(tapes.map((name) => join(paths.sessions, name)));
  const sessions = (await listTapes(paths.sessions)).filter(({ path }) => rewritten.has(path)).map(({ key }) => key);
  const rows = rewriteTexts(paths.state, journalTexts(program.tables), (text) => forgetJson(text, mention));
  // It is built again from what is left.
  for (const end of ['', '-wal', '-shm']) await rm(`${paths.search}${end}`, { force: true });
  await put(place, { ...request, words: null, sessions, backups: [...(await backupsIn(paths.backups))] });
  log.info('forget: done', { rows, tapes: sessions.length });
  return true;
}

/** The sessions whose tapes were rewritten before this start. */
export async function forgottenSessions(place: Place): Promise<readonly string[]> {
  return (await read(place))?.sessions ?? [];
}

/** Tells who asked that it is forgotten. Call it when a store of tapes has what is left. */
export async function tellForgotten(app: App): Promise<void> {
  const request = await read(app);
  if (request === undefined || request.words !== null) return;
  const { id, asked, backups } = request;
  const target = asked === null ? undefined : parseInbound(asked);
  if (target !== undefined) {
    const old =
      backups.length === 0 ? '' : ` It is still in these backups, which you can delete: ${backups.join(', ')}.`;
    const text = `It is forgotten for good: it cannot be brought back.${old} The chat platform keeps its own copy of our messages; delete those there.`;
    const notice = { id: `forget:${id}`, kind: 'notice', text } as const;
    await app.bus.publishOutbound(outboundTo(target, notice, app.clock.now()));
  }
  await rm(fileOf(app), { force: true }).catch((error: unknown) =>
    app.log.warn('forget: mark not removed', { reason: errorMessage(error) }),
  );
}

async function read(place: Place): Promise<Request | undefined> {
  const text = await readIfExists(fileOf(place));
  if (text === undefined) return undefined;
  try {
    return requestSchema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

async function put(place: Place, request: Request): Promise<void> {
  await replaceDurable(fileOf(place), `${JSON.stringify(request)}\n`);
}
