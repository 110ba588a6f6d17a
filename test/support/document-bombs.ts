import { strToU8, zipSync } from 'fflate';
import { PDF_BOMBS } from './pdf-bombs.ts';

/** A document that is made to overload its readers. */
export interface Bomb {
  readonly name: string;
  readonly bytes: () => Uint8Array;
  /** Fetched from the web, not read from a file. @default a file */
  readonly fetched?: 'html' | 'text' | 'pdf';
}

const MB = 1024 ** 2;
const WORD_START = '<w:document><w:body>';
const WORD_END = '</w:body></w:document>';

function word(body: Uint8Array, more: Readonly<Record<string, Uint8Array>> = {}): Uint8Array {
  return zipSync({ 'word/document.xml': body, ...more }, { level: 6 });
}

/** `piece` again and again within the body of a Word document, up to so many bytes. */
function wordOf(piece: string, bytes: number): Uint8Array {
  const times = Math.floor((bytes - WORD_START.length - WORD_END.length) / piece.length);
  return word(strToU8(`${WORD_START}${piece.repeat(times)}${WORD_END}`));
}

/** Changes the size that the archive says its parts have. */
function saying(archive: Uint8Array, size: number): Uint8Array {
  const bytes = Buffer.from(archive);
  const local = bytes.indexOf('PK\u0003\u0004', 0, 'latin1');
  const central = bytes.indexOf('PK\u0001\u0002', 0, 'latin1');
  bytes.writeUInt32LE(size, local + 22);
  bytes.writeUInt32LE(size, central + 24);
  return bytes;
}

const WORD_BOMBS: readonly Bomb[] = [
  {
    name: 'Word: 3 GB of spaces',
    bytes: () => saying(word(new Uint8Array(400 * MB).fill(32)), 3_000_000_000),
  },
  {
    name: 'Word: 400 MB that say that they are 50 MB',
    bytes: () => saying(word(new Uint8Array(400 * MB).fill(32)), 50 * MB),
  },
  { name: 'Word: 59 MB of empty paragraphs', bytes: () => wordOf('<w:p/>', 59 * MB) },
  { name: 'Word: 59 MB of elements within elements', bytes: () => wordOf('<w:p>', 59 * MB) },
  { name: 'Word: a paragraph of 59 MB', bytes: () => wordOf('<w:p><w:r><w:t>'.padEnd(58 * MB, 'word '), 59 * MB) },
  {
    name: 'Word: two million tables within tables',
    bytes: () => wordOf('<w:tbl><w:tr><w:tc>', 40 * MB),
  },
  {
    name: 'Word: entities made of entities',
    bytes: () => {
      const entities = Array.from({ length: 12 }, (_, n) => `<!ENTITY e${n + 1} "${`&e${n};`.repeat(10)}">`).join('');
      const text = `<!DOCTYPE x [<!ENTITY e0 "lol">${entities}]>${WORD_START}<w:p><w:r><w:t>&e12;</w:t></w:r></w:p>${WORD_END}`;
      return word(strToU8(text));
    },
  },
  {
    name: 'Word: an archive of 60,000 files',
    bytes: () => {
      const files = Object.fromEntries(Array.from({ length: 60_000 }, (_, n) => [`word/${n}.xml`, strToU8('x')]));
      return word(strToU8(`${WORD_START}<w:p><w:r><w:t>hi</w:t></w:r></w:p>${WORD_END}`), files);
    },
  },
  {
    name: 'an archive that is no document: 300 MB packed',
    bytes: () => zipSync({ 'xl/worksheets/sheet1.xml': new Uint8Array(300 * MB).fill(32) }),
  },
];

/** `piece` again and again in a part of a workbook with so many sheets, all of them that part. */
function workbookOf(
  piece: string,
  bytes: number,
  { part, sheets = 1 }: { part: 'sheet' | 'strings'; sheets?: number },
) {
  const repeated = strToU8(piece.repeat(Math.floor(bytes / piece.length)));
  const names = Array.from({ length: sheets }, (_, n) => `<sheet name="S${n}" r:id="r1"/>`).join('');
  return zipSync({
    'xl/workbook.xml': strToU8(`<workbook><sheets>${names}</sheets></workbook>`),
    'xl/_rels/workbook.xml.rels': strToU8('<Relationship Id="r1" Type="x/worksheet" Target="worksheets/sheet1.xml"/>'),
    'xl/worksheets/sheet1.xml': part === 'sheet' ? repeated : strToU8('<row><c t="s"><v>0</v></c></row>'),
    ...(part === 'strings' ? { 'xl/sharedStrings.xml': repeated } : {}),
  });
}

