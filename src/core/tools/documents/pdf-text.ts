import type { getDocumentProxy } from 'unpdf';
import { systemClock } from '../../util/clock.ts';
import { AppError } from '../../util/errors.ts';
import { cut as shortened } from '../../util/text.ts';

/** The text of a document, in the order in which it is read. */
export interface DocumentText {
  readonly title: string | null;
  readonly text: string;
  /** There was more than is read. */
  readonly cut: boolean;
}

/**
 * The text of a PDF, page by page, as far as `budgetMs` and `mostChars` go. The bytes are its own from now on. Throws `pdf-unreadable` for one that is
 * broken or asks for a password.
 */
export async function pdfText(
  bytes: Uint8Array,
  { budgetMs, mostChars }: { budgetMs: number; mostChars: number },
): Promise<DocumentText> {
  const { getDocumentProxy: openPdf } = await import('unpdf');
  try {
    const data = Buffer.isBuffer(bytes) ? new Uint8Array(bytes) : bytes;
    return await textOf(await openPdf(data, { verbosity: 0 }), { budgetMs, mostChars });
  } catch (cause) {
    const isLocked = cause instanceof Error && cause.name === 'PasswordException';
    const why = isLocked ? 'it asks for a password' : 'it is broken or was cut off';
    throw new AppError('pdf-unreadable', `This PDF could not be read: ${why}.`, { cause });
  }
}

type Pdf = Awaited<ReturnType<typeof getDocumentProxy>>;

async function textOf(
  pdf: Pdf,
  { budgetMs, mostChars }: { budgetMs: number; mostChars: number },
): Promise<DocumentText> {
  const end = systemClock.monotonic() + budgetMs;
  const pages: string[] = [];
  let length = 0;
  let number = 1;
  for (; number <= pdf.numPages && length < mostChars && systemClock.monotonic() < end; number += 1) {
    const page = await pdf.getPage(number);
    const { items } = await page.getTextContent();
    const text = items.map((item) => ('str' in item ? `${item.str}${item.hasEOL ? '\n' : ''}` : '')).join('');
    pages.push(`[page ${number} of ${pdf.numPages}]\n${text.trim()}`);
    length += text.length;
    page.cleanup();
  }
  const cut = number <= pdf.numPages;
  return { title: await titleOf(pdf), text: shortened(pages.join('\n\n'), mostChars), cut };
}

async function titleOf(pdf: { getMetadata(): Promise<{ info: object }> }): Promise<string | null> {
  const { info } = await pdf.getMetadata();
  const title: unknown = 'Title' in info ? info.Title : null;
  return typeof title === 'string' && title.trim() !== '' ? title.trim() : null;
}
