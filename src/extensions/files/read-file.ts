import type { Stats } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { decodeText, imageType, type Inside, type PathGuard } from '../../core/api-paths.ts';
import {
  askToRead,
  bitsOf,
  defineTool,
  errorResult,
  escapeControlChars,
  type FileContent,
  type Marks,
  planInside,
  requireReadable,
  type ResultBits,
  showsInGroup,
  TEXT_SOURCE,
  type Tool,
  type ToolContext,
  type ToolMetadata,
  type ToolResult,
} from '../../core/api-tools.ts';
import { z } from '../../core/api.ts';
import type { ReadDocument, ReadDocumentAnswer } from './documents/document-reader.ts';
import { linePage, type LinePage, type PageWish } from './documents/line-page.ts';

const MOST_LINES = 2_000;
/** Larger texts are looked through in a child process. */
const LARGE = 1024 * 1024;
/** Of a file, for telling what it is. */
const START_BYTES = 4_096;

export interface ReadFileOptions {
  readonly guard: PathGuard;
  /** Characters of one page. */
  readonly pageChars: number;
  /** @default no file is marked */
  readonly marks?: Marks;
  readonly readDocument: ReadDocument;
  /** Keeps an image for the model; returns its absolute path. @default images are not shown */
  readonly keepImage?: (bytes: Uint8Array) => Promise<string>;
}

const parameters = z.object({
  path: z.string().min(1).describe('Path of the file, e.g. notes/todo.md.'),
  offset: z.int().min(1).optional().describe('First line to return. Default: 1.'),
  column: z.int().min(1).optional().describe('First character of that line to return. Default: 1.'),
  limit: z.int().min(1).max(MOST_LINES).optional().describe(`Most lines to return. Default: ${MOST_LINES}.`),
});

export function readFileTool(options: ReadFileOptions): Tool {
  const documents = new Map<string, ReadDocumentAnswer>();
  return defineTool({
    name: 'read_file',
    fits: 'tiny',
    onlyReads: true,
    source: TEXT_SOURCE,
    description:
      'Read a file: text with line numbers, the text of a PDF, Word, Excel or PowerPoint file, or an image, which is shown to you. To find text in many files use grep.',
    parameters,
    effect: 'none',
    plan: ({ path, offset = 1, column, limit = MOST_LINES }, context) =>
      planInside(options.guard, { path, access: 'read' }, context, (place) => ({
        asks: askToRead(place),
        reaches: showsInGroup(escapeControlChars(path)),
        run: async (signal) => {
          requireReadable(place, path);
          await using handle = await place.open();
          const { stat } = place.pinned;
          const wish = { offset, column, limit, pageChars: options.pageChars };
          const file = { path: place.path, handle, stat };
          const reading: Reading = { ...options, path, file, wish, context: { ...context, signal } };
          const kind = kindOf(await startOf(handle), stat.size);
          if (kind === 'text') return paged(reading, await readPlain(reading, place));
          const { readDocument, readImage, readLarge } = await import('./read-document.ts');
          if (kind === 'image') return await readImage(reading);
          return paged(reading, await (kind === 'large' ? readLarge(reading) : readDocument(reading, documents)));
        },
      })),
  });
}

/** What a call reads, and how. */
export interface Reading extends ReadFileOptions {
  /** As the model named it. */
  readonly path: string;
  /** The opened file, by its real path. */
  readonly file: { readonly path: string; readonly handle: FileHandle; readonly stat: Stats };
  readonly wish: PageWish;
  readonly context: ToolContext;
}

/** How the file begins. */
async function startOf(handle: FileHandle): Promise<Buffer> {
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(START_BYTES), 0, START_BYTES, 0);
  return buffer.subarray(0, bytesRead);
}

/** By what is in it, never by its name. An archive may turn out to be no document. */
function kindOf(start: Buffer, size: number): 'image' | 'document' | 'large' | 'text' {
  if (imageType(start) !== undefined) return 'image';
  if (/^(?:%PDF-|PK\u0003\u0004)/u.test(start.toString('latin1', 0, 5))) return 'document';
  return size > LARGE ? 'large' : 'text';
}

/** A page of what a file holds. */
export interface ReadPage {
  /** Null: it is a binary file. */
  readonly page: LinePage | null;
  readonly facts: ToolMetadata;
  /** How strangers' it is. */
  readonly bits: ResultBits;
  /** What the last page says, and what one says instead that has no lines. */
  readonly end?: string;
  readonly empty?: string;
}

async function readPlain({ file, wish, marks, context }: Reading, place: Inside): Promise<ReadPage> {
  const saved: FileContent = { path: file.path, stat: file.stat, bytes: await file.handle.readFile() };
  const shown = (await context.files.store?.read(saved, place, context)) ?? saved;
  const size = shown.bytes.length;
  const bits = await bitsOf(marks, [file.path], context.person.role);
  const decoded = decodeText(shown.bytes);
  if ('binary' in decoded) return { page: null, facts: { size }, bits };
  const { encoding } = decoded.format;
  const isUnsaved = shown.saved?.equals(shown.bytes) === false;
  const facts = { size, ...(encoding !== 'utf-8' && { encoding }), ...(isUnsaved && { unsaved: true }) };
  return { page: linePage(decoded.text, wish), facts, bits };
}

function paged({ path, wish }: Reading, { page, facts, bits, end = '', empty }: ReadPage): ToolResult {
  const title = `read ${path}`;
  if (page === null) {
    return { ...errorResult(title, 'This is a binary file, so it is not shown as text.', facts), ...bits };
  }
  const { text, lines, next } = page;
  if (empty !== undefined) return { title, output: empty, metadata: facts, ...bits };
  if (lines === 0) return { title, output: '(the file is empty)', metadata: { ...facts, lines }, ...bits };
  if (wish.offset > lines) {
    return { ...errorResult(title, `The file has ${lines} lines; line ${wish.offset} was asked for.`, facts), ...bits };
  }
  const rest = next === null ? end : `(${lines - next + 1} more lines; continue at offset ${next})`;
  const output = rest === '' ? text : `${text}\n\n${rest}`;
  return { title, output, metadata: { lines, ...facts, truncated: next !== null }, ...bits };
}
