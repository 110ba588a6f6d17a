import type { Stats } from 'node:fs';
import { basename } from 'node:path';
import * as z from 'zod';
import type { PathGuard } from '../security/paths.ts';
import { visible } from '../security/visible.ts';
import type { Hashed } from './documents/document-task.ts';
import { DOCUMENT_MS, type ReadDocument } from './documents/document-thread.ts';
import { linePage, type LinePage, type PageWish } from './documents/line-page.ts';
import type { DocumentText } from './documents/pdf-text.ts';
import { decidePathUse, readWhole } from './file-access.ts';
import { bitsOfFile, type FileOrigins } from './file-taint.ts';
import { decodeText } from './file-text.ts';
import { imageType, MOST_IMAGE_BYTES } from './files/image-type.ts';
import { errorResult } from './result.ts';
import { defineTool, type Tool, type ToolContext, type ToolMetadata, type ToolResult } from './tool.ts';

const MOST_LINES = 2_000;
/** Larger texts are looked through in a thread. */
const LARGE = 1024 * 1024;
/** Of the text of a document. */
const MOST_CHARS = 2_000_000;
/** Of its time a document is read so long, the rest is for what was read. */
const READING_SHARE = 0.7;
/** Documents whose text is kept for the next page. */
const KEPT_DOCUMENTS = 4;

export interface ReadFileOptions {
  readonly guard: PathGuard;
  /** Characters of one page. */
  readonly pageChars: number;
  /** @default nothing is known of strangers */
  readonly origins?: FileOrigins | undefined;
  readonly readDocument: ReadDocument;
  /** Keeps an image for the model; returns its absolute path. @default images are not shown */
  readonly keepImage?: ((bytes: Uint8Array) => Promise<string>) | undefined;
}

export function readFileTool(options: ReadFileOptions): Tool {
  const documents: Documents = new Map();
  return defineTool({
    name: 'read_file',
    description: 'Read a file: text (lines numbered), PDF, Word, image.',
    parameters: z.object({
      path: z.string().min(1).describe('File'),
      offset: z.int().min(1).optional().describe('First line, from 1'),
      limit: z.int().min(1).max(MOST_LINES).optional().describe('Most lines'),
    }),
    effect: 'none',
    shows: ({ path }) => visible(path),
    decide: ({ path }, context) => decidePathUse(options.guard, path, 'read', context),
    execute: async ({ path, offset = 1, limit = MOST_LINES }, context) => {
      const read = await readWhole(options.guard, path, context);
      const wish = { offset, limit, pageChars: options.pageChars };
      return await READERS[kindOf(read.bytes)]({ ...options, path, read, wish, context }, documents);
    },
  });
}

interface Reading extends ReadFileOptions {
  readonly path: string;
  readonly read: { readonly path: string; readonly bytes: Buffer; readonly stat: Stats };
  readonly wish: PageWish;
  readonly context: ToolContext;
}

type Kind = 'image' | 'pdf' | 'docx' | 'large' | 'text';
type Documents = Map<string, Hashed<DocumentText>>;
type Reader = (reading: Reading, documents: Documents) => Promise<ToolResult>;

/** By what is in it, never by its name. */
function kindOf(bytes: Buffer): Kind {
  if (imageType(bytes) !== undefined) return 'image';
  if (bytes.subarray(0, 5).toString('latin1') === '%PDF-') return 'pdf';
  if (bytes.subarray(0, 4).toString('latin1') === 'PK\u0003\u0004' && bytes.includes('word/document.xml'))
    return 'docx';
  return bytes.length > LARGE ? 'large' : 'text';
}

const READERS: Readonly<Record<Kind, Reader>> = {
  image: readImage,
  pdf: (reading, documents) => readText('pdf', reading, documents),
  docx: (reading, documents) => readText('docx', reading, documents),
  large: readLarge,
  text: async ({ path, read, wish, origins }) => {
    const { bytes } = read;
    const bits = await bitsOfFile(origins, read);
    const decoded = decodeText(bytes);
    if ('binary' in decoded) return { ...binary(path, bytes.length), ...bits };
    const facts = factsOf(bytes.length, decoded.format.encoding);
    return { ...paged(path, linePage(decoded.text, wish), { wish, facts }), ...bits };
  },
};

async function readImage({ path, read, keepImage, origins }: Reading): Promise<ToolResult> {
  const title = `read ${path}`;
  const size = read.bytes.length;
  const mediaType = imageType(read.bytes) ?? '';
  if (keepImage === undefined) return errorResult(title, 'This is an image, and images are not shown here.', { size });
  if (size > MOST_IMAGE_BYTES) {
    const most = `models take images of at most ${MOST_IMAGE_BYTES} bytes`;
    return errorResult(title, `This image has ${size} bytes, but ${most}. Make a smaller copy of it.`, { size });
  }
  const bits = await bitsOfFile(origins, read);
  const kept = await keepImage(read.bytes);
  return {
    title,
    output: 'The image is shown.',
    metadata: { type: mediaType, size },
    media: [{ kind: 'image', mediaType, path: kept, name: basename(read.path), size }],
    ...bits,
  };
}

async function readText(kind: 'pdf' | 'docx', reading: Reading, documents: Documents): Promise<ToolResult> {
  const { path, read, wish, origins } = reading;
  const { size, ino, mtimeMs, ctimeMs } = read.stat;
  const key = JSON.stringify([read.path, ino, size, mtimeMs, ctimeMs]);
  const found = documents.get(key) ?? (await readAnew(kind, reading));
  documents.delete(key);
  documents.set(key, found);
  const [oldest] = documents.keys();
  if (documents.size > KEPT_DOCUMENTS && oldest !== undefined) documents.delete(oldest);
  const bits = await bitsOfFile(origins, { path: read.path, stat: read.stat, hash: found.hash });
  const facts = { document: kind, documentTitle: found.title, size };
  if (found.text.trim() === '') {
    const output = '(there is no text in it; its pages may be pictures)';
    return { title: `read ${path}`, output, metadata: facts, ...bits };
  }
  const result = paged(path, linePage(found.text, wish), { wish, facts });
  const isEnd = found.cut && result.metadata['truncated'] === false;
  const more = isEnd ? '\n\n(the document goes on, but no more of it can be read)' : '';
  return { ...result, output: result.output + more, ...bits };
}

function readAnew(kind: 'pdf' | 'docx', { read, context, readDocument }: Reading): Promise<Hashed<DocumentText>> {
  context.progress(`reading ${basename(read.path)}`);
  const budgetMs = DOCUMENT_MS * READING_SHARE;
  return readDocument({ kind, bytes: read.bytes, mostChars: MOST_CHARS, budgetMs }, context.signal);
}

async function readLarge({ path, read, wish, context, origins, readDocument }: Reading): Promise<ToolResult> {
  const size = read.bytes.length;
  const task = { kind: 'lines', bytes: read.bytes, wish } as const;
  const { page, encoding, hash } = await readDocument(task, context.signal);
  const bits = await bitsOfFile(origins, { path: read.path, stat: read.stat, hash });
  const result = page === null ? binary(path, size) : paged(path, page, { wish, facts: factsOf(size, encoding) });
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
