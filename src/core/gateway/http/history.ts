import type { Hono } from 'hono';
import { AppError } from '../../util/errors.ts';
import type { HttpEnv } from './answer.ts';
import type { EntryPage, HistoryPage } from './wire.ts';

const USUAL = 50;
const MOST = 200;

export interface ServedHistory {
  /** Throws `session-unknown`. */
  page(
    session: string,
    which: { readonly before?: string; readonly after?: string; readonly limit: number },
  ): Promise<HistoryPage>;
  /** Throws `session-unknown` or `entry-unknown`. */
  entry(
    session: string,
    which: { readonly entry: string; readonly item: string | undefined; readonly offset: number },
  ): Promise<EntryPage>;
}

/** What happened in a session, from its tape. */
export function serveHistory(app: Hono<HttpEnv>, history: ServedHistory): void {
  app.get('/api/sessions/:key/history', async (context) => {
    const { before, after } = context.req.query();
    const limit = Math.min(MOST, wholeNumber('limit', context.req.query('limit'), USUAL));
    const page = history.page(context.req.param('key'), { before, after, limit });
    // A conversation of the page begins with its first message; a 404 would stand in the browser's console as an error.
    const mayBeNew = context.req.query('new') === 'yes';
    return context.json(await (mayBeNew ? page.catch(emptyIfUnknown) : page));
  });
  app.get('/api/sessions/:key/entries/:entry', async (context) => {
    const { key, entry } = context.req.param();
    const offset = wholeNumber('offset', context.req.query('offset'), 0);
    return context.json(await history.entry(key, { entry, item: context.req.query('item'), offset }));
  });
}

function emptyIfUnknown(error: unknown): HistoryPage {
  if (error instanceof AppError && error.code === 'session-unknown') return { items: [], rows: [], more: false };
  throw error;
}

function wholeNumber(name: string, given: string | undefined, standard: number): number {
  if (given === undefined) return standard;
  if (/^\d{1,9}$/u.test(given)) return Number(given);
  throw new AppError('input-invalid', `${name}: expected a whole number.`);
}
