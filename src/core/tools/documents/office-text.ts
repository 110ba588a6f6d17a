import { systemClock } from '../../util/clock.ts';
import { officeFormat, type OfficeFormat } from './office-archive.ts';
import type { DocumentText } from './pdf-text.ts';

/**
 * The text of a Word document, an Excel workbook or a PowerPoint presentation, as far as `budgetMs` and `mostChars` go;
 * `format` null: the archive is none of them. Throws a sentence for a broken or too large document.
 */
export async function officeText(
  bytes: Uint8Array,
  { budgetMs, mostChars }: { readonly budgetMs: number; readonly mostChars: number },
): Promise<DocumentText & { readonly format: OfficeFormat | null }> {
  const end = systemClock.monotonic() + budgetMs;
  const bounds = { mostChars, hasTime: () => systemClock.monotonic() < end };
  const format = officeFormat(bytes);
  switch (format) {
    case 'docx': {
      const { docxText } = await import('./docx-text.ts');
      return { ...docxText(bytes, bounds), format };
    }
    case 'xlsx': {
      const { xlsxText } = await import('./xlsx-text.ts');
      return { ...xlsxText(bytes, bounds), format };
    }
    case 'pptx': {
      const { pptxText } = await import('./pptx-text.ts');
      return { ...pptxText(bytes, bounds), format };
    }
    case null:
      return { title: null, text: '', cut: false, format };
  }
}
