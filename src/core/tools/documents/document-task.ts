import * as z from 'zod';
import type { PageTask } from '../web/page-task.ts';
import type { PageWish } from './line-page.ts';

/** What the child process is asked for, by kind. `lines`: a page of a text that is too large to be looked through in the daemon. */
export interface DocumentTasks {
  readonly pdf: DocumentBounds;
  readonly office: DocumentBounds;
  readonly lines: PageWish;
  readonly page: PageTask;
}

export type DocumentKind = keyof DocumentTasks;

interface DocumentBounds {
  /** Most characters of its text. */
  readonly mostChars: number;
  /** Milliseconds after which a document is read no further. */
  readonly budgetMs: number;
}

/** SHA-256 of the bytes in hex; null: they are nothing but white space. */
const hash = z.string().nullable();
/** The text itself comes after the facts. */
const text = z.string();
const documentText = z.object({
  title: z.string().nullable(),
  /** There was more than is read. */
  cut: z.boolean(),
  text,
  hash,
});

/**
 * What a child process answers, by kind. It has read bytes of strangers, so its answer is checked like one of a stranger.
 */
export const DOCUMENT_ANSWERS = {
  pdf: documentText,
  /** `format` null: it is another archive, and nothing was read of it. */
  office: documentText.extend({ format: z.enum(['docx', 'xlsx', 'pptx']).nullable() }),
  lines: z.object({
    /** Null: it is binary. */
    encoding: z.string().nullable(),
    /** Lines of the whole text. */
    lines: z.int(),
    /** The first line after this page; null: there is none. */
    next: z.int().nullable(),
    text,
    hash,
  }),
  page: z.object({
    title: z.string().nullable(),
    published: z.string().nullable(),
    hidden: z.int(),
    simple: z.boolean(),
    cut: z.boolean(),
    text,
  }),
} satisfies Readonly<Record<DocumentKind, z.ZodType>>;

type Schemas = typeof DOCUMENT_ANSWERS;
export type DocumentAnswers = { readonly [Kind in DocumentKind]: z.infer<Schemas[Kind]> };

/** The first line on the standard input of a child process, before the bytes where they do not lie in a file. */
export interface ChildTask {
  readonly kind: DocumentKind;
  readonly task: DocumentTasks[DocumentKind];
  /** Of the document. */
  readonly bytes: number;
  /** The document is the file on descriptor 4, not the rest of the input. */
  readonly isFile: boolean;
}
