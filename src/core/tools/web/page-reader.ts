import type { Role } from '../../bus/messages.ts';
import type { Clock } from '../../util/clock.ts';
import { errorCode } from '../../util/errors.ts';
import { createDocumentReader, readingBudgetMs, type ReadDocument } from '../documents/document-reader.ts';
import type { PageTask, PageText } from './page-task.ts';

/** The body of an HTTP response, with what is needed to turn it into text. */
export type FetchedPage = Pick<PageTask, 'kind' | 'charset' | 'url'> & { readonly bytes: Uint8Array };

/** Turns the body of a response into text. Throws as `ReadDocument` does. */
export type ReadPage = (
  page: FetchedPage,
  options: { readonly role: Role; readonly signal: AbortSignal },
) => Promise<PageText>;

export interface PageReaderOptions {
  readonly clock: Clock;
  /** Timeout for one page. @default depends on its kind and size */
  readonly timeoutMs?: number;
  /** @default a reader of its own */
  readonly readDocument?: ReadDocument;
}

/**
 * Creates a reader that parses each page in a child process of its own, so that a page which makes the parser hang or use too
 * much memory harms nothing else. An HTML page that exceeds time or memory is read once more without a parser.
 */
export function createPageReader({
  clock,
  timeoutMs,
  readDocument = createDocumentReader({ clock, ...(timeoutMs === undefined ? {} : { timeoutMs }) }),
}: PageReaderOptions): ReadPage {
  return async ({ bytes, ...page }, options) => {
    const budgetMs = readingBudgetMs('page', bytes.length);
    const read = (simple: boolean): Promise<PageText> =>
      readDocument('page', { ...page, simple, budgetMs }, { bytes }, options);
    try {
      return await read(false);
    } catch (error) {
      const isTooMuch = ['document-late', 'document-memory'].includes(errorCode(error) ?? '');
      if (!isTooMuch || page.kind !== 'html') throw error;
      return await read(true);
    }
  };
}
