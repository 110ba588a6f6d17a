import * as z from 'zod';
import type { ReadApart, ReadRequest } from '../../../core/api-tools.ts';
import type { PageWish } from './line-page.ts';

/** What a document is read for: all of its text up to so many characters, or one page of a large plain text. */
export type DocumentTask = { readonly mostChars: number } | { readonly wish: PageWish };

/** What the child process answers beside the text. */
const facts = z.object({
  /** Null: it is none of these, and nothing was read of it. */
  format: z.enum(['pdf', 'docx', 'xlsx', 'pptx', 'text']).nullable(),
  title: z.string().nullable(),
  /** There was more than is read. */
  cut: z.boolean(),
  /** Of a plain text. */
  encoding: z.string().default(''),
  /** Lines of the whole plain text. */
  lines: z.int().default(0),
  /** The first line after the page; null: there is none. */
  next: z.int().nullable().default(null),
});

export type ReadDocumentAnswer = z.infer<typeof facts> & { readonly text: string };

/** Makes text of a document in a child process. Throws as `ReadApart` does. */
export type ReadDocument = (
  task: DocumentTask,
  source: ReadRequest<unknown>['source'],
  options: Pick<ReadRequest<unknown>, 'role' | 'signal'>,
) => Promise<ReadDocumentAnswer>;

export function documentReader(read: ReadApart): ReadDocument {
  const program = new URL('./document-child.ts', import.meta.url);
  return (task, source, options) =>
    read({ program, task, source, facts, noun: 'document', baseMs: 10_000, ...options });
}
