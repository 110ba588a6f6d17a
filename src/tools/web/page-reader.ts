import type { Role } from '../../bus/messages.ts';
import type { Clock } from '../../util/clock.ts';
import { errorCode } from '../../util/errors.ts';
import { createDocumentReader, readingBudgetMs, type ReadDocument } from '../documents/document-reader.ts';
import type { PageTask, PageText } from './page-task.ts';

/** An answer of a server that is to be read. */
export type FetchedPage = Pick<PageTask, 'kind' | 'charset' | 'url'> & { readonly bytes: Uint8Array };

/** Makes text of the bytes of an answer. Throws as `ReadDocument` does. */
export type ReadPage = (
  page: FetchedPage,
  options: { readonly role: Role; readonly signal: AbortSignal },
) => Promise<PageText>;

export interface PageReaderOptions {
  readonly clock: Clock;
  /** For one page. @default by its kind and size */
  readonly timeoutMs?: number;
  /** @default a reader of its own */
  readonly readDocument?: ReadDocument;
}

/**
 * Reads each page in a child process of its own: what a page does to a parser (endless loops, all memory) ends there, and
 * no page meets another. A page that is too much for the parser is read once more without one.
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
