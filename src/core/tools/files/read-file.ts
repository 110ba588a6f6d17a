import type { Stats } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { basename } from 'node:path';
import * as z from 'zod';
import type { Inside, PathGuard } from '../../security/paths/open-inside.ts';
import { escapeControlChars } from '../../security/text/control-characters.ts';
import type { DocumentTask, ReadDocument, ReadDocumentAnswer } from '../documents/document-reader.ts';
import { linePage, type LinePage, type PageWish } from '../documents/line-page.ts';
import { askToRead, planInside } from './access.ts';
import { asEditorShows, isUnsaved } from './editor-buffer.ts';
import { bitsOfFile, type FileOrigins, TEXT_SOURCE } from './taint.ts';
import { decodeText, imageType, MOST_IMAGE_BYTES } from './file-text.ts';
import { errorResult } from '../registry/result.ts';
import { defineTool, showsInGroup, type Tool, type ToolContext, type ToolMetadata, type ToolResult } from '../tool.ts';
import { requireReadable } from './whole-file.ts';

const MOST_LINES = 2_000;
/** Larger texts are looked through in a child process. */
const LARGE = 1024 * 1024;
/** Of the text of a document. */
const MOST_CHARS = 2_000_000;
/** Of a file, for telling what it is. */
const START_BYTES = 4_096;
/** Documents whose text is kept for the next page. */
const KEPT_DOCUMENTS = 4;

export interface ReadFileOptions {
  readonly guard: PathGuard;
  /** Characters of one page. */
  readonly pageChars: number;
  /** @default nothing is known of strangers */
  readonly origins?: FileOrigins;
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
  const documents: Documents = new Map();
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
          const wish = { offset, column, limit, pageChars: options.pageChars };
          const file = { place, handle, path: place.path, stat: place.pinned.stat };
          const reader = READERS[kindOf(await startOf(file), file.stat.size)];
          return await reader({ ...options, path, file, wish, context: { ...context, signal } }, documents);
        },
      })),
  });
}

interface OpenedFile {
  readonly place: Inside;
  readonly handle: FileHandle;
  /** Real. */
  readonly path: string;
  readonly stat: Stats;
}

interface Reading extends ReadFileOptions {
  readonly path: string;
  readonly file: OpenedFile;
  readonly wish: PageWish;
  readonly context: ToolContext;
}

type Kind = 'image' | 'document' | 'large' | 'text';
type Documents = Map<string, ReadDocumentAnswer>;
type Reader = (reading: Reading, documents: Documents) => Promise<ToolResult>;

/** How the file begins. */
async function startOf({ handle }: OpenedFile): Promise<Buffer> {
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(START_BYTES), 0, START_BYTES, 0);
  return buffer.subarray(0, bytesRead);
}

/** By what is in it, never by its name. An archive may turn out to be no document. */
function kindOf(start: Buffer, size: number): Kind {
  if (imageType(start) !== undefined) return 'image';
  if (/^(?:%PDF-|PK\u0003\u0004)/u.test(start.toString('latin1', 0, 5))) return 'document';
  return size > LARGE ? 'large' : 'text';
}

const READERS: Readonly<Record<Kind, Reader>> = {
  image: readImage,
  document: readText,
  large: readLarge,
  text: async ({ path, file, wish, origins, context }) => {
    const saved = { path: file.path, stat: file.stat, bytes: await file.handle.readFile() };
    const shown = await asEditorShows(saved, file.place, context);
    const { bytes } = shown;
    const bits = await bitsOfFile(origins, shown);
    const decoded = decodeText(bytes);
    if ('binary' in decoded) return { ...binary(path, bytes.length), ...bits };
    const facts = { ...factsOf(bytes.length, decoded.format.encoding), ...(isUnsaved(shown) ? { unsaved: true } : {}) };
    return { ...paged(path, linePage(decoded.text, wish), { wish, facts }), ...bits };
  },
};

