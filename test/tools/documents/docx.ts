import { strToU8, zipSync } from 'fflate';

/** A Word document with this body, and more parts by their names. */
export function docxOf(body: string, more: Readonly<Record<string, string>> = {}): Uint8Array {
  const parts = {
    '[Content_Types].xml': '<?xml version="1.0"?><Types/>',
    'word/document.xml': `<?xml version="1.0" encoding="UTF-8"?><w:document><w:body>${body}</w:body></w:document>`,
    ...more,
  };
  return zipSync(Object.fromEntries(Object.entries(parts).map(([name, text]) => [name, strToU8(text)])));
}

/** A paragraph; `properties` as they stand in a document. */
export function paragraph(text: string, properties = ''): string {
  return `<w:p><w:pPr>${properties}</w:pPr><w:r><w:t xml:space="preserve">${text}</w:t></w:r></w:p>`;
}
