import type { Hono } from 'hono';
import { failure, type HttpEnv } from './answer.ts';

/** The files of the page. */
export interface PageFiles {
  /** `path` without the leading slash; `index.html` is the page itself. Undefined: there is no such file. */
  get(path: string): PageFile | undefined;
}

export interface PageFile {
  readonly body: Uint8Array;
  /** The body as gzip. */
  readonly gzipped: Uint8Array;
  /** Its media type, with the charset of text. */
  readonly type: string;
  /** Of its content. */
  readonly hash: string;
}

/** What is never a file of the page, so that the page is not loaded for it. */
const OTHERS = /^\/(?:(?:api|v1|hooks)\/|(?:ready|metrics|ws)$)/u;

/** Their names change with their content. */
const FOREVER = 'public, max-age=31536000, immutable';
/** A browser asks each time whether its copy is still the newest, so that an update is seen at once. */
const ASK = 'no-cache';

/** Serves the page. `page`: loads its files when they are first asked for; null: no page is served. */
export function serveAssets(app: Hono<HttpEnv>, page: (() => Promise<PageFiles>) | null): void {
  let files: Promise<PageFiles> | undefined;
  app.get('*', async (context, next) => {
    if (page === null || OTHERS.test(context.req.path)) return await next();
    files ??= page();
    const found = await files.catch((error: unknown) => {
      files = undefined;
      throw error;
    });
    const path = context.req.path.slice(1);
    const file = found.get(path === '' ? 'index.html' : path);
    if (file === undefined) return await next();
    const tag = `"${file.hash}"`;
    const headers = { ETag: tag, Vary: 'Accept-Encoding', 'Cache-Control': path.startsWith('assets/') ? FOREVER : ASK };
    if (context.req.header('if-none-match') === tag) return context.body(null, 304, headers);
    const isPacked = /\bgzip\b/u.test(context.req.header('accept-encoding') ?? '');
    return context.body(Buffer.from(isPacked ? file.gzipped : file.body), 200, {
      ...headers,
      'Content-Type': file.type,
      ...(isPacked ? { 'Content-Encoding': 'gzip' } : {}),
    });
  });
  if (page !== null) return;
  app.get('/', (context) => failure(context, 404, 'page-off', 'No page is served here: gateway.ui is off.'));
}