/** `piece` again and again in a slide that a presentation shows so many times. */
function slidesOf(piece: string, bytes: number, slides: number): Uint8Array {
  return zipSync({
    'ppt/presentation.xml': strToU8(`<p:sldIdLst>${'<p:sldId r:id="r1"/>'.repeat(slides)}</p:sldIdLst>`),
    'ppt/_rels/presentation.xml.rels': strToU8('<Relationship Id="r1" Type="x/slide" Target="slides/slide1.xml"/>'),
    'ppt/slides/slide1.xml': strToU8(piece.repeat(Math.floor(bytes / piece.length))),
  });
}

const SHEET_AND_SLIDE_BOMBS: readonly Bomb[] = [
  { name: 'Excel: 59 MB of empty shared texts', bytes: () => workbookOf('<si/>', 59 * MB, { part: 'strings' }) },
  { name: 'Excel: 59 MB of cells', bytes: () => workbookOf('<c><v>1</v></c>', 59 * MB, { part: 'sheet' }) },
  { name: 'Excel: 59 MB of rows', bytes: () => workbookOf('<row><c><v>1</v></c></row>', 59 * MB, { part: 'sheet' }) },
  {
    name: 'Excel: one sheet of 20 MB, 5,000 times',
    bytes: () => workbookOf('<c/>', 20 * MB, { part: 'sheet', sheets: 5_000 }),
  },
  {
    name: 'Excel: a cell of 59 MB',
    bytes: () => workbookOf('<row><c><v>'.padEnd(58 * MB, '1'), 58 * MB, { part: 'sheet' }),
  },
  { name: 'PowerPoint: one slide of 20 MB, 5,000 times', bytes: () => slidesOf('<a:p/>', 20 * MB, 5_000) },
  { name: 'PowerPoint: 59 MB of tables within tables', bytes: () => slidesOf('<a:tbl><a:tr><a:tc>', 59 * MB, 1) },
  {
    name: 'PowerPoint: a paragraph of 59 MB',
    bytes: () => slidesOf('<a:p><a:t>'.padEnd(58 * MB, 'word '), 58 * MB, 1),
  },
];

const TEXT_BOMBS: readonly Bomb[] = [
  { name: 'text: 50 million empty lines', bytes: () => Buffer.alloc(50 * 1_000_000, '\n') },
  { name: 'text: one line of 50 MB', bytes: () => Buffer.alloc(50 * 1_000_000, 'word ') },
  {
    name: 'text: 50 MB of UTF-16 that is none',
    bytes: () => Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.alloc(49_000_000, Buffer.from([0x00, 0xd8]))]),
  },
  {
    name: 'text: 50 MB of UTF-8 that is none at its end',
    bytes: () => Buffer.concat([Buffer.alloc(49_000_000, 'zwölf\n'), Buffer.from([0xff])]),
  },
  { name: 'text: 50 MB of zeros', bytes: () => Buffer.alloc(50 * 1_000_000) },
];

const html =
  (text: string): (() => Uint8Array) =>
  () =>
    Buffer.from(text.repeat(Math.ceil((5 * MB) / text.length)));

const WEB_BOMBS: readonly Bomb[] = [
  { name: 'page: 5 MB of elements within elements', bytes: html('<div>'), fetched: 'html' },
  { name: 'page: 5 MB of brackets', bytes: html('<'), fetched: 'html' },
  { name: 'page: 5 MB of entities', bytes: html('&amp;'), fetched: 'html' },
  { name: 'page: 5 MB of attributes', bytes: () => Buffer.from(`<a ${'a=b '.repeat(MB)}>x`), fetched: 'html' },
  { name: 'page: 5 MB of tables within tables', bytes: html('<table><tr><td>'), fetched: 'html' },
  { name: 'page: 5 MB of links', bytes: html('<a href=/>x'), fetched: 'html' },
  { name: 'page: a text line of 5 MB', bytes: html('word '), fetched: 'text' },
];

/** The worst of the PDFs as they come from the web, where guests may ask for them. */
const FETCHED_PDFS: readonly Bomb[] = PDF_BOMBS.filter((_, n) => n === 0 || n === 4).map((bomb) => ({
  ...bomb,
  name: `fetched ${bomb.name}`,
  fetched: 'pdf',
}));

export const DOCUMENT_BOMBS: readonly Bomb[] = [
  ...PDF_BOMBS,
  ...WORD_BOMBS,
  ...SHEET_AND_SLIDE_BOMBS,
  ...TEXT_BOMBS,
  ...WEB_BOMBS,
  ...FETCHED_PDFS,
];
