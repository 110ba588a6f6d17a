import type { getDocumentProxy } from 'unpdf';
import { AppError } from '../../util/errors.ts';
import { cut as shortened } from '../../util/text.ts';
import type { Bounds } from './child.ts';

/** The text of a document, in the order in which it is read. */
export interface DocumentText {
  readonly title: string | null;
  readonly text: string;
  /** There was more than is read. */
  readonly cut: boolean;
}

/** The text of a PDF, page by page. Throws `pdf-unreadable` for one that is broken or asks for a password. */
export async function pdfText(bytes: Uint8Array, bounds: Bounds): Promise<DocumentText> {
  const { getDocumentProxy: openPdf } = await import('unpdf');
  try {
    const data = Buffer.isBuffer(bytes) ? new Uint8Array(bytes) : bytes;
    return await textOf(await openPdf(data, { verbosity: 0 }), bounds);
  } catch (cause) {
    const isLocked = cause instanceof Error && cause.name === 'PasswordException';
    const why = isLocked ? 'it asks for a password' : 'it is broken or was cut off';
    throw new AppError('pdf-unreadable', `This PDF could not be read: ${why}.`, { cause });
  }
}

async function textOf(
  pdf: Awaited<ReturnType<typeof getDocumentProxy>>,
  { mostChars, hasTime }: Bounds,
): Promise<DocumentText> {
  const pages: string[] = [];
  let length = 0;
  let number = 1;
  for (; number <= pdf.numPages && length < mostChars && hasTime(); number += 1) {
    const page = await pdf.getPage(number);
    const { items } = await page.getTextContent();
    const text = items.map((item) => ('str' in item ? `${item.str}${item.hasEOL ? '\n' : ''}` : '')).join('');
    pages.push(`[page ${number} of ${pdf.numPages}]\n${text.trim()}`);
    length += text.length;
    page.cleanup();
  }
  const { info } = await pdf.getMetadata();
  const given: unknown = 'Title' in info ? info.Title : null;
  const title = typeof given === 'string' && given.trim() !== '' ? given.trim() : null;
  return { title, text: shortened(pages.join('\n\n'), mostChars), cut: number <= pdf.numPages };
}
