import { basename } from 'node:path';
import { imageType, MOST_IMAGE_BYTES } from '../../core/api-paths.ts';
import { bitsOf, errorResult, type ToolResult } from '../../core/api-tools.ts';
import type { DocumentTask, ReadDocumentAnswer } from './documents/document-reader.ts';
import { linePage } from './documents/line-page.ts';
import type { Reading, ReadPage } from './read-file.ts';

/** Characters of the text of a document. */
const MOST_CHARS = 2_000_000;
/** Documents whose text is kept for the next page. */
const KEPT_DOCUMENTS = 4;

/** Shows an image to the model. */
export async function readImage({ path, file, keepImage, marks, context }: Reading): Promise<ToolResult> {
  const title = `read ${path}`;
  const { size } = file.stat;
  if (keepImage === undefined) return errorResult(title, 'This is an image, and images are not shown here.', { size });
  if (size > MOST_IMAGE_BYTES) {
    const most = `models take images of at most ${MOST_IMAGE_BYTES} bytes`;
    return errorResult(title, `This image has ${size} bytes, but ${most}. Make a smaller copy of it.`, { size });
  }
  const bytes = await file.handle.readFile();
  const mediaType = imageType(bytes) ?? '';
  const bits = await bitsOf(marks, [file.path], context.person.role);
  const kept = await keepImage(bytes);
  return {
    title,
    output: 'The image is shown.',
    metadata: { type: mediaType, size },
    media: [{ kind: 'image', mediaType, path: kept, name: basename(file.path), size }],
    ...bits,
  };
}

/** Reads the text of a document in a child process. `kept`: texts of earlier calls, which this one adds to. */
export async function readDocument(reading: Reading, kept: Map<string, ReadDocumentAnswer>): Promise<ReadPage> {
  const { file, wish, marks, context } = reading;
  const { size, ino, mtimeMs, ctimeMs } = file.stat;
  const key = JSON.stringify([file.path, ino, size, mtimeMs, ctimeMs]);
  let found = kept.get(key);
  if (found === undefined) {
    context.people.progress(`reading ${basename(file.path)}`);
    found = await readApart({ mostChars: MOST_CHARS }, reading);
  }
  kept.delete(key);
  kept.set(key, found);
  const [oldest] = kept.keys();
  if (kept.size > KEPT_DOCUMENTS && oldest !== undefined) kept.delete(oldest);
  const bits = await bitsOf(marks, [file.path], context.person.role);
  if (found.format === null) return { page: null, facts: { size }, bits };
  return {
    page: linePage(found.text, wish),
    facts: { document: found.format, documentTitle: found.title, size },
    bits,
    ...(found.text.trim() === '' && { empty: '(there is no text in this document; its pages may be pictures)' }),
    ...(found.cut && { end: '(the document has more text, but no more of it can be read)' }),
  };
}

/** Reads a page of a large text in a child process. */
export async function readLarge(reading: Reading): Promise<ReadPage> {
  const { file, wish, marks, context } = reading;
  const { size } = file.stat;
  const { format, encoding, ...page } = await readApart({ wish }, reading);
  const bits = await bitsOf(marks, [file.path], context.person.role);
  if (format === null) return { page: null, facts: { size }, bits };
  return { page, facts: { size, ...(encoding !== 'utf-8' && { encoding }) }, bits };
}

function readApart(
  task: DocumentTask,
  { file: { handle, stat }, context: { person, signal }, readDocument: read }: Reading,
): Promise<ReadDocumentAnswer> {
  return read(task, { descriptor: handle.fd, size: stat.size }, { role: person.role, signal });
}