async function readImage({ path, file, keepImage, origins }: Reading): Promise<ToolResult> {
  const title = `read ${path}`;
  const { size } = file.stat;
  if (keepImage === undefined) return errorResult(title, 'This is an image, and images are not shown here.', { size });
  if (size > MOST_IMAGE_BYTES) {
    const most = `models take images of at most ${MOST_IMAGE_BYTES} bytes`;
    return errorResult(title, `This image has ${size} bytes, but ${most}. Make a smaller copy of it.`, { size });
  }
  const bytes = await file.handle.readFile();
  const mediaType = imageType(bytes) ?? '';
  const bits = await bitsOfFile(origins, { path: file.path, stat: file.stat, bytes });
  const kept = await keepImage(bytes);
  return {
    title,
    output: 'The image is shown.',
    metadata: { type: mediaType, size },
    media: [{ kind: 'image', mediaType, path: kept, name: basename(file.path), size }],
    ...bits,
  };
}

async function readText(reading: Reading, documents: Documents): Promise<ToolResult> {
  const { path, file, wish, origins } = reading;
  const { size, ino, mtimeMs, ctimeMs } = file.stat;
  const key = JSON.stringify([file.path, ino, size, mtimeMs, ctimeMs]);
  const found = documents.get(key) ?? (await readAnew(reading));
  documents.delete(key);
  documents.set(key, found);
  const [oldest] = documents.keys();
  if (documents.size > KEPT_DOCUMENTS && oldest !== undefined) documents.delete(oldest);
  const bits = await bitsOfFile(origins, { path: file.path, stat: file.stat, hash: found.hash });
  if (found.format === null) return { ...binary(path, size), ...bits };
  const facts = { document: found.format, documentTitle: found.title, size };
  if (found.text.trim() === '') {
    const output = '(there is no text in this document; its pages may be pictures)';
    return { title: `read ${path}`, output, metadata: facts, ...bits };
  }
  const result = paged(path, linePage(found.text, wish), { wish, facts });
  const isEnd = found.cut && result.metadata['truncated'] === false;
  const more = isEnd ? '\n\n(the document has more text, but no more of it can be read)' : '';
  return { ...result, output: result.output + more, ...bits };
}

function readAnew(reading: Reading): Promise<ReadDocumentAnswer> {
  reading.context.people.progress(`reading ${basename(reading.file.path)}`);
  return readApart({ mostChars: MOST_CHARS }, reading);
}

function readApart(
  task: DocumentTask,
  { file: { handle, stat }, context: { person, signal }, readDocument }: Reading,
): Promise<ReadDocumentAnswer> {
  return readDocument(task, { descriptor: handle.fd, size: stat.size }, { role: person.role, signal });
}

async function readLarge(reading: Reading): Promise<ToolResult> {
  const { path, file, wish, origins } = reading;
  const { size } = file.stat;
  const { format, encoding, hash, ...page } = await readApart({ wish }, reading);
  const bits = await bitsOfFile(origins, { path: file.path, stat: file.stat, hash });
  const result = format === null ? binary(path, size) : paged(path, page, { wish, facts: factsOf(size, encoding) });
  return { ...result, ...bits };
}

function binary(path: string, size: number): ToolResult {
  return errorResult(`read ${path}`, 'This is a binary file, so it is not shown as text.', { size });
}

function factsOf(size: number, encoding: string): ToolMetadata {
  return encoding === 'utf-8' ? { size } : { size, encoding };
}

function paged(path: string, page: LinePage, { wish, facts }: { wish: PageWish; facts: ToolMetadata }): ToolResult {
  const { text, lines, next } = page;
  const title = `read ${path}`;
  if (lines === 0) return { title, output: '(the file is empty)', metadata: { ...facts, lines } };
  if (wish.offset > lines) {
    return errorResult(title, `The file has ${lines} lines; line ${wish.offset} was asked for.`, facts);
  }
  const rest = next === null ? '' : `\n\n(${lines - next + 1} more lines; continue at offset ${next})`;
  return { title, output: text + rest, metadata: { lines, ...facts, truncated: next !== null } };
}
